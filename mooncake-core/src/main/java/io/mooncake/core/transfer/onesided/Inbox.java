package io.mooncake.core.transfer.onesided;

import io.mooncake.core.base.Tickets;
import io.mooncake.core.transfer.GuardedRead;
import org.jctools.queues.varhandle.MpscVarHandleArrayQueue;
import org.jspecify.annotations.Nullable;

/**
 * What other threads hand to the poller: reads, each on a ticket that is given back when it has ended, and a doorbell for reads
 * that were given up.
 */
final class Inbox {
    private final MpscVarHandleArrayQueue<GuardedRead> queue;
    private final Tickets tickets;
    private volatile boolean rung;

    Inbox(int capacity) {
        tickets = new Tickets(capacity);
        queue = new MpscVarHandleArrayQueue<>(Math.max(2, capacity));
    }

    /** Any thread: false when there are too many, or the engine is closed. */
    boolean offer(GuardedRead read) {
        if (!tickets.take()) {
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
        tickets.giveBack();
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
