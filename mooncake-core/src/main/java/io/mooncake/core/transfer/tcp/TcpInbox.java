package io.mooncake.core.transfer.tcp;

import io.mooncake.core.transfer.Peer;
import java.util.concurrent.atomic.AtomicLong;
import org.jctools.queues.varhandle.MpscVarHandleArrayQueue;
import org.jspecify.annotations.Nullable;

/**
 * What other threads hand to the poller: reads and messages, each on a ticket that is given back when it has ended.
 *
 * <pre>
 *   tickets   | closed:1 | taken:63 |     taken >= what is in the queue + what the poller has; closed: no more are given out
 * </pre>
 *
 * <p>So the queue cannot be full for whoever has a ticket, and when the poller closes, every accepted read is in its hands as soon as
 * no ticket is taken: a submit racing with the close is either refused or seen.
 */
final class TcpInbox {
    private static final long CLOSED = 1L << 62;

    private final int capacity;
    private final MpscVarHandleArrayQueue<Object> queue;
    private final AtomicLong tickets = new AtomicLong();

    TcpInbox(int capacity) {
        this.capacity = capacity;
        queue = new MpscVarHandleArrayQueue<>(Math.max(2, capacity));
    }

    /** A message on its way. */
    static final class Message {
        final Peer to;
        final byte[] bytes;

        Message(Peer to, byte[] bytes) {
            this.to = to;
            this.bytes = bytes;
        }
    }

    /** Any thread: hands over a read or a {@link Message}; false when there are too many, or the engine is closed. */
    boolean offer(Object command) {
        if (tickets.getAndIncrement() >= capacity) {
            tickets.getAndDecrement();
            return false;
        }
        if (!queue.offer(command)) {
            throw new IllegalStateException("a queue with room for every ticket was full");
        }
        return true;
    }

    @Nullable
    Object poll() {
        return queue.poll();
    }

    boolean isEmpty() {
        return queue.isEmpty();
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
