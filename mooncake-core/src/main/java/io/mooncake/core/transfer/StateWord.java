package io.mooncake.core.transfer;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.Transfer.State;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The one word that says where a transfer stands. Any thread; every change is one CAS.
 *
 * <pre>
 *   CREATED ──▶ QUEUED ──▶ POSTED ──▶ COMPLETED | FAILED | CANCELED | TIMED_OUT      terminal
 *                 ▲  └───────────────▶    │
 *                 │                       ▼
 *                 └─── submitted again ─ released                                     no work on it is outstanding
 *
 *   submission:32 | unused | released:1 | state:3
 * </pre>
 *
 * <p>The submission's number makes what comes late from an earlier submission do nothing. Whoever makes the word terminal, and nobody
 * else, tells those who wait for that.
 */
final class StateWord {
    private static final State[] STATES = State.values();
    private static final int STATE_MASK = 7;
    private static final int RELEASED = 8;
    private static final int SUBMISSION_SHIFT = 32;
    private static final VarHandle WORD;

    static {
        try {
            WORD = MethodHandles.lookup().findVarHandle(StateWord.class, "word", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private volatile long word = RELEASED;

    long get() {
        return word;
    }

    static State state(long word) {
        return STATES[(int) word & STATE_MASK];
    }

    static boolean isReleased(long word) {
        return (word & RELEASED) != 0;
    }

    static long submission(long word) {
        return word >>> SUBMISSION_SHIFT;
    }

    /** The only setter: false when another was faster. Throws for an edge that the diagram does not have. */
    boolean set(long before, State next, boolean released) {
        State state = state(before);
        boolean again = next == State.QUEUED;
        boolean legal = state == next
                // Only the release of what is terminal changes no state.
                ? state.isTerminal() && released && !isReleased(before)
                : state.mayBecome(next) && (again ? isReleased(before) && !released : !released || next.isTerminal());
        if (!legal) {
            throw new MooncakeException(Kind.ILLEGAL_STATE, "a transfer that is " + state
                    + (isReleased(before) ? ", released," : "") + " can't become " + next
                    + (released ? ", released" : ""));
        }
        long submission = submission(before) + (again ? 1 : 0);
        return WORD.compareAndSet(this, before,
                submission << SUBMISSION_SHIFT | (released ? RELEASED : 0) | next.ordinal());
    }

    /** Begins the next submission; false while the one before is not released. */
    boolean submit(long before) {
        return isReleased(before) && set(before, State.QUEUED, false);
    }

    /** An engine has a piece. */
    void post() {
        long before = word;
        if (state(before) == State.QUEUED) {
            // Whoever is faster has moved it further on.
            set(before, State.POSTED, false);
        }
    }

    /** Decides the end while work is outstanding. The submission that it ended, or -1 when that was decided before or none goes on. */
    long giveUp(State end) {
        for (;;) {
            long before = word;
            if (!state(before).mayBecome(end)) {
                return -1;
            }
            if (set(before, end, false)) {
                return submission(before);
            }
        }
    }

    /** Nothing is outstanding any more; decides the end where it was not decided. The word that was there before. */
    long release(State verdict) {
        for (;;) {
            long before = word;
            State state = state(before);
            if (set(before, state.isTerminal() ? state : verdict, true)) {
                return before;
            }
        }
    }
}
