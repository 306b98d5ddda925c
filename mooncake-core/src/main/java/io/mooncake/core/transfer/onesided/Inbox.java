package io.mooncake.core.transfer.onesided;

import io.mooncake.core.transfer.GuardedRead;
import java.util.concurrent.atomic.AtomicLong;
import org.jctools.queues.varhandle.MpscVarHandleArrayQueue;
import org.jspecify.annotations.Nullable;

/**
 * What other threads hand to the poller: reads, each on a ticket that is given back when it has ended, and a doorbell for reads
 * that were given up. So the queue is never full for whoever has a ticket, and when the poller closes, every accepted read is in its
 * hands as soon as no ticket is taken.
 */
final class Inbox {
    private static final long CLOSED = 1L << 62;

    private final int capacity;
    private final MpscVarHandleArrayQueue<GuardedRead> queue;
    private final AtomicLong tickets = new AtomicLong();
    private volatile boolean rung;

    Inbox(int capacity) {
        this.capacity = capacity;
        queue = new MpscVarHandleArrayQueue<>(Math.max(2, capacity));
    }

    /** Any thread: false when there are too many, or the engine is closed. */
    boolean offer(GuardedRead read) {
        if (tickets.getAndIncrement() >= capacity) {
            tickets.getAndDecrement();
            return false;
        }
        if (!queue.offer(read)) {
            throw new IllegalStateException("a queue with room for every ticket was full");
        }
        return true;
    }

    /** Any thread: some read was given up. */
    void ring() {
        rung = true;
    }

    /** Whether the bell rang since. */
    boolean takeRing() {
        if (!rung) {
            return false;
        }
        rung = false;
        return true;
    }

    @Nullable
    GuardedRead poll() {
        return queue.poll();
    }

    boolean isEmpty() {
        return queue.isEmpty() && !rung;
    }

    /** Gives a ticket back. */
    void ended() {
        tickets.getAndDecrement();
    }

    /** Whether no ticket is taken. */
    boolean isIdle() {
        return (tickets.get() & ~CLOSED) == 0;
    }

    /** From now on nothing is accepted. */
    void close() {
        tickets.getAndUpdate(taken -> taken | CLOSED);
    }
}
