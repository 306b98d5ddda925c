package io.mooncake.core.transfer.onesided;

/**
 * Room in the fabric's completion queue: every posted request takes a credit until its completion was polled, because a broken lane turns
 * each into one. So the queue cannot overflow. The poller's.
 *
 * <p>The completions of a destroyed lane may stand in the queue or never come; its credits are free when the queue was seen empty after
 * that.
 */
final class Credits {
    private final int capacity;
    private int taken;
    private int doomed;

    Credits(int capacity) {
        this.capacity = capacity;
    }

    boolean isEmpty() {
        return taken == capacity;
    }

    int taken() {
        return taken;
    }

    void onPosted() {
        if (isEmpty()) {
            throw new IllegalStateException("more than " + capacity + " requests posted, the completion queue's room");
        }
        taken++;
    }

    void onCompleted() {
        taken--;
    }

    /** A lane was destroyed with requests outstanding. */
    void onDestroyed(int requests) {
        doomed += requests;
    }

    /** The queue was seen empty. */
    void onDrained() {
        taken -= doomed;
        doomed = 0;
    }
}
