package io.mooncake.core.transfer;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.Transfer.State;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** What became of each piece of the current submission, and what of it is outstanding. Any thread. */
final class Outcomes {
    private static final Outcome[] OUTCOMES = Outcome.values();
    private static final VarHandle OUTCOME = MethodHandles.arrayElementVarHandle(byte[].class);
    private static final VarHandle OUTSTANDING;

    static {
        try {
            OUTSTANDING = MethodHandles.lookup().findVarHandle(Outcomes.class, "outstanding", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final byte[] outcomes;
    private final @Nullable MooncakeException[] causes;

    @SuppressWarnings("unused") // by OUTSTANDING
    private volatile int outstanding;

    Outcomes(int pieces) {
        outcomes = new byte[pieces];
        causes = new @Nullable MooncakeException[pieces];
    }

    int pieces() {
        return outcomes.length;
    }

    /** All pending; one more is outstanding than there are pieces, so that nothing ends while it is being started. */
    void begin() {
        Arrays.fill(outcomes, (byte) Outcome.PENDING.ordinal());
        Arrays.fill(causes, null);
        OUTSTANDING.setRelease(this, outcomes.length + 1);
    }

    /** A piece ended: true when nothing is outstanding any more. */
    boolean end(int piece, Outcome outcome, @Nullable MooncakeException cause) {
        causes[piece] = cause;
        OUTCOME.setRelease(outcomes, piece, (byte) outcome.ordinal());
        return release();
    }

    /** One more is outstanding, until {@link #release}; false when nothing is. */
    boolean retain() {
        for (;;) {
            int before = outstanding;
            if (before == 0) {
                return false;
            }
            if (OUTSTANDING.compareAndSet(this, before, before + 1)) {
                return true;
            }
        }
    }

    /** One less is outstanding: true when nothing is any more. */
    boolean release() {
        int left = (int) OUTSTANDING.getAndAdd(this, -1) - 1;
        if (left < 0) {
            throw new MooncakeException(Kind.ILLEGAL_STATE, "a piece of a transfer ended twice");
        }
        return left == 0;
    }

    Outcome get(int piece) {
        return OUTCOMES[(byte) OUTCOME.getAcquire(outcomes, piece)];
    }

    @Nullable
    MooncakeException cause(int piece) {
        return causes[piece];
    }

    /** What all of them together make of the transfer. */
    State verdict() {
        State verdict = State.COMPLETED;
        for (int i = 0; i < outcomes.length; i++) {
            Outcome outcome = get(i);
            if (outcome == Outcome.TIMED_OUT) {
                return State.TIMED_OUT;
            }
            if (outcome == Outcome.CANCELED) {
                verdict = State.CANCELED;
            } else if (outcome != Outcome.OK && verdict == State.COMPLETED) {
                verdict = State.FAILED;
            }
        }
        return verdict;
    }
}
