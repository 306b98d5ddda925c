package io.mooncake.core.transfer;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.LinkedStack.Link;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
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
 * </pre>
 *
 * <p>A transfer is <em>done</em> (callback, future, {@link #await}) when it is terminal, and, where any piece goes into the caller's own
 * memory, only when it is also released: only then may the caller touch that memory. It can be submitted again when it is released.
 * Every submission is terminal by its deadline. Submitting again and waiting allocate nothing.
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

        /** The edges of the diagram; what is released and what is not, {@link StateWord} knows. */
        boolean mayBecome(State next) {
            return switch (this) {
                case CREATED -> next == QUEUED;
                case QUEUED -> next == POSTED || next.isTerminal();
                case POSTED -> next.isTerminal();
                default -> next == QUEUED;
            };
        }
    }

    /**
     * Who is told when a submission is done, besides those who wait and those who ask for a future.
     *
     * @param callback called once a submission, or null
     * @param queue where it can be polled, once a submission, or null
     */
    public record Told(@Nullable Consumer<? super Transfer> callback, @Nullable CompletionQueue queue) {
        /** Nobody. */
        public static final Told NOBODY = new Told(null, null);
    }

    private final TransferHost host;
    private final TransferWork work;
    private final long timeoutNs;
    private final boolean poolMemoryOnly;
    private final StateWord word = new StateWord();
    private final Outcomes outcomes;
    private final Completion completion;
    private final Waiting waiting;
    private final BooleanSupplier done = this::isDone;
    private final BooleanSupplier released = this::isReleased;

    /**
     * For stores: a transfer that was never submitted.
     *
     * @param host the node
     * @param work what to move
     * @param pieces how many pieces that is
     * @param poolMemoryOnly whether every piece goes into memory that is not the caller's
     * @param timeoutNs nanoseconds that a submission has
     * @param told who is told that it is done
     */
    public Transfer(TransferHost host, TransferWork work, int pieces, boolean poolMemoryOnly, long timeoutNs,
            Told told) {
        this.host = host;
        this.work = work;
        this.poolMemoryOnly = poolMemoryOnly;
        this.timeoutNs = timeoutNs;
        outcomes = new Outcomes(pieces);
        completion = new Completion(this, told);
        waiting = new Waiting(host);
    }

    /**
     * Starts it, again if it was started before.
     *
     * @return this
     * @throws MooncakeException ILLEGAL_STATE while an earlier submission is not released; CLOSED
     */
    public Transfer submit() {
        host.checkOpen();
        long before = word.get();
        if (StateWord.isReleased(before) && StateWord.state(before).isTerminal()) {
            // Its callback may not have run yet.
            completion.supersede();
        }
        if (!word.submit(before)) {
            throw new MooncakeException(Kind.ILLEGAL_STATE,
                    "transfer is " + state() + " and not released: awaitReleased() before you submit it again");
        }
        outcomes.begin();
        host.count(Counter.TRANSFERS_SUBMITTED);
        work.start(this, host.nowNs() + timeoutNs);
        releaseOne();
        return this;
    }

    /**
     * Waits until it is done. In INVOKER mode the caller's thread runs the node meanwhile.
     *
     * @param timeout at most
     * @return whether it is done; false also when the thread was interrupted
     */
    public boolean await(Duration timeout) {
        return waiting.await(done, Waiting.untilNs(host, timeout));
    }

    /**
     * Waits until no work of it is outstanding, which after a cancel is later than done where all memory is the pool's.
     *
     * @param timeout at most
     * @return whether it is released; false also when the thread was interrupted
     */
    public boolean awaitReleased(Duration timeout) {
        return waiting.await(released, Waiting.untilNs(host, timeout));
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
            if (!waiting.await(done, host.nowNs() + timeoutNs) && Thread.currentThread().isInterrupted()) {
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
        while (!waiting.await(released, host.nowNs() + timeoutNs)) {
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

    /**
     * A future of the current submission; completed by the callback executor, never exceptionally.
     *
     * @return completed with this when done
     */
    public CompletableFuture<Transfer> future() {
        return completion.future();
    }

    /**
     * Where it stands.
     *
     * @return the state
     */
    public State state() {
        return StateWord.state(word.get());
    }

    /**
     * Whether the caller may go on: terminal, and released where the caller's own memory is written.
     *
     * @return false before the first submission
     */
    public boolean isDone() {
        long now = word.get();
        return StateWord.state(now).isTerminal() && (poolMemoryOnly || StateWord.isReleased(now));
    }

    /**
     * Whether no work of it is outstanding.
     *
     * @return true also before the first submission
     */
    public boolean isReleased() {
        return StateWord.isReleased(word.get());
    }

    /**
     * How many pieces it has.
     *
     * @return as prepared
     */
    public int pieces() {
        return outcomes.pieces();
    }

    /**
     * What became of a piece. Where the transfer was given up before the piece ended, that is final at once, except that a piece into the
     * pool whose bytes were proven in that moment may turn OK.
     *
     * @param piece its index as prepared
     * @return PENDING until it ended
     */
    public Outcome outcome(int piece) {
        State state = state();
        Outcome outcome = outcomes.get(piece);
        return outcome == Outcome.PENDING ? unlessGivenUp(state, outcome) : outcome;
    }

    private static Outcome unlessGivenUp(State state, Outcome outcome) {
        return state == State.CANCELED ? Outcome.CANCELED : state == State.TIMED_OUT ? Outcome.TIMED_OUT : outcome;
    }

    /**
     * How far it may be used while it goes on: every piece of the stages up to this one is OK, proven by its guard.
     *
     * @return the highest such stage, -1 when not even the first is
     */
    public int stage() {
        int reached = Integer.MAX_VALUE;
        int highest = -1;
        for (int i = 0; i < outcomes.pieces(); i++) {
            int stage = work.stage(i);
            highest = Math.max(highest, stage);
            if (outcomes.get(i) != Outcome.OK) {
                reached = Math.min(reached, stage - 1);
            }
        }
        return Math.min(reached, highest);
    }

    /**
     * Waits until it may be used as far as a stage, or is done, whichever comes first. In INVOKER mode the caller's thread runs the node
     * meanwhile.
     *
     * @param stage one that its pieces have
     * @param timeout at most
     * @return whether every piece of the stages up to this one is OK; false also when the thread was interrupted first
     */
    public boolean awaitStage(int stage, Duration timeout) {
        waiting.look(() -> isDone() || stage() >= stage, Waiting.untilNs(host, timeout));
        return stage() >= stage;
    }

    /**
     * Waits until it is known what became of a piece: where that is OK, the piece may be used while others still come. In INVOKER mode the
     * caller's thread runs the node meanwhile.
     *
     * @param piece its index as prepared
     * @param timeout at most
     * @return as {@link #outcome}; PENDING also when the thread was interrupted first
     */
    public Outcome awaitOutcome(int piece, Duration timeout) {
        waiting.look(() -> outcome(piece) != Outcome.PENDING, Waiting.untilNs(host, timeout));
        return outcome(piece);
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
     * How many bytes of a piece that is OK were compared with the checksums of their block: those of whole units, where the block has
     * any and the engine looks at them.
     *
     * @param piece its index as prepared
     * @return 0 to the piece's length
     */
    public long verified(int piece) {
        return work.verified(piece);
    }

    /**
     * Why a piece is not OK.
     *
     * @param piece its index as prepared
     * @return null where the outcome says it all
     */
    public @Nullable MooncakeException cause(int piece) {
        return outcomes.cause(piece);
    }

    /**
     * What the caller must get otherwise: every piece that is not OK. Of a transfer that is not done, what is pending counts too.
     *
     * @return indexes as prepared, ascending; empty when every piece is OK
     */
    public int[] recompute() {
        int[] missing = new int[pieces()];
        int count = 0;
        for (int i = 0; i < missing.length; i++) {
            if (outcome(i) != Outcome.OK) {
                missing[count++] = i;
            }
        }
        return Arrays.copyOf(missing, count);
    }

    /**
     * For stores: what it moves.
     *
     * @return as constructed
     */
    public TransferWork work() {
        return work;
    }

    /**
     * Gives it up: terminal at once, released when the engines have let go of it. What was not sent yet is never sent. Any thread; cannot
     * be refused.
     *
     * @return false when its end was decided already
     */
    public boolean cancel() {
        return giveUp(State.CANCELED);
    }

    /** For the work: its deadline passed and a piece can't end yet. Does nothing when its end was decided already. */
    public void timeOut() {
        giveUp(State.TIMED_OUT);
    }

    private boolean giveUp(State end) {
        long submission = word.giveUp(end);
        if (submission < 0) {
            return false;
        }
        host.count(counter(end));
        if (poolMemoryOnly) {
            announce(submission);
        }
        // Kept from being released, so that it is this submission and no later one whose pieces are aborted.
        if (outcomes.retain()) {
            if (StateWord.submission(word.get()) == submission) {
                work.abort();
            }
            releaseOne();
        }
        return true;
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
        word.post();
    }

    /**
     * For the work: how a piece ended that ends so now. Once the transfer was given up, only OK is something else than that.
     *
     * @param outcome as it looks to the work
     * @return what to {@link #end} it with
     */
    public Outcome unlessGivenUp(Outcome outcome) {
        return outcome == Outcome.OK ? outcome : unlessGivenUp(state(), outcome);
    }

    /**
     * For the work: a piece ended and nothing of it is outstanding. Exactly once a piece and submission.
     *
     * @param piece which
     * @param outcome how
     * @param cause why, or null
     */
    public void end(int piece, Outcome outcome, @Nullable MooncakeException cause) {
        if (outcomes.end(piece, outcome, cause)) {
            release();
        }
    }

    private void releaseOne() {
        if (outcomes.release()) {
            release();
        }
    }

    private void release() {
        State verdict = outcomes.verdict();
        long before = word.release(verdict);
        boolean decides = !StateWord.state(before).isTerminal();
        if (decides) {
            host.count(counter(verdict));
        }
        if (decides || !poolMemoryOnly) {
            announce(StateWord.submission(before));
        } else {
            waiting.wake();
        }
    }

    /** A submission is done. */
    private void announce(long submission) {
        waiting.wake();
        completion.queue(submission);
        if (completion.isDue()) {
            host.dispatch(this);
        }
    }

    /** A poller took it out of its completion queue; false when it was submitted again since it came there. */
    boolean takeNotice() {
        return completion.takeNotice() == StateWord.submission(word.get()) && isDone();
    }

    private static Counter counter(State state) {
        return switch (state) {
            case COMPLETED -> Counter.TRANSFERS_COMPLETED;
            case TIMED_OUT -> Counter.TRANSFERS_TIMED_OUT;
            case CANCELED -> Counter.TRANSFERS_CANCELED;
            default -> Counter.TRANSFERS_FAILED;
        };
    }

    /**
     * For the node: its place in the stack of what is to be dispatched.
     *
     * @return the same one always
     */
    public Link<Transfer> dispatchLink() {
        return completion.link;
    }

    /**
     * For the node, which has unlinked it: how many submissions are done whose callback did not run.
     *
     * @return how often {@link #runCallback} is to be called now
     */
    public int takeCallbacksDue() {
        return completion.takeDue();
    }

    /** For the node: runs the callback of one submission that is done, and completes the future there is. */
    public void runCallback() {
        completion.run();
    }

    @Override
    public String toString() {
        return "transfer of " + pieces() + (pieces() == 1 ? " piece, " : " pieces, ") + state()
                + (state().isTerminal() && isReleased() ? ", released" : "");
    }
}
