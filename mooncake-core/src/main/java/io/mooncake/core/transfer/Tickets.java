package io.mooncake.core.transfer;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * A bounded number of tickets for what one agent has to do, given back when it is done. Allocates nothing.
 *
 * <pre>
 *   | closed:1 | taken:63 |     taken >= what waits for the agent + what it has; closed: no more are given out
 * </pre>
 *
 * <p>So a queue with as many places cannot be full for whoever has a ticket, and when the agent closes, everything accepted is in its
 * hands as soon as no ticket is taken: what races with the close is either refused or seen. Taking is for any thread.
 */
final class Tickets {
    private static final long CLOSED = 1L << 62;
    /** Whoever has a ticket and did not hand over yet does so in its next instructions; it may have lost its core, but not for so long. */
    private static final int MOST_LOOKS = 5_000;

    private static final int SPINS = 1_000;
    private static final long PAUSE_NS = 1_000_000;

    private final int capacity;
    private final AtomicLong tickets = new AtomicLong();

    /**
     * None is taken.
     *
     * @param capacity how many there are
     */
    public Tickets(int capacity) {
        this.capacity = capacity;
    }

    /**
     * Takes one.
     *
     * @return false when none is left, or after the close
     */
    public boolean take() {
        if (tickets.getAndIncrement() >= capacity) {
            tickets.getAndDecrement();
            return false;
        }
        return true;
    }

    /**
     * Gives one back.
     *
     * @throws IllegalStateException with nothing changed, when none is taken
     */
    public void giveBack() {
        if ((tickets.getAndDecrement() & ~CLOSED) == 0) {
            tickets.getAndIncrement();
            throw new IllegalStateException("a ticket was given back that nobody had: something ended twice");
        }
    }

    /** From now on none is given out. */
    public void close() {
        tickets.getAndUpdate(taken -> taken | CLOSED);
    }

    /**
     * How many are taken.
     *
     * @return 0 and up
     */
    public long taken() {
        return tickets.get() & ~CLOSED;
    }

    /**
     * After the close, for the agent: takes in what was accepted until no ticket is taken.
     *
     * @param next ends one of those that wait, if there is one; says whether there was
     * @throws IllegalStateException when there is none for seconds and tickets are taken all the same: something accepted never ended
     */
    public void drain(Next next) {
        for (int looks = 0; taken() > 0;) {
            if (next.end()) {
                looks = 0;
            } else if (++looks > MOST_LOOKS) {
                throw new IllegalStateException(taken() + " of what was accepted never ended");
            } else if (looks < SPINS) {
                Thread.onSpinWait();
            } else {
                LockSupport.parkNanos(this, PAUSE_NS);
            }
        }
    }

    /** What waits for an agent. */
    @FunctionalInterface
    public interface Next {
        /**
         * Ends the one that has waited for longest.
         *
         * @return false when there is none
         */
        boolean end();
    }
}
