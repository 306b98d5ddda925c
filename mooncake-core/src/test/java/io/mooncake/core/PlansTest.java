package io.mooncake.core;

import static io.mooncake.core.TestNodes.BLOCK;
import static io.mooncake.core.TestNodes.LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.PlanRun.State;
import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.Hold;
import io.mooncake.core.block.Tier;
import io.mooncake.core.block.Version;
import io.mooncake.core.manager.ReplicaWriter;
import io.mooncake.core.manager.Reservation;
import io.mooncake.core.schedule.ClusterView;
import io.mooncake.core.schedule.PlacementPlan;
import io.mooncake.core.schedule.PlacementPlan.Action;
import io.mooncake.core.schedule.PlanRequest;
import io.mooncake.core.schedule.Scheduler;
import io.mooncake.core.sim.HostTier;
import io.mooncake.core.transfer.Topic;
import io.mooncake.testing.DocsExample;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiFunction;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Plans on real nodes: what is where in the end, what fails and why, and that everything comes back. */
@Timeout(120)
final class PlansTest {
    private static final int SLOTS = 40;

    private final TestNodes nodes = new TestNodes();
    private final List<String> computed = Collections.synchronizedList(new ArrayList<>());

    @AfterEach
    void close() {
        nodes.close();
    }

    private Node start(String name, int slots) {
        return nodes.start(name, builder -> builder.poolSize(slots * BLOCK));
    }

    /** Fills each block with its number, and looks at them all when it decodes. */
    private Node computing(String name) {
        Node node = start(name, SLOTS);
        node.mover().computeBy(task -> compute(node, task));
        return node;
    }

    private void compute(Node node, PlanWorker.Task task) {
        computed.add(task.action() + " " + node.id().name() + " " + task.blocks().size());
        for (BlockWriter writer : task.writers()) {
            writer.segment().fill(fill(writer.id()));
        }
        if (task.action() == Action.DECODE && !task.blocks().stream().allMatch(id -> isRight(node, id))) {
            task.failed("a block is not there, or wrong");
        }
        task.done();
    }

    private static boolean isRight(Node node, BlockId id) {
        try (BlockView view = node.store().newView()) {
            return node.store().acquire(id, view) && TestNodes.isAll(view.segment(), 0, BLOCK, fill(id));
        }
    }

    private static byte fill(BlockId id) {
        return (byte) id.hashCode();
    }

    private static BlockId id(int number) {
        return BlockId.of("k" + number);
    }

    private static List<BlockId> ids(int count) {
        return IntStream.range(0, count).mapToObj(PlansTest::id).toList();
    }

    private static PlanRequest request(int blocks) {
        return PlanRequest.of(ids(blocks), BLOCK);
    }

    private static void write(Node node, int count) {
        ids(count).forEach(id -> TestNodes.write(node, id, BLOCK, fill(id)));
    }

    private static void assertEnds(State state, PlanRun run) {
        assertTrue(run.await(LONG), run::toString);
        assertEquals(state, run.state(), () -> String.valueOf(run.cause()));
    }

    /** Everybody said what room there is, and the others heard of it. */
    private static void awaitMembers(Node node, int members) {
        assertTrue(TestWaits.until(() -> node.parts().sources().costs().members().size() == members));
    }

    /** Nothing is held, reserved or being written: everything can go. */
    private static void assertNothingKept(Node... all) {
        for (Node node : all) {
            assertTrue(TestWaits.until(() -> {
                node.store().evict(ids(SLOTS));
                return node.usage().used() == 0 && node.usage().quarantined() == 0
                        && node.usage(Tier.VRAM).used() == 0;
            }), () -> node.id() + ": " + node.parts().blocks().describeHolders());
        }
    }

    // ---- what is done

