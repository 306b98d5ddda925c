package io.mooncake.core.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.PlanOptions;
import io.mooncake.core.PlanRun;
import io.mooncake.core.PlanRun.State;
import io.mooncake.core.PlanWorker;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.schedule.PlacementPlan;
import io.mooncake.core.schedule.PlanRequest;
import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * One plan over simulated nodes, and one thing that happens to it, at each moment of it in turn: whatever that is, the plan ends, told once, and
 * nothing is left of it at any node.
 */
class PlanStepsTest {
    private static final int BLOCKS = 5;
    private static final long BANK_BYTES = 16L << 20;
    private static final long STEP_NS = 20_000;
    private static final long LEAP_NS = 2_000_000;
    private static final int MOST_ROUNDS = 20_000;
    private static final Duration TIME = Duration.ofSeconds(5);

    enum What {
        NOTHING, CANCEL, LOSE_ASKER, LOSE_PREFILL, LOSE_DECODE, CLOSE_ASKER, CLOSE_PREFILL, CLOSE_DECODE,
        /** Until its time is over. */
        LOSE_MESSAGES,
        /** The blocks that are there by now. */
        EVICT
    }

    /** A plan to which something happens after so many rounds. */
    private static final class Run {
        private final World world;
        private final List<BlockId> ids = IntStream.range(0, BLOCKS)
                .mapToObj(i -> BlockId.fromBytes(
                        ByteBuffer.allocate(BlockId.BYTES).put((byte) 0x80).putLong(24, i + 1).array()))
                .toList();
        private final List<PlanRun> told = new ArrayList<>();
        private final PlanRun plan;
        private final SimNode asker;

        Run(World world) {
            this.world = world;
            world.hasPlans = true;
            for (int i = 0; i < 4; i++) {
                String name = "n" + i;
                world.start(name);
                SimNode node = node(name);
                node.node.mover().computeBy(task -> compute(task));
            }
            asker = node("n0");
            for (int round = 0; !isEverybodyKnown(); round++) {
                assertTrue(round < MOST_ROUNDS, "nobody says what room there is");
                round(STEP_NS);
            }
            // One block is cached: there is something to pull, too.
            try (BlockWriter writer = node("n3").node.store().allocate(ids.getFirst(), SimNode.SLOT_BYTES)) {
                fill(writer);
                node("n3").commit(writer);
            }
            for (int i = 0; i < 100; i++) {
                round(STEP_NS);
            }
            plan = node("n0").node.mover()
                    .run(PlanRequest.of(ids, SimNode.SLOT_BYTES).withAvoided(Set.of(node("n0").id)),
                            PlanOptions.DEFAULT.withTimeout(TIME).withCallback(told::add));
        }

        private SimNode node(String name) {
            return Objects.requireNonNull(world.nodes.get(name));
        }

        private boolean isEverybodyKnown() {
            SimNode by = node("n0");
            return world.nodes.values().stream().noneMatch(node -> by.node.space(node.id).isEmpty());
        }

        private static void fill(BlockWriter writer) {
            Content.fill(writer.segment(), ByteBuffer.wrap(writer.id().toBytes()).getLong(24), writer.length());
        }

        private static void compute(PlanWorker.Task task) {
            task.writers().forEach(Run::fill);
            task.done();
        }

        private void round(long ns) {
            world.time.runTo(world.time.nowNs() + ns);
            for (SimNode node : List.copyOf(world.nodes.values())) {
                node.work();
            }
            world.beat();
        }

        private @Nullable SimNode at(boolean prefill) {
            PlacementPlan now = plan.plan();
            return now == null
                    ? null
                    : world.nodes.values()
                            .stream()
                            .filter(node -> node.id.equals(prefill ? now.prefill() : now.decode()))
                            .findFirst()
                            .orElse(null);
        }

        private void happen(What what) {
            SimNode node = switch (what) {
                case LOSE_ASKER, CLOSE_ASKER -> asker;
                case LOSE_PREFILL, CLOSE_PREFILL -> at(true);
                case LOSE_DECODE, CLOSE_DECODE -> at(false);
                default -> null;
            };
            switch (what) {
                case NOTHING -> {
                }
                case CANCEL -> plan.cancel();
                case LOSE_MESSAGES -> world.post.lose(1_000);
                case EVICT -> world.nodes.values().forEach(each -> each.node.store().evict(ids));
                default -> {
                    if (node != null && what.name().startsWith("LOSE")) {
                        world.crash(node);
                    } else if (node != null) {
                        world.close(node);
                    }
                }
            }
        }

        /** How many rounds it took. */
        int run(What what, int at) {
            int rounds = 0;
            for (; rounds < at && plan.state() == State.RUNNING; rounds++) {
                round(STEP_NS);
            }
            boolean isOver = plan.state() != State.RUNNING;
            happen(what);
            boolean isThere = world.nodes.containsValue(asker);
            for (int more = 0; isThere && plan.state() == State.RUNNING; more++) {
                assertTrue(more < MOST_ROUNDS, plan::toString);
                round(more < 500 ? STEP_NS : LEAP_NS);
                rounds++;
            }
            world.post.lose(0);
            for (int i = 0; i < 3_500; i++) {
                round(LEAP_NS);
            }
            if (isThere) {
                check(what, isOver);
            }
            for (SimNode node : world.nodes.values()) {
                node.node.store().evict(ids);
            }
            for (int i = 0; i < 50; i++) {
                round(STEP_NS);
            }
            for (SimNode node : List.copyOf(world.nodes.values())) {
                assertEquals(0, node.node.usage().used() + node.node.usage().quarantined(), node + " after " + plan);
                world.close(node);
            }
            return rounds;
        }

        private void check(What what, boolean wasOver) {
            assertEquals(List.of(plan), told);
            assertTrue(plan.awaitReleased(Duration.ofNanos(1)), plan::toString);
            // Messages that are under way arrive, and may be the last ones.
            boolean mayFail = what == What.LOSE_MESSAGES && plan.state() == State.FAILED;
            State expected = what == What.CANCEL && !wasOver
                    ? State.CANCELED
                    : mayFail ? State.FAILED : State.COMPLETED;
            assertEquals(expected, plan.state(), () -> String.valueOf(plan.cause()));
        }
    }

    private static int run(What what, int at) {
        try (Arena arena = Arena.ofShared()) {
            return new Run(new World(7, 0, arena.allocate(BANK_BYTES, 4096), null)).run(what, at);
        } catch (RuntimeException | AssertionError e) {
            throw new AssertionError(what + " after " + at + " rounds: " + e.getMessage(), e);
        }
    }

    private static void runAtEach(What what, int stride) {
        int all = run(What.NOTHING, 0);
        for (int at = 0; at <= all; at += stride) {
            int _ = run(what, at);
        }
    }

    @ParameterizedTest
    @EnumSource(What.class)
    void aPlanEndsAndNothingIsLeftWhateverHappensWheneverItDoes(What what) {
        runAtEach(what, 7);
    }

    @ParameterizedTest
    @EnumSource(What.class)
    @Tag("full")
    void aPlanEndsAndNothingIsLeftWhateverHappensAtAnyRound(What what) {
        runAtEach(what, 1);
    }
}
