package io.mooncake.core;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.schedule.PlacementPlan;
import io.mooncake.core.schedule.PlacementPlan.Action;
import io.mooncake.core.schedule.PlacementPlan.Step;
import io.mooncake.core.schedule.PlanRequest;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A request that is being served by a plan: what {@link BlockMover#run} returns. Any thread.
 *
 * <pre>
 *   RUNNING ──▶ COMPLETED | FAILED | CANCELED      terminal
 *                             └──▶ released          every node has given back what it had for the plan
 * </pre>
 *
 * <p>A step that can't be done where it was to be (its node is lost, or has no room, or a block has left) ends the attempt: what was reserved for it is
 * given back, and another plan is made of what is known then; blocks that were sealed before are cached where they are, and not computed
 * again. It fails when there is no other way, when whoever computes says so, and at its time.
 */
public final class PlanRun {
    /** Where a run stands. */
    public enum State {
        /** It goes on. */
        RUNNING,
        /** Every step is done. */
        COMPLETED,
        /** It can't be done; see {@link PlanRun#cause()}. */
        FAILED,
        /** Given up, by the caller or by close. */
        CANCELED
    }

    /**
     * A step that has ended.
     *
     * @param run which plan's
     * @param attempt at it, from 0
     * @param step what and where
     * @param failure why it was not done; null when it was
     */
    public record StepEnd(PlanRun run, int attempt, Step step, @Nullable MooncakeException failure) {}

    private static final int MAX_ATTEMPTS = 16;
    /** From asking for a step to asking for it again: messages can be lost. */
    private static final long AGAIN_NS = 500_000_000;
    /** Times the attempts: the next one is made after that, when it may be that what is known here was behind. */
    private static final long PAUSE_NS = 5_000_000;
    /** What keeps a node from doing its part, and is no reason to give the request up. */
    private static final Set<Kind> ELSEWHERE = Set.of(Kind.OUT_OF_MEMORY, Kind.IN_USE, Kind.UNSUPPORTED, Kind.CLOSED,
            Kind.OUT_OF_BOUNDS, Kind.BACK_PRESSURE);

    private enum Phase {
        WAITING, ASKED, DONE
    }

    /** A node that has to give back what it had for an attempt. */
    private record Debt(NodeId node, int attempt) {}

    private final Plans plans;
    private final long number;
    private final PlanRequest request;
    private final PlanOptions options;
    private final long deadlineNs;

    private volatile State state = State.RUNNING;
    private volatile @Nullable PlacementPlan plan;
    private volatile @Nullable MooncakeException cause;
    private volatile @Nullable Step failed;
    private volatile int attempts;
    private volatile boolean canceled;
    private volatile boolean released;

    // What follows is the conductor's.
    private int attempt = -1;
    private Phase[] phases = {};
    private long[] askedNs = {};
    /** Why there has to be another plan; null while there need not. */
    private @Nullable StepEnd undone;
    private long replanNs;
    private final Set<NodeId> avoided;
    private final Map<BlockId, BlockRef> sealed = new HashMap<>();
    private final Map<Debt, Long> owed = new HashMap<>();
    private final ArrayDeque<Runnable> toTell = new ArrayDeque<>();

    PlanRun(Plans plans, long number, PlanRequest request, PlanOptions options) {
        this.plans = plans;
        this.number = number;
        this.request = request;
        this.options = options;
        deadlineNs = plans.nowNs() + NodeStore.positiveNs("timeout", options.timeout());
        avoided = new HashSet<>(request.avoided());
    }

    /**
     * What is served.
     *
     * @return as asked for
     */
    public PlanRequest request() {
        return request;
    }

    /**
     * Who does what, as of now.
     *
     * @return the latest plan; null before the first one, and where there was none
     */
    public @Nullable PlacementPlan plan() {
        return plan;
    }

    /**
     * How many plans were begun.
     *
     * @return 0 and up
     */
    public int attempts() {
        return attempts;
    }

    /**
     * Where it stands.
     *
     * @return the state
     */
    public State state() {
        return state;
    }

    /**
     * Why it failed.
     *
     * @return null when it did not
     */
    public @Nullable MooncakeException cause() {
        return cause;
    }

    /**
     * Which step it failed at.
     *
     * @return null when it did not, or before any step
     */
    public @Nullable Step failedStep() {
        return failed;
    }

    /** Gives it up. What is being computed is told so, and keeps its memory until it has ended. */
    public void cancel() {
        canceled = true;
        plans.wakeup();
    }

    /**
     * Waits until it is terminal. In INVOKER mode the caller's thread runs the node meanwhile.
     *
     * @param timeout at most
     * @return whether it is; false also when the thread was interrupted
     */
    public boolean await(Duration timeout) {
        return plans.await(() -> state != State.RUNNING, timeout);
    }

    /**
     * Waits until every node has given back what it had for it, or is not there any more.
     *
     * @param timeout at most
     * @return whether they have; false also when the thread was interrupted
     */
    public boolean awaitReleased(Duration timeout) {
        return plans.await(() -> released, timeout);
    }

    long number() {
        return number;
    }

    // ---- conductor

    /** True when nothing of it is left to be done. */
    boolean look(long nowNs) {
        if (state == State.RUNNING) {
            advance(nowNs);
        }
        collect(nowNs);
        while (!toTell.isEmpty() && (plans.tell(toTell.element()) || plans.isClosing())) {
            toTell.remove();
        }
        released = state != State.RUNNING && owed.isEmpty();
        return released && toTell.isEmpty();
    }

    private void advance(long nowNs) {
        PlacementPlan now = plan;
        StepEnd last = undone;
        if (plans.isClosing() || canceled) {
            end(State.CANCELED, null, null);
        } else if (nowNs - deadlineNs >= 0) {
            Step open = last == null ? firstOpen() : last.step;
            end(State.FAILED, open, new MooncakeException(Kind.TIMEOUT,
                    "the plan was not done within " + options.timeout() + "; it is at " + describe(open)
                            + ": give it more time, or its nodes less to do"));
        } else if (now == null || (last != null && nowNs - replanNs >= 0)) {
            undone = null;
            replan(last);
        } else if (last == null && !isLost(now)) {
            ask(now, nowNs);
        }
    }

    private @Nullable Step firstOpen() {
        PlacementPlan now = plan;
        int open = now == null ? -1 : Arrays.asList(phases).indexOf(Phase.ASKED);
        return now == null || open < 0 ? null : now.steps().get(open);
    }

    private String describe(@Nullable Step step) {
        return step == null
                ? "no step"
                : step.action() + " of blocks " + step.from() + " to " + (step.until() - 1) + " at node " + step.node();
    }

    /** A node that is not there any more has given everything back; whatever else it was to do can't be done. */
    private boolean isLost(PlacementPlan now) {
        for (int i = 0; i < phases.length; i++) {
            Step step = now.steps().get(i);
            if (phases[i] != Phase.DONE && plans.isGone(step.node())) {
                if (step.action() != Action.RELEASE) {
                    notDone(step, new MooncakeException(Kind.PEER_UNREACHABLE, "node " + step.node() + " is gone"));
                    return true;
                }
                phases[i] = Phase.DONE;
            }
        }
        return false;
    }

    private void ask(PlacementPlan now, long nowNs) {
        boolean all = true;
        for (int i = 0; i < phases.length; i++) {
            boolean due = phases[i] == Phase.WAITING
                    ? now.steps().get(i).after().stream().allMatch(before -> phases[before] == Phase.DONE)
                    : phases[i] == Phase.ASKED && nowNs - askedNs[i] >= AGAIN_NS;
            if (due) {
                phases[i] = Phase.ASKED;
                askedNs[i] = nowNs;
                send(i, now.steps().get(i), nowNs);
            }
            all &= phases[i] == Phase.DONE;
        }
        if (all) {
            end(State.COMPLETED, null, null);
        }
    }

    /** One that is not sent is asked for again. */
    private void send(int index, Step step, long nowNs) {
        List<BlockId> ids = request.blocks().subList(step.from(), step.until());
        List<BlockRef> refs = new ArrayList<>();
        if (step.action() == Action.TRANSFER) {
            for (BlockId id : ids) {
                BlockRef ref = sealed.get(id);
                if (ref != null && refs.size() < RefMessage.MAX_REFS) {
                    refs.add(ref);
                }
            }
        }
        plans.send(step.node(), new PlanMessage.Step(number, attempt, index, step.action(), common(nowNs), ids, refs));
    }

    private PlanMessage.Common common(long nowNs) {
        int milliseconds = Math.clamp((deadlineNs - nowNs) / 1_000_000, 1, Integer.MAX_VALUE);
        return new PlanMessage.Common(milliseconds, request.blockBytes(), request.tag(), request.tier());
    }

    void answered(NodeId from, PlanMessage.Done done) {
        if (done.step() == PlanMessage.ALL) {
            owed.remove(new Debt(from, done.attempt()));
            return;
        }
        PlacementPlan now = plan;
        if (state != State.RUNNING || now == null || done.attempt() != attempt || done.step() >= phases.length
                || phases[done.step()] != Phase.ASKED || !now.steps().get(done.step()).node().equals(from)) {
            return; // Late, or twice.
        }
        Step step = now.steps().get(done.step());
        MooncakeException failure = done.failure();
        if (failure != null) {
            notDone(step, failure);
            return;
        }
        phases[done.step()] = Phase.DONE;
        done.refs().forEach(ref -> sealed.put(ref.id(), ref));
        StepEnd _ = tell(step, null);
    }

    // ---- another way, or the end

    private void notDone(Step step, MooncakeException failure) {
        StepEnd end = tell(step, failure);
        boolean isCallers = step.action().isComputing() && failure.kind() == Kind.ILLEGAL_STATE;
        if (isCallers || attempt + 1 >= MAX_ATTEMPTS) {
            end(State.FAILED, step, failure);
            return;
        }
        boolean elsewhere = ELSEWHERE.contains(failure.kind());
        if (elsewhere) {
            avoided.add(step.node());
        }
        endAttempt();
        undone = end;
        replanNs = plans.nowNs() + (elsewhere ? 0 : attempt * PAUSE_NS);
    }

    private void replan(@Nullable StepEnd last) {
        PlacementPlan next;
        try {
            next = checked(plans.plan(request.withAvoided(avoided)));
        } catch (RuntimeException e) {
            MooncakeException why = e instanceof MooncakeException known
                    ? known
                    : new MooncakeException(Kind.ILLEGAL_STATE, "the scheduler threw " + e, e);
            MooncakeException failure = last == null ? null : last.failure;
            end(State.FAILED, last == null ? null : last.step, failure == null
                    ? why
                    : new MooncakeException(failure.kind(), failure.getMessage() + "; and there is no other way: "
                            + why.getMessage(), failure));
            return;
        }
        if (last != null) {
            plans.count(Counter.PLANS_REPLANNED);
        }
        sealed.clear();
        phases = new Phase[next.steps().size()];
        Arrays.fill(phases, Phase.WAITING);
        askedNs = new long[phases.length];
        attempts = ++attempt + 1;
        plan = next;
        promise(next, 1);
    }

    /** Schedulers are the user's, too: what is no plan of this request would throw at every look, or be done with nothing done. */
    private PlacementPlan checked(PlacementPlan next) {
        int blocks = request.blocks().size();
        boolean decodes = false;
        for (Step step : next.steps()) {
            if (step.until() > blocks) {
                throw new MooncakeException(Kind.ILLEGAL_STATE, "the scheduler planned " + step + " for a request of "
                        + blocks + " blocks: steps are about blocks 0 to " + (blocks - 1));
            }
            decodes |= step.action() == Action.DECODE;
        }
        if (!decodes) {
            throw new MooncakeException(Kind.ILLEGAL_STATE,
                    "the scheduler planned " + next + ", in which nobody decodes: a plan has a step DECODE");
        }
        return next;
    }

    /** Who was asked for anything gives back what is left of it. */
    private void endAttempt() {
        PlacementPlan now = plan;
        if (now == null || phases.length == 0) {
            return;
        }
        promise(now, -1);
        Set<NodeId> asked = new HashSet<>();
        for (int i = 0; i < phases.length; i++) {
            if (phases[i] != Phase.WAITING) {
                asked.add(now.steps().get(i).node());
            }
        }
        for (int i = 0; i < phases.length; i++) {
            if (phases[i] == Phase.DONE && now.steps().get(i).action() == Action.RELEASE) {
                asked.remove(now.steps().get(i).node());
            }
        }
        asked.forEach(node -> owed.put(new Debt(node, attempt), plans.nowNs() - AGAIN_NS));
        phases = new Phase[0];
    }

    private void end(State how, @Nullable Step step, @Nullable MooncakeException why) {
        endAttempt();
        failed = step;
        cause = why;
        plans.count(switch (how) {
            case COMPLETED -> Counter.PLANS_COMPLETED;
            case CANCELED -> Counter.PLANS_CANCELED;
            default -> Counter.PLANS_FAILED;
        });
        // Before who is told, so that he sees it.
        state = how;
        Consumer<? super PlanRun> told = options.onDone();
        if (told != null) {
            toTell.add(() -> told.accept(this));
        }
    }

    private void promise(PlacementPlan of, int sign) {
        long bytes = sign * request.blockBytes() * request.blocks().size();
        int computed = of.steps()
                .stream()
                .filter(step -> step.action() == Action.PREFILL)
                .mapToInt(step -> step.until() - step.from())
                .sum();
        NodeId prefill = of.prefill();
        if (prefill != null && !prefill.equals(of.decode())) {
            plans.promises().add(prefill, request.tier(), bytes);
            plans.promises().compute(prefill, sign * computed);
        }
        boolean alone = of.decode().equals(prefill);
        plans.promises().add(of.decode(), request.tier(), bytes);
        plans.promises()
                .compute(of.decode(),
                        sign * Math.clamp((long) request.outputBlocks() + (alone ? computed : 0), 0,
                                Integer.MAX_VALUE));
    }

    /** Asks for what is owed, also when the time is over: each gives back by itself then, but tells only who asks; a node that is gone owes nothing. */
    private void collect(long nowNs) {
        owed.keySet().removeIf(debt -> plans.isGone(debt.node()) || plans.isClosing());
        owed.replaceAll((debt, asked) -> {
            if (nowNs - asked < AGAIN_NS) {
                return asked;
            }
            plans.send(debt.node(), new PlanMessage.Step(number, debt.attempt(), PlanMessage.ALL, Action.RELEASE,
                    common(nowNs), List.of(), List.of()));
            return nowNs;
        });
    }

    private StepEnd tell(Step step, @Nullable MooncakeException failure) {
        StepEnd end = new StepEnd(this, attempt, step, failure);
        Consumer<? super StepEnd> told = options.onStep();
        if (told != null) {
            toTell.add(() -> told.accept(end));
        }
        return end;
    }

    @Override
    public String toString() {
        return "plan " + number + " of " + request.blocks().size() + " blocks, " + state + " after " + attempts
                + " attempts";
    }
}