    @Test
    void shouldComputeAtOneNodeAndDecodeAtAnother() {
        Node a = computing("a");
        Node b = computing("b");
        awaitMembers(a, 2);
        List<PlanRun.StepEnd> ended = Collections.synchronizedList(new ArrayList<>());
        List<PlanRun> done = Collections.synchronizedList(new ArrayList<>());
        PlanRun run = a.mover()
                .run(request(35), PlanOptions.DEFAULT.withTimeout(LONG).withSteps(ended::add).withCallback(done::add));
        assertEnds(State.COMPLETED, run);
        assertTrue(run.awaitReleased(LONG));
        assertTrue(TestWaits.until(() -> done.size() == 1));
        assertEquals(List.of(run), done);
        PlacementPlan plan = Objects.requireNonNull(run.plan());
        assertEquals(1, run.attempts());
        assertNotEquals(plan.decode(), plan.prefill());
        Node decode = plan.decode().equals(a.id()) ? a : b;
        Node prefill = decode == a ? b : a;
        assertEquals(List.of("PREFILL " + prefill.id().name() + " 16", "PREFILL " + prefill.id().name() + " 16",
                "PREFILL " + prefill.id().name() + " 3", "DECODE " + decode.id().name() + " 35"), computed);
        assertEquals(plan.steps().size(), ended.size());
        assertTrue(ended.stream().allMatch(end -> end.failure() == null && end.attempt() == 0 && end.run() == run));
        for (BlockId id : ids(35)) {
            assertEquals(2, a.store().locations(id).size());
        }
        assertEquals(35, decode.counters().get(Counter.BLOCKS_REPLICATED));
        assertEquals(1, a.counters().get(Counter.PLANS_COMPLETED));
        assertNothingKept(a, b);
    }

    /** With few slots of host memory, through which blocks go, and many above it. */
    private Node withDevice(String name) {
        Node node = nodes.start(name,
                builder -> builder.poolSize(12 * BLOCK).vram(() -> HostTier.of(Tier.VRAM, SLOTS, BLOCK)));
        node.mover().computeBy(task -> compute(node, task));
        return node;
    }

    private static void assertOnDevice(Node node, int count) {
        for (BlockId id : ids(count)) {
            try (BlockView view = node.store().newView()) {
                assertTrue(node.store().acquire(id, view));
                assertEquals(Tier.VRAM, view.tier());
                assertTrue(TestNodes.isAll(view.segment(), 0, BLOCK, fill(id)));
            }
        }
    }

    @Test
    void shouldServeOnDevicesWhatHasRoomOnlyThere() {
        Node a = withDevice("a");
        Node b = withDevice("b");
        Node plain = computing("plain");
        awaitMembers(a, 3);
        assertEquals(2, a.parts().sources().costs().members(Tier.VRAM).size());
        PlanRequest onDevices = request(30).withTier(Tier.VRAM);
        PlanRun run = plain.mover().run(onDevices, PlanOptions.DEFAULT.withTimeout(LONG));
        assertEnds(State.COMPLETED, run);
        PlacementPlan plan = Objects.requireNonNull(run.plan());
        assertEquals(Set.of(a.id(), b.id()), Set.of(Objects.requireNonNull(plan.prefill()), plan.decode()));
        assertTrue(run.awaitReleased(LONG));
        assertOnDevice(a, 30);
        assertOnDevice(b, 30);
        assertEquals(0, plain.counters().get(Counter.BLOCKS_REPLICATED));
        // In host memory of one that has no more room than for a few of them, it can't be served.
        PlanRun inMemory = a.mover()
                .run(request(30).withAvoided(Set.of(plain.id())), PlanOptions.DEFAULT.withTimeout(LONG));
        assertEnds(State.FAILED, inMemory);
        assertEquals(Kind.OUT_OF_MEMORY, Objects.requireNonNull(inMemory.cause()).kind());
        assertNothingKept(a, b, plain);
    }

    @Test
    void shouldTakeToTheDeviceWhatOthersHaveInTheirMemory() {
        Node a = withDevice("a");
        Node plain = computing("plain");
        write(plain, 20);
        awaitMembers(a, 2);
        PlanRun run = a.mover().run(request(24).withTier(Tier.VRAM), PlanOptions.DEFAULT.withTimeout(LONG));
        assertEnds(State.COMPLETED, run);
        assertEquals(List.of("PREFILL a 4", "DECODE a 24"), computed);
        assertTrue(run.awaitReleased(LONG));
        assertOnDevice(a, 24);
        assertNothingKept(a, plain);
    }

