package io.mooncake.core.transfer.tcp;

import io.mooncake.core.base.Tickets;
import io.mooncake.core.transfer.Peer;
import org.jctools.queues.varhandle.MpscVarHandleArrayQueue;
import org.jspecify.annotations.Nullable;

/** What other threads hand to the poller: reads and messages, each on a ticket that is given back when it has ended. */
final class TcpInbox {
    private final MpscVarHandleArrayQueue<Object> queue;
    private final Tickets tickets;

    TcpInbox(int capacity) {
        tickets = new Tickets(capacity);
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
        if (!tickets.take()) {
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
        tickets.giveBack();
    }

    /** Whether no ticket is taken. */
    boolean isIdle() {
        return tickets.taken() == 0;
    }

    /** From now on nothing is accepted. */
    void close() {
        tickets.close();
    }

    /** After that: ends what was accepted and did not reach the poller, until nothing is left. */
    void drain(Tickets.Next next) {
        tickets.drain(next);
    }
}
