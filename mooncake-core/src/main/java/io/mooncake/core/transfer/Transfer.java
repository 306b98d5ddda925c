package io.mooncake.core.transfer;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One movement of many pieces, prepared once and submitted as often as wanted. It belongs to the caller: submitted by one thread at
 * a time, looked at and waited for by any.
 *
 * <pre>
 *   CREATED ──▶ QUEUED ──▶ POSTED ──▶ COMPLETED | FAILED | CANCELED | TIMED_OUT      terminal
 *                                                       └──▶ released                  no work on it is outstanding
 *
 *   the state word    submission:32 | unused | released:1 | state:3
 * </pre>
 *
 * <p>Every change of state is one CAS of the word, whose submission number makes late ends of an earlier submission do nothing. A
 * transfer is <em>done</em> (callback, future, {@link #await}) when it is terminal, and, where any piece goes into the caller's own
 * memory, only when it is also released: only then may the caller touch that memory. It can be submitted again when it is released.
 * Every submission ends by its deadline. Submitting again and waiting allocate nothing.
 */
public final class Transfer {
    /** Where a transfer stands. */
    public enum State {
        /** Prepared, never submitted. */
        CREATED,
        /** Submitted; no engine has it yet. */
        QUEUED,
        /** At least one piece is with an engine. */
        POSTED,
        /** Every piece is OK. */
        COMPLETED,
        /** At least one piece is not OK; see the outcomes. */
        FAILED,
        /** Given up, by the caller or by close. */
        CANCELED,
        /** At least one piece was not there by the deadline. */
        TIMED_OUT;

        /**
         * Whether the submission's end is decided.
         *
         * @return true from COMPLETED on
         */
        public boolean isTerminal() {
            return ordinal() >= COMPLETED.ordinal();
        }
    }

    /** What a transfer moves; the store's side of it. */
    public interface Work {
        /**
         * Starts every piece: each ends by one call of {@link Transfer#end}.
         *
         * @param transfer the transfer
         * @param deadlineNs when everything must have ended
         */
        void start(Transfer transfer, long deadlineNs);

        /**
         * When a piece is needed.
         *
         * @param piece which
         * @return 0 first
         */
        int stage(int piece);

        /**
         * How many bytes have arrived, as {@link Transfer#received()} says.
         *
         * @return of all pieces; 0 where the work does not count
         */
        default long received() {
            return 0;
        }
    }

    /** What a transfer needs of its node. */
    public interface Host {
        /**
         * Refuses a submission to a closed node.
         *
         * @throws MooncakeException CLOSED
         */
        void checkOpen();

        /**
         * The node's clock.
         *
         * @return nanoseconds
         */
        long nowNs();

        /**
         * Runs agents in the waiting thread, where it is the one that runs them.
         *
         * @param done when to stop
         * @param deadlineNs when to stop at the latest
         * @return false where other threads run the agents: then the caller is to wait
         */
        boolean pump(BooleanSupplier done, long deadlineNs);

        /**
         * Has {@link Transfer#runCallback} called by a node thread; cannot be refused.
         *
         * @param transfer whose
         */
        void dispatch(Transfer transfer);

        /**
         * Counts.
         *
         * @param counter what
         */
        void count(Counter counter);
    }

    private static final State[] STATES = State.values();
    private static final Outcome[] OUTCOMES = Outcome.values();
    private static final int STATE_MASK = 7;
    private static final int RELEASED = 8;
    private static final int SUBMISSION_SHIFT = 32;
    private static final Duration LONGEST = Duration.ofDays(365);
    private static final int SPINS = 200;
    private static final int YIELDS = 100;
    private static final VarHandle OUTCOME = MethodHandles.arrayElementVarHandle(byte[].class);
    private static final VarHandle WORD;
    private static final VarHandle REMAINING;
    private static final VarHandle WAITER;
    private static final VarHandle FUTURE;
    private static final VarHandle DUE;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            WORD = lookup.findVarHandle(Transfer.class, "word", long.class);
            REMAINING = lookup.findVarHandle(Transfer.class, "remaining", int.class);
            WAITER = lookup.findVarHandle(Transfer.class, "waiter", Thread.class);
            FUTURE = lookup.findVarHandle(Transfer.class, "future", CompletableFuture.class);
            DUE = lookup.findVarHandle(Transfer.class, "callbacksDue", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final Host host;
    private final Work work;
    private final long timeoutNs;
    private final boolean poolMemoryOnly;
    private final @Nullable Consumer<? super Transfer> callback;
    private final byte[] outcomes;
    private final @Nullable MooncakeException[] causes;
    private final BooleanSupplier done = this::isDone;
    private final BooleanSupplier released = this::isReleased;

    private volatile long word = RELEASED;

    @SuppressWarnings("unused") // by REMAINING
    private volatile int remaining;

    private volatile @Nullable Thread waiter;
    private volatile @Nullable CompletableFuture<Transfer> future;

    @SuppressWarnings("unused") // by DUE
    private volatile int callbacksDue;

    private long deadlineNs;
    /** For the node alone: the next transfer whose callbacks are due. */
    public @Nullable Transfer nextDispatched;

    /**
     * For stores: a transfer that was never submitted.
     *
     * @param host the node
     * @param work what to move
     * @param pieces how many pieces that is
     * @param poolMemoryOnly whether every piece goes into memory that is not the caller's
     * @param timeoutNs nanoseconds that a submission has
     * @param callback called once a submission when it is done, or null
     */
    public Transfer(Host host, Work work, int pieces, boolean poolMemoryOnly, long timeoutNs,
            @Nullable Consumer<? super Transfer> callback) {
        this.host = host;
        this.work = work;
        this.poolMemoryOnly = poolMemoryOnly;
        this.timeoutNs = timeoutNs;
        this.callback = callback;
        outcomes = new byte[pieces];
        causes = new @Nullable MooncakeException[pieces];
    }

    /**
     * Starts it, again if it was started before.
     *
     * @return this
     * @throws MooncakeException ILLEGAL_STATE while an earlier submission is not released; CLOSED
     */
    public Transfer submit() {
        host.checkOpen();
        long before = word;
        if (isDone() && (before & RELEASED) != 0) {
            // Its callback may not have run yet: a future taken from now on is of the new submission.
            complete(takeFuture());
        }
        if ((before & RELEASED) == 0
                || !WORD.compareAndSet(this, before,
                        (((before >>> SUBMISSION_SHIFT) + 1) << SUBMISSION_SHIFT) | State.QUEUED.ordinal())) {
            throw new MooncakeException(Kind.ILLEGAL_STATE,
                    "transfer is " + state() + " and not released: awaitReleased() before you submit it again");
        }
        Arrays.fill(outcomes, (byte) Outcome.PENDING.ordinal());
        Arrays.fill(causes, null);
        deadlineNs = host.nowNs() + timeoutNs;
        // One more than there are pieces, so that it cannot end while it is being started.
        REMAINING.setRelease(this, outcomes.length + 1);
        host.count(Counter.TRANSFERS_SUBMITTED);
        work.start(this, deadlineNs);
        endedOne();
        return this;
    }

    /**
     * Waits until it is done. In INVOKER mode the caller's thread runs the node meanwhile.
     *
     * @param timeout at most
     * @return whether it is done; false also when the thread was interrupted
     */
    public boolean await(Duration timeout) {
        return awaitUntil(done, untilNs(timeout));
    }

    /**
     * Waits until no work of it is outstanding, which after a cancel is later than done where all memory is the pool's.
     *
     * @param timeout at most
     * @return whether it is released; false also when the thread was interrupted
     */
    public boolean awaitReleased(Duration timeout) {
        return awaitUntil(released, untilNs(timeout));
    }

    private long untilNs(Duration timeout) {
        return host.nowNs() + (timeout.compareTo(LONGEST) > 0 ? LONGEST : timeout).toNanos();
    }

    /**
     * Waits until it is done, which it is by its deadline.
     *
     * @return the terminal state
     * @throws MooncakeException TIMEOUT when the thread was interrupted first; the transfer goes on; ILLEGAL_STATE before the
     *     first submission
     */
    public State join() {
        checkSubmitted();
        while (!isDone()) {
            if (!awaitUntil(done, host.nowNs() + timeoutNs) && Thread.currentThread().isInterrupted()) {
                throw new MooncakeException(Kind.TIMEOUT, "interrupted while waiting for a transfer, which goes on");
            }
        }
        return state();
    }

    /**
     * Waits until it is released, and cancels it when the thread is interrupted: for callers whose memory nothing may write after they
     * return. The interrupt flag stays set.
     *
     * @return the terminal state
     * @throws MooncakeException ILLEGAL_STATE before the first submission
     */
    public State joinOrCancel() {
        boolean interrupted = false;
        while (!awaitUntil(released, host.nowNs() + timeoutNs)) {
            if (Thread.interrupted()) {
                interrupted = true;
                cancel();
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return checkSubmitted();
    }

    private State checkSubmitted() {
        State state = state();
        if (state == State.CREATED) {
            throw new MooncakeException(Kind.ILLEGAL_STATE, this + " was never submitted: submit it, then wait");
        }
        return state;
    }

    private boolean awaitUntil(BooleanSupplier reached, long untilNs) {
        if (reached.getAsBoolean() || host.pump(reached, untilNs)) {
            return reached.getAsBoolean();
        }
        Thread self = Thread.currentThread();
        for (int i = 0; !self.isVirtual() && i < SPINS + YIELDS; i++) {
            if (reached.getAsBoolean()) {
                return true;
            }
            if (i < SPINS) {
                Thread.onSpinWait();
            } else {
                Thread.yield();
            }
        }
        // One thread is woken by name; further ones look again every so often.
        boolean named = WAITER.compareAndSet(this, null, self);
        try {
            for (long left; !reached.getAsBoolean() && (left = untilNs - host.nowNs()) > 0 && !self.isInterrupted();) {
                LockSupport.parkNanos(this, named ? left : Math.min(left, 100_000));
            }
        } finally {
            if (named) {
                waiter = null;
            }
        }
        return reached.getAsBoolean();
    }

    /**
     * A future of the current submission; completed by the callback executor, never exceptionally.
     *
     * @return completed with this when done
     */
    public CompletableFuture<Transfer> future() {
        for (;;) {
            CompletableFuture<Transfer> current = future;
            if (current == null) {
                current = new CompletableFuture<>();
                if (!FUTURE.compareAndSet(this, null, current)) {
                    continue;
                }
            }
            if (isDone()) {
                FUTURE.compareAndSet(this, current, null);
                current.complete(this);
            }
            return current;
        }
    }

    /**
     * Where it stands.
     *
     * @return the state
     */
    public State state() {
        return STATES[(int) word & STATE_MASK];
    }

    /**
     * Whether the caller may go on: terminal, and released where the caller's own memory is written.
     *
     * @return false before the first submission
     */
    public boolean isDone() {
        long now = word;
        return STATES[(int) now & STATE_MASK].isTerminal() && (poolMemoryOnly || (now & RELEASED) != 0);
    }

    /**
     * Whether no work of it is outstanding.
     *
     * @return true also before the first submission
     */
    public boolean isReleased() {
        return (word & RELEASED) != 0;
    }

    /**
     * How many pieces it has.
     *
     * @return as prepared
     */
    public int pieces() {
        return outcomes.length;
    }

    /**
     * What became of a piece.
     *
     * @param piece its index as prepared
     * @return PENDING until it ended
     */
    public Outcome outcome(int piece) {
        State state = state();
        Outcome outcome = OUTCOMES[(byte) OUTCOME.getAcquire(outcomes, piece)];
        if (outcome == Outcome.PENDING && state == State.TIMED_OUT) {
            return Outcome.TIMED_OUT;
        }
        return outcome == Outcome.PENDING && state == State.CANCELED ? Outcome.CANCELED : outcome;
    }

    /**
     * How far it may be used while it goes on: every piece of the stages up to this one is OK, proven by its guard.
     *
     * @return the highest such stage, -1 when not even the first is
     */
    public int stage() {
        int reached = Integer.MAX_VALUE;
        int highest = -1;
        for (int i = 0; i < outcomes.length; i++) {
            int stage = work.stage(i);
            highest = Math.max(highest, stage);
            if ((byte) OUTCOME.getAcquire(outcomes, i) != Outcome.OK.ordinal()) {
                reached = Math.min(reached, stage - 1);
            }
        }
        return Math.min(reached, highest);
    }

    /**
     * How many bytes of this submission have arrived, proven or not: a counter for people, no permission to use any of them. It
     * falls where a piece is read again from elsewhere.
     *
     * @return 0 and up
     */
    public long received() {
        return work.received();
    }

    /**
     * Why a piece is not OK.
     *
     * @param piece its index as prepared
     * @return null where the outcome says it all
     */
    public @Nullable MooncakeException cause(int piece) {
        return causes[piece];
    }

    /**
     * Gives it up: terminal at once, released when the engines have let go of it. Any thread; cannot be refused.
     *
     * @return false when its end was decided already
     */
    public boolean cancel() {
        for (;;) {
            long before = word;
            if (STATES[(int) before & STATE_MASK].isTerminal() || (before & STATE_MASK) == State.CREATED.ordinal()) {
                return false;
            }
            if (WORD.compareAndSet(this, before, (before & ~STATE_MASK) | State.CANCELED.ordinal())) {
                wake();
                if (poolMemoryOnly) {
                    schedule();
                }
                return true;
            }
        }
    }

    /**
     * For the work: whether nobody wants its bytes any more.
     *
     * @return true once it is terminal
     */
    public boolean isGivenUp() {
        return state().isTerminal();
    }

    /** For the work: an engine has a piece. */
    public void posted() {
        long before = word;
        if ((before & STATE_MASK) == State.QUEUED.ordinal()) {
            // Whoever wins instead has moved it further on.
            WORD.compareAndSet(this, before, (before & ~STATE_MASK) | State.POSTED.ordinal());
        }
    }

    /**
     * For the work: a piece ended and nothing of it is outstanding. Exactly once a piece and submission.
     *
     * @param piece which
     * @param outcome how
     * @param cause why, or null
     */
    public void end(int piece, Outcome outcome, @Nullable MooncakeException cause) {
        causes[piece] = cause;
        OUTCOME.setRelease(outcomes, piece, (byte) outcome.ordinal());
        endedOne();
    }

    private void endedOne() {
        int left = (int) REMAINING.getAndAdd(this, -1) - 1;
        if (left == 0) {
            release();
        } else if (left < 0) {
            throw new MooncakeException(Kind.ILLEGAL_STATE, "a piece of a transfer ended twice");
        }
    }

    private void release() {
        State end = verdict();
        for (;;) {
            long before = word;
            boolean decided = STATES[(int) before & STATE_MASK].isTerminal();
            long after = (decided ? before : (before & ~STATE_MASK) | end.ordinal()) | RELEASED;
            if (WORD.compareAndSet(this, before, after)) {
                host.count(counter(STATES[(int) after & STATE_MASK]));
                wake();
                if (!decided || !poolMemoryOnly) {
                    schedule();
                }
                return;
            }
        }
    }

    private State verdict() {
        State verdict = State.COMPLETED;
        for (byte ordinal : outcomes) {
            Outcome outcome = OUTCOMES[ordinal];
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

    private static Counter counter(State state) {
        return switch (state) {
            case COMPLETED -> Counter.TRANSFERS_COMPLETED;
            case TIMED_OUT -> Counter.TRANSFERS_TIMED_OUT;
            case CANCELED -> Counter.TRANSFERS_CANCELED;
            default -> Counter.TRANSFERS_FAILED;
        };
    }

    private void wake() {
        Thread waiting = waiter;
        if (waiting != null) {
            LockSupport.unpark(waiting);
        }
    }

    private void schedule() {
        // Submitted and done again before its callback ran, it is in the node's hands already and must not be linked twice.
        if ((callback != null || future != null) && (int) DUE.getAndAdd(this, 1) == 0) {
            host.dispatch(this);
        }
    }

    /**
     * For the node, which has unlinked it: how many submissions are done whose callback did not run.
     *
     * @return how often {@link #runCallback} is to be called now
     */
    public int takeCallbacksDue() {
        return (int) DUE.getAndSet(this, 0);
    }

    /** For the node: runs the callback of one submission that is done, and completes the future there is. */
    public void runCallback() {
        CompletableFuture<Transfer> completing = future;
        // Submitted again before this ran: then the future is of a submission that goes on.
        if (completing != null && !(isDone() && FUTURE.compareAndSet(this, completing, null))) {
            completing = null;
        }
        try {
            if (callback != null) {
                callback.accept(this);
            }
        } finally {
            complete(completing);
        }
    }

    private void complete(@Nullable CompletableFuture<Transfer> completing) {
        if (completing != null) {
            completing.complete(this);
        }
    }

    @SuppressWarnings("unchecked") // FUTURE holds nothing else
    private @Nullable CompletableFuture<Transfer> takeFuture() {
        return (CompletableFuture<Transfer>) FUTURE.getAndSet(this, null);
    }

    @Override
    public String toString() {
        return "transfer of " + outcomes.length + (outcomes.length == 1 ? " piece, " : " pieces, ") + state()
                + (state().isTerminal() && isReleased() ? ", released" : "");
    }
}