    @Test
    void shouldComputeOnlyWhatNobodyHas() {
        Node a = computing("a");
        Node b = computing("b");
        write(b, 20);
        awaitMembers(a, 2);
        PlanRun partly = a.mover().run(request(24), PlanOptions.DEFAULT.withTimeout(LONG));
        assertEnds(State.COMPLETED, partly);
        assertEquals(b.id(), Objects.requireNonNull(partly.plan()).prefill());
        assertEquals(List.of("PREFILL b 4", "DECODE a 24"), computed);
        TestNodes.announced(a);
        computed.clear();
        PlanRun wholly = b.mover().run(request(24), PlanOptions.DEFAULT.withTimeout(LONG));
        assertEnds(State.COMPLETED, wholly);
        assertNull(Objects.requireNonNull(wholly.plan()).prefill());
        assertEquals(1, computed.size(), computed::toString);
        assertTrue(partly.awaitReleased(LONG) && wholly.awaitReleased(LONG));
        assertNothingKept(a, b);
    }

    @Test
    void shouldServeAloneAndTellTheTag() {
        Node a = start("a", SLOTS);
        BlockingQueue<PlanWorker.Task> tasks = new LinkedBlockingQueue<>();
        a.mover().computeBy(tasks::add);
        awaitMembers(a, 1);
        PlanRun run = a.mover().run(request(2).withTag(77), PlanOptions.DEFAULT.withTimeout(LONG));
        PlanWorker.Task prefill = next(tasks);
        assertEquals(77, prefill.tag());
        assertEquals(ids(2), prefill.blocks());
        assertEquals(ids(2), prefill.writers().stream().map(BlockWriter::id).toList());
        assertTrue(prefill.writers().stream().allMatch(writer -> writer.length() == BLOCK));
        assertEquals(State.RUNNING, run.state());
        prefill.done();
        prefill.failed("the second end does nothing");
        PlanWorker.Task decode = next(tasks);
        assertEquals(Action.DECODE, decode.action());
        assertEquals(List.of(), decode.writers());
        decode.done();
        assertEnds(State.COMPLETED, run);
        assertNothingKept(a);
    }

