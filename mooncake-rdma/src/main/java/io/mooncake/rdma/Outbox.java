package io.mooncake.rdma;

import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Topic;
import java.util.ArrayDeque;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The messages for one process life of a peer that wait for their lane. Any thread.
 *
 * <pre>
 *   open ──the lane cannot be had, or is lost──▶ away: what waited was handed over, in order; the peer's messages go by another engine
 * </pre>
 *
 * <p>It never comes back: a message by one engine could overtake an earlier one by another. That of a life that is over is forgotten when there is no
 * room for another one.
 */
final class Outbox {
    private static final int MOST_MESSAGES = 1024;
    private static final long MOST_BYTES = 8L << 20;

    /**
     * A message.
     *
     * @param topic for whom there
     * @param bytes its own copy
     */
    @SuppressWarnings("ArrayRecordComponent") // Never compared.
    record Message(Topic topic, byte[] bytes) {}

    final Peer peer;
    /** What carries them; the poller's. */
    @Nullable
    OutgoingLane lane;

    /** Whether that life is said to be over; the poller's. */
    private boolean over;

    private final ArrayDeque<Message> waiting = new ArrayDeque<>();
    private long waitingBytes;
    private boolean told;
    private volatile boolean away;

    Outbox(Peer peer) {
        this.peer = peer;
    }

    boolean isAway() {
        return away;
    }

    /**
     * Takes a message.
     *
     * @return false when there are too many, or they go by another engine
     */
    synchronized boolean offer(Message message) {
        if (away || waiting.size() == MOST_MESSAGES || waitingBytes + message.bytes.length > MOST_BYTES) {
            return false;
        }
        waiting.add(message);
        waitingBytes += message.bytes.length;
        return true;
    }

    /** That life is said to be over; false when it was said before. The poller. */
    boolean end() {
        boolean first = !over;
        over = true;
        return first;
    }

    /** Whether the poller has to be told that there are messages: once, until it looks. */
    synchronized boolean mustTell() {
        boolean first = !told;
        told = true;
        return first;
    }

    /** The poller looks. */
    synchronized void onLook() {
        told = false;
    }

    /** The message whose turn it is. */
    synchronized @Nullable Message first() {
        return waiting.peek();
    }

    /** That one is on its way. */
    synchronized void removeFirst() {
        waitingBytes -= waiting.remove().bytes.length;
    }

    /** From now on it takes none; who sends meanwhile waits until the others are handed over, so that none is overtaken. */
    synchronized void away(Consumer<Message> others) {
        away = true;
        waiting.forEach(others);
        waiting.clear();
        waitingBytes = 0;
    }
}