    private static <T> T next(BlockingQueue<T> tasks) {
        try {
            return Objects.requireNonNull(tasks.poll(LONG.toSeconds(), TimeUnit.SECONDS), "no task");
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** Both need nearly all of both nodes, and each would begin at the other one's. */
    @Test
    void shouldLetPlansThatNeedTheSameMemoryWaitForEachOther() {
        Node a = computing("a");
        Node b = computing("b");
        awaitMembers(a, 2);
        awaitMembers(b, 2);
        List<PlanRun> runs = new ArrayList<>();
        List<String> failures = Collections.synchronizedList(new ArrayList<>());
        for (int i = 0; i < 10; i++) {
            int first = i;
            List<BlockId> own = IntStream.range(0, 30).mapToObj(k -> BlockId.of("of " + first + " " + k)).toList();
            runs.add((i % 2 == 0 ? a : b).mover().run(PlanRequest.of(own, BLOCK), PlanOptions.DEFAULT.withSteps(end -> {
                if (end.failure() != null) {
                    failures.add(end + " " + end.failure());
                }
            })));
        }
        runs.forEach(run -> assertEnds(State.COMPLETED, run));
        assertEquals(List.of(), failures);
    }

    /** As many requests with the same beginning do: it is computed once, and nobody fails for it. */
    @Test
    void shouldWaitForWhoIsComputingTheSameBlocks() {
        Node a = start("a", SLOTS);
        BlockingQueue<Given> given = tasksOf(a);
        awaitMembers(a, 1);
        PlanRun first = a.mover().run(request(3), PlanOptions.DEFAULT.withTimeout(LONG));
        Given computing = next(given);
        PlanRun second = a.mover().run(request(4), PlanOptions.DEFAULT.withTimeout(LONG));
        assertTrue(TestWaits.until(() -> a.usage().used() == 7), "room is set aside for it, too");
        assertFalse(second.await(Duration.ofMillis(100)), second::toString);
        compute(computing.node, computing.task);
        Given rest = next(given);
        for (; rest.task.action() == Action.DECODE; rest = next(given)) {
            compute(rest.node, rest.task);
        }
        assertEquals(List.of(id(3)), rest.task.writers().stream().map(BlockWriter::id).toList());
        compute(rest.node, rest.task);
        while (second.state() == State.RUNNING || first.state() == State.RUNNING) {
            Given decode = given.poll();
            if (decode != null) {
                compute(decode.node, decode.task);
            }
        }
        assertEnds(State.COMPLETED, first);
        assertEnds(State.COMPLETED, second);
        assertEquals(1, second.attempts());
        assertTrue(first.awaitReleased(LONG) && second.awaitReleased(LONG));
        assertNothingKept(a);
    }

    // ---- what is not

    private static Scheduler planning(BiFunction<PlanRequest, ClusterView, PlacementPlan> plan) {
        return new Scheduler() {
            @Override
            public @Nullable BlockRef source(List<BlockRef> holders, long bytes, ClusterView view) {
                return Scheduler.cheapestHolder().source(holders, bytes, view);
            }

            @Override
            public PlacementPlan plan(PlanRequest request, ClusterView view) {
                return plan.apply(request, view);
            }
        };
    }

    /** A scheduler of the user's that plans what can't be done: that plan fails, and nothing else is kept waiting by it. */
    @Test
    void shouldFailWhereTheSchedulersPlanIsNoneOfTheRequest() {
        Scheduler wrong = planning((request, view) -> switch ((int) request.tag()) {
            case 0 -> Scheduler.cheapestHolder().plan(request(request.blocks().size() + 1), view);
            case 1 -> new PlacementPlan(null, view.self(), List.of());
            case 2 -> throw new IllegalStateException("no idea");
            default -> Scheduler.cheapestHolder().plan(request, view);
        });
        Node a = nodes.start("a", builder -> builder.poolSize(SLOTS * BLOCK).scheduler(wrong));
        a.mover().computeBy(task -> compute(a, task));
        awaitMembers(a, 1);
        List<PlanRun> failed = IntStream.range(0, 3)
                .mapToObj(tag -> a.mover().run(request(3).withTag(tag), PlanOptions.DEFAULT.withTimeout(LONG)))
                .toList();
        assertEnds(State.COMPLETED, a.mover().run(request(3).withTag(3), PlanOptions.DEFAULT.withTimeout(LONG)));
        for (PlanRun run : failed) {
            assertEnds(State.FAILED, run);
            MooncakeException cause = Objects.requireNonNull(run.cause());
            assertTrue(cause.kind() == Kind.ILLEGAL_STATE && cause.getMessage().contains("the scheduler"),
                    cause.getMessage());
        }
        TestNodes.announced(a);
        assertNothingKept(a);
    }

    private static void step(Node from, Node to, int step, Action action, List<BlockId> ids) {
        step(from, to,
                new PlanMessage.Step(1, 0, step, action, new PlanMessage.Common(600_000, BLOCK, 0, Tier.DRAM), ids,
                        List.of()));
    }

    private static void step(Node from, Node to, PlanMessage.Step step) {
        assertTrue(from.parts().control().send(to.id(), Topic.PLANS, step.encode()));
    }

    /** It was sent again because its answer was late, and comes when everything is given back. */
    @Test
    void shouldBeginNothingForAnAttemptThatIsOver() {
        Node a = computing("a");
        Node b = start("b", SLOTS);
        step(b, a, 0, Action.RESERVE, ids(1));
        assertTrue(TestWaits.until(() -> a.usage().used() == 1));
        step(b, a, 1, Action.RELEASE, ids(1));
        assertTrue(TestWaits.until(() -> a.usage().used() == 0));
        step(b, a, 0, Action.RESERVE, ids(1));
        // One behind it that is none of these.
        PlanMessage.Common other = new PlanMessage.Common(600_000, BLOCK, 0, Tier.DRAM);
        step(b, a, new PlanMessage.Step(2, 0, 0, Action.RESERVE, other, List.of(id(7), id(8)), List.of()));
        assertTrue(TestWaits.until(() -> a.usage().used() >= 2));
        assertEquals(2, a.usage().used());
        step(b, a, new PlanMessage.Step(2, 0, 1, Action.RELEASE, other, List.of(id(7)), List.of()));
        assertNothingKept(a);
    }

    /** Somebody else brings the block at that moment, into the room that was set aside for it: the plan is behind, and gives that up. */
    @Test
    void shouldKeepNothingOfRoomThatIsLentWhenItIsToBeComputed() {
        Node a = computing("a");
        Node b = start("b", SLOTS);
        step(b, a, 0, Action.RESERVE, ids(1));
        // Its answer: the slot is taken before it is known whose it is.
        assertTrue(TestWaits.until(() -> a.counters().get(Counter.MESSAGES_SENT) > 0));
        assertEquals(1, a.usage().used());
        ReplicaWriter copy = a.parts().blocks().allocateReplica(id(0), new Version(1, 1), BLOCK);
        assertNotNull(copy);
        assertEquals(1, a.usage().used(), "it goes into that room");
        step(b, a, 1, Action.PREFILL, ids(1));
        step(b, a, 2, Action.RELEASE, ids(1));
        assertTrue(TestWaits.until(() -> {
            try (Reservation again = a.parts().blocks().reserve(id(0), BLOCK, Tier.DRAM, 1_000_000_000L)) {
                return again != null;
            }
        }), "set aside for ever");
        copy.abort();
        assertNothingKept(a);
        assertEquals(List.of(), computed);
    }

    /** It is the first in the queue for room: it must not wait for what it has itself. */
    @Test
    void shouldSetRoomAsideOnceForABlockThatIsNamedTwice() {
        Node a = computing("a");
        Node b = start("b", SLOTS);
        step(b, a, 0, Action.RESERVE, List.of(id(0), id(1), id(0)));
        awaitMembers(a, 2);
        PlanRun behind = a.mover()
                .run(PlanRequest.of(List.of(id(5)), BLOCK), PlanOptions.DEFAULT.withTimeout(LONG));
        assertEnds(State.COMPLETED, behind);
        step(b, a, 1, Action.RELEASE, ids(1));
        assertNothingKept(a);
    }

    /** In a node without threads a seal that is due is carried out after the conductor's last look. */
    @Test
    void shouldNotLetASealThatComesLateKeepANodeFromClosing() {
        AtomicLong nowNs = new AtomicLong();
        Duration most = Duration.ofMillis(100);
        Node a = nodes.start("a", builder -> builder.poolSize(SLOTS * BLOCK)
                .threading(ThreadingMode.INVOKER)
                .nanoClock(() -> nowNs.addAndGet(10_000))
                .engines(context -> List.of(new ManualEngine(context)))
                .closeTimeout(most));
        AtomicBoolean computed = new AtomicBoolean();
        a.mover().computeBy(task -> {
            task.done();
            computed.set(true);
        });
        while (a.parts().sources().costs().members().isEmpty()) {
            a.doWork();
        }
        PlanRun run = a.mover().run(request(3), PlanOptions.DEFAULT);
        while (!computed.get()) {
            a.doWork();
        }
        for (int i = 0; i < 100; i++) {
            // No callback.
            a.parts().agents().doWork();
        }
        assertEquals(3, a.usage().used());
        long closedNs = nowNs.get();
        a.close();
        assertEquals(State.CANCELED, run.state());
        assertTrue(nowNs.get() - closedNs < most.toNanos(), "it waited for a hold that nobody has");
    }

    @Test
    void shouldGiveEverythingBackWhenItIsCanceled() {
        Node a = start("a", SLOTS);
        Node b = start("b", SLOTS);
        BlockingQueue<PlanWorker.Task> tasks = new LinkedBlockingQueue<>();
        a.mover().computeBy(tasks::add);
        b.mover().computeBy(tasks::add);
        awaitMembers(a, 2);
        PlanRun run = a.mover().run(request(20), PlanOptions.DEFAULT.withTimeout(LONG));
        PlanWorker.Task task = next(tasks);
        run.cancel();
        assertEnds(State.CANCELED, run);
        assertTrue(TestWaits.until(task::isCanceled));
        Node idle = Objects.requireNonNull(run.plan()).decode().equals(a.id()) ? a : b;
        Node busy = idle == a ? b : a;
        assertTrue(TestWaits.until(() -> idle.usage().used() == 0));
        // Whoever computes may still write.
        assertEquals(16, busy.usage().used());
        assertFalse(run.awaitReleased(Duration.ofMillis(1)));
        task.writers().forEach(writer -> writer.segment().fill((byte) 1));
        task.done();
        assertTrue(run.awaitReleased(LONG));
        assertTrue(TestWaits.until(() -> busy.usage().used() == 0));
        assertEquals(1, a.counters().get(Counter.PLANS_CANCELED));
        assertNull(run.cause());
        assertTrue(tasks.isEmpty());
    }

    @Test
    void shouldFailWithStepAndCauseWhenWhoComputesSaysSo() {
        Node a = start("a", SLOTS);
        a.mover().computeBy(task -> {
            if (task.blocks().size() < 16) {
                throw new IllegalStateException("out of patience");
            }
            task.done();
        });
        awaitMembers(a, 1);
        PlanRun run = a.mover().run(request(20), PlanOptions.DEFAULT.withTimeout(LONG));
        assertEnds(State.FAILED, run);
        assertEquals(16, Objects.requireNonNull(run.failedStep()).from());
        assertEquals(Action.PREFILL, run.failedStep().action());
        assertTrue(Objects.requireNonNull(run.cause()).getMessage().contains("out of patience"));
        assertEquals(1, run.attempts());
        assertTrue(run.awaitReleased(LONG));
        assertNothingKept(a);
    }

    @Test
    void shouldKeepAwayFromANodeThatComputesNothing() {
        Node a = start("a", SLOTS);
        Node b = computing("b");
        awaitMembers(b, 2);
        PlanRun run = b.mover().run(request(4), PlanOptions.DEFAULT.withTimeout(LONG));
        assertEnds(State.COMPLETED, run);
        assertEquals(b.id(), Objects.requireNonNull(run.plan()).decode());
        assertEquals(2, run.attempts());
        assertEquals(1, b.counters().get(Counter.PLANS_REPLANNED));
        assertTrue(run.awaitReleased(LONG));
        assertNothingKept(a, b);
        PlanRun nobody = a.mover()
                .run(request(4).withAvoided(Set.of(b.id())), PlanOptions.DEFAULT.withTimeout(LONG));
        assertEnds(State.FAILED, nobody);
        MooncakeException cause = Objects.requireNonNull(nobody.cause());
        assertEquals(Kind.UNSUPPORTED, cause.kind());
        assertTrue(cause.getMessage().contains("no other way"), cause.getMessage());
    }

    @Test
    void shouldKeepAwayFromANodeThatLeaves() {
        Node a = computing("a");
        Node b = computing("b");
        awaitMembers(b, 2);
        a.parts().life().beginLeaving();
        PlanRun run = b.mover().run(request(4), PlanOptions.DEFAULT.withTimeout(LONG));
        assertEnds(State.COMPLETED, run);
        assertEquals(b.id(), Objects.requireNonNull(run.plan()).prefill());
        assertEquals(2, run.attempts());
    }

    /** A task, and where. */
    private record Given(Node node, PlanWorker.Task task) {}

    private BlockingQueue<Given> tasksOf(Node... workers) {
        BlockingQueue<Given> given = new LinkedBlockingQueue<>();
        for (Node worker : workers) {
            worker.mover().computeBy(task -> given.add(new Given(worker, task)));
        }
        return given;
    }

    /** Computes what is given, until something of that kind is. */
    private Given computeUntil(Action action, BlockingQueue<Given> given) {
        for (Given next = next(given);; next = next(given)) {
            if (next.task.action() == action) {
                return next;
            }
            compute(next.node, next.task);
        }
    }

    @Test
    void shouldPrefillElsewhereWhenThatNodeIsLost() {
        Node a = start("a", 4);
        BlockingQueue<Given> given = tasksOf(start("b", SLOTS), start("c", SLOTS), start("d", SLOTS));
        awaitMembers(a, 4);
        PlanRun run = a.mover().run(request(10), PlanOptions.DEFAULT.withTimeout(LONG));
        Given lost = computeUntil(Action.PREFILL, given);
        nodes.registry.leave(lost.node.id());
        Given second = computeUntil(Action.PREFILL, given);
        assertNotEquals(lost.node, second.node);
        compute(second.node, second.task);
        Given decode = computeUntil(Action.DECODE, given);
        assertTrue(decode.node != lost.node && decode.node != second.node);
        compute(decode.node, decode.task);
        assertEnds(State.COMPLETED, run);
        assertEquals(2, run.attempts());
        assertTrue(run.awaitReleased(LONG));
        assertNothingKept(second.node, decode.node);
        lost.task.done();
    }

    @Test
    void shouldComputeNothingAgainWhenTheNodeThatDecodesIsLost() {
        Node a = start("a", 4);
        BlockingQueue<Given> given = tasksOf(start("b", SLOTS), start("c", SLOTS), start("d", SLOTS));
        awaitMembers(a, 4);
        PlanRun run = a.mover().run(request(20), PlanOptions.DEFAULT.withTimeout(LONG));
        Given lost = computeUntil(Action.DECODE, given);
        nodes.registry.leave(lost.node.id());
        Given second = next(given);
        assertEquals(Action.DECODE, second.task.action());
        assertNotEquals(lost.node, second.node);
        compute(second.node, second.task);
        assertEnds(State.COMPLETED, run);
        assertEquals(2, run.attempts());
        assertNull(Objects.requireNonNull(run.plan()).prefill());
        lost.task.done();
    }

    @Test
    void shouldFailWhenNoOtherNodeIsLeft() {
        Node a = start("a", 4);
        BlockingQueue<Given> given = tasksOf(start("b", SLOTS));
        awaitMembers(a, 2);
        PlanRun run = a.mover().run(request(10), PlanOptions.DEFAULT.withTimeout(LONG));
        Given lost = next(given);
        nodes.registry.leave(lost.node.id());
        assertEnds(State.FAILED, run);
        MooncakeException cause = Objects.requireNonNull(run.cause());
        assertEquals(Kind.PEER_UNREACHABLE, cause.kind());
        assertTrue(cause.getMessage().contains("is gone; and there is no other way: none of 1 nodes"),
                cause.getMessage());
        assertEquals(lost.node.id(), Objects.requireNonNull(run.failedStep()).node());
        lost.task.done();
    }

    @Test
    void shouldFailWhereThereIsNoRoomLeft() {
        Node a = computing("a");
        awaitMembers(a, 1);
        PlanRun tooLarge = a.mover().run(request(SLOTS + 1), PlanOptions.DEFAULT.withTimeout(LONG));
        assertEnds(State.FAILED, tooLarge);
        assertEquals(Kind.OUT_OF_MEMORY, Objects.requireNonNull(tooLarge.cause()).kind());
        assertNull(tooLarge.failedStep());
        for (int i = 0; i < 30; i++) {
            TestNodes.write(a, BlockId.of("held " + i), BLOCK, 1);
        }
        List<BlockId> held = IntStream.range(0, 30).mapToObj(i -> BlockId.of("held " + i)).toList();
        try (Hold hold = a.mover().pin(held, Tier.DRAM, LONG)) {
            assertEquals(30, hold.refs().size());
            PlanRun full = a.mover().run(request(20), PlanOptions.DEFAULT.withTimeout(Duration.ofSeconds(1)));
            assertEnds(State.FAILED, full);
            assertEquals(Kind.OUT_OF_MEMORY, Objects.requireNonNull(full.cause()).kind());
            assertEquals(Action.RESERVE, Objects.requireNonNull(full.failedStep()).action());
            assertTrue(full.awaitReleased(LONG));
            assertEquals(30, a.usage().used());
        }
    }

    @Test
    void shouldEndAtItsTimeAndGiveBackByItself() {
        Node a = start("a", SLOTS);
        BlockingQueue<PlanWorker.Task> tasks = new LinkedBlockingQueue<>();
        a.mover().computeBy(tasks::add);
        awaitMembers(a, 1);
        PlanRun run = a.mover().run(request(3), PlanOptions.DEFAULT.withTimeout(Duration.ofMillis(200)));
        PlanWorker.Task task = next(tasks);
        assertEnds(State.FAILED, run);
        assertEquals(Kind.TIMEOUT, Objects.requireNonNull(run.cause()).kind());
        assertTrue(TestWaits.until(task::isCanceled));
        assertFalse(run.awaitReleased(Duration.ofSeconds(1)), "whoever computes may still write");
        task.failed("too late");
        assertTrue(run.awaitReleased(LONG));
        assertNothingKept(a);
    }

    @Test
    void shouldGiveBackWhatANodeHadForOneThatIsLost() {
        Node a = start("a", 4);
        Node b = start("b", SLOTS);
        BlockingQueue<PlanWorker.Task> tasks = new LinkedBlockingQueue<>();
        b.mover().computeBy(tasks::add);
        awaitMembers(a, 2);
        PlanRun run = a.mover().run(request(20), PlanOptions.DEFAULT);
        PlanWorker.Task task = next(tasks);
        assertEquals(20, b.usage().used());
        a.close();
        assertEquals(State.CANCELED, run.state());
        assertTrue(TestWaits.until(task::isCanceled));
        task.done();
        assertNothingKept(b);
        assertEquals(Kind.CLOSED, assertThrows(MooncakeException.class,
                () -> a.mover().run(request(1), PlanOptions.DEFAULT)).kind());
    }

    @Test
    void shouldEndItsPlansAndTasksWhenItCloses() {
        Node a = nodes.start("a", builder -> builder.poolSize(SLOTS * BLOCK).closeTimeout(Duration.ofMillis(50)));
        BlockingQueue<PlanWorker.Task> tasks = new LinkedBlockingQueue<>();
        a.mover().computeBy(tasks::add);
        awaitMembers(a, 1);
        PlanRun run = a.mover().run(request(3), PlanOptions.DEFAULT);
        PlanWorker.Task task = next(tasks);
        MooncakeException kept = assertThrows(MooncakeException.class, a::close);
        assertTrue(kept.kind() == Kind.IN_USE && kept.getMessage().contains("being written"), kept.getMessage());
        assertEquals(State.CANCELED, run.state());
        task.done();
        a.close();
    }

    @Test
    void shouldRefuseASecondWorkerUntilTheFirstOneEnds() {
        Node a = start("a", SLOTS);
        BlockStore.Subscription first = a.mover().computeBy(PlanWorker.Task::done);
        assertEquals(Kind.IN_USE, assertThrows(MooncakeException.class,
                () -> a.mover().computeBy(PlanWorker.Task::done)).kind());
        first.close();
        a.mover().computeBy(PlanWorker.Task::done);
        first.close();
        assertThrows(MooncakeException.class, () -> a.mover().computeBy(PlanWorker.Task::done));
        assertThrows(MooncakeException.class, () -> PlanOptions.DEFAULT.withTimeout(Duration.ZERO));
    }

    @Test
    void shouldDropWhatIsNoMessageAboutAPlan() {
        Node a = start("a", SLOTS);
        Node b = start("b", SLOTS);
        assertTrue(b.parts().control().send(a.id(), Topic.PLANS, ByteBuffer.wrap(new byte[200])));
        assertTrue(TestWaits.until(() -> a.counters().get(Counter.MESSAGES_DROPPED) == 1));
        // Of a plan that is none of this node's, and a step of one that has room for nothing.
        b.parts().control().send(a.id(), Topic.PLANS, new PlanMessage.Done(99, 0, 0, null, List.of()).encode());
        PlanMessage.Common plan = new PlanMessage.Common(50, 1L << 40, 0, Tier.DRAM);
        b.parts()
                .control()
                .send(a.id(), Topic.PLANS,
                        new PlanMessage.Step(1, 0, 0, Action.RESERVE, plan, ids(3), List.of()).encode());
        b.parts()
                .control()
                .send(a.id(), Topic.PLANS,
                        new PlanMessage.Step(2, 0, 0, Action.PREFILL, plan, ids(3), List.of()).encode());
        write(a, 2);
        assertNothingKept(a);
    }

    // ---- the example of docs/scheduling.md

    @Test
    void shouldStandInTheDocs() throws IOException {
        DocsExample.assertStandsIn("docs/scheduling.md", PlansTest.class);
    }

    @Test
    void example() {
        Node node = computing("a");
        Node other = start("b", SLOTS);
        List<BlockId> prompt = ids(3);
        awaitMembers(node, 2);
        // begin
        other.mover().computeBy(task -> Thread.ofVirtual().start(() -> { // at every node that computes
            for (BlockWriter writer : task.writers()) {
                writer.segment().fill((byte) writer.id().hashCode()); // the model's work
            }
            task.done();
        }));
        PlanRun run = node.mover()
                .run(PlanRequest.of(prompt, BLOCK).withTag(4711),
                        PlanOptions.DEFAULT.withTimeout(Duration.ofSeconds(30))
                                .withCallback(ended -> System.out.println(ended))); // or ended.cause()
        // end
        assertEnds(State.COMPLETED, run);
    }
}
