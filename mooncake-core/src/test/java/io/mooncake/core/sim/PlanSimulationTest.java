package io.mooncake.core.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.PlanOptions;
import io.mooncake.core.PlanRun;
import io.mooncake.core.PlanRun.State;
import io.mooncake.core.PlanWorker;
import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.schedule.PlacementPlan.Action;
import io.mooncake.core.schedule.PlanRequest;
import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A thousand plans over eight simulated nodes, two of which are lost in the middle of it: real nodes, engines and registries on virtual time, whose
 * messages come late or not at all. Everything that is seen after each node's step is what {@link World} sees.
 */
class PlanSimulationTest {
    private static final int NODES = 8;
    private static final int PLANS = 1_000;
    private static final int AT_A_TIME = 14;
    private static final int CONVERSATIONS = 30;
    private static final int MOST_BLOCKS = 5;
    private static final long BANK_BYTES = 64L << 20;
    private static final long STEP_NS = 20_000;
    private static final long LEAP_NS = 2_000_000;
    private static final int MOST_ROUNDS = 60_000;
    private static final Duration TIME = Duration.ofSeconds(20);

    /** One seed. */
    private static final class Run {
        private final SplittableRandom random;
        private final World world;
        private final Map<String, SimNode> coordinators = new TreeMap<>();
        private final List<PlanRun> going = new ArrayList<>();
        private final List<PlanRun> ended = new ArrayList<>();
        private final Set<BlockId> blocks = new HashSet<>();
        private int callbacks;
        private int begun;
        private int quietRounds;
        private long canceled;

        Run(long seed, World world) {
            random = new SplittableRandom(seed);
            this.world = world;
            world.hasPlans = true;
            for (int i = 0; i < NODES; i++) {
                String name = "n" + i;
                world.start(name);
                SimNode node = node(name);
                node.node.mover().computeBy(task -> later(node, task));
                if (i < NODES - 2) {
                    coordinators.put(name, node);
                }
            }
            world.post.lose(10);
        }

        private SimNode node(String name) {
            return Objects.requireNonNull(world.nodes.get(name));
        }

        // ---- what computes

        private static long number(BlockId id) {
            return ByteBuffer.wrap(id.toBytes()).getLong(24);
        }

        private void later(SimNode node, PlanWorker.Task task) {
            world.time.after(random.nextLong(3 * STEP_NS), () -> {
                if (world.nodes.containsValue(node)) {
                    compute(node, task);
                }
            });
        }

        private void compute(SimNode node, PlanWorker.Task task) {
            if (task.isCanceled()) {
                canceled++;
            }
            for (BlockWriter writer : task.writers()) {
                Content.fill(writer.segment(), number(writer.id()), writer.length());
            }
            if (task.action() == Action.DECODE && !task.isCanceled()) {
                task.blocks().forEach(id -> check(node, id));
            }
            if (random.nextInt(400) == 0) {
                task.failed("the model threw");
            } else {
                task.done();
            }
        }

        /** Held by the plan, hence there, and with the bytes of its id. */
        private void check(SimNode node, BlockId id) {
            try (BlockView view = node.node.store().newView()) {
                Content.Write expected = new Content.Write(number(id), SimNode.SLOT_BYTES);
                if (!node.node.store().acquire(id, view)
                        || !Content.matches(view.segment(), 0, expected, 0, view.length())) {
                    throw world.found(new Violation(1, "block " + id + " is not where it is to be decoded, " + node));
                }
            }
        }

        // ---- the plans

        /** The beginning of a conversation: the ids are ends of chains, so that who computes one block twice makes the same bytes. */
        private PlanRequest someRequest() {
            int conversation = random.nextInt(CONVERSATIONS);
            List<BlockId> ids = new ArrayList<>();
            for (int i = 0; i < 1 + random.nextInt(MOST_BLOCKS); i++) {
                // The first block is the system's, the same in many.
                long number = i == 0 ? conversation % 5 : conversation * 1_000L + i;
                ids.add(BlockId.fromBytes(
                        ByteBuffer.allocate(BlockId.BYTES).put((byte) 0x80).putLong(24, number + 1).array()));
            }
            blocks.addAll(ids);
            return PlanRequest.of(ids, SimNode.SLOT_BYTES).withOutput(random.nextInt(2)).withTag(begun);
        }

        private void begin() {
            SimNode by = List.copyOf(coordinators.values()).get(random.nextInt(coordinators.size()));
            going.add(by.node.mover()
                    .run(someRequest(), PlanOptions.DEFAULT.withTimeout(TIME).withCallback(run -> callbacks++)));
            begun++;
        }

        void run() {
            for (int rounds = 0; ended.size() < PLANS; rounds++) {
                if (rounds == MOST_ROUNDS) {
                    throw new AssertionError(ended.size() + " plans ended; going on: " + going);
                }
                if (begun == 0 && !everybodyIsKnown()) {
                    round();
                    continue;
                }
                while (begun < PLANS && going.size() < AT_A_TIME) {
                    begin();
                }
                if (begun == PLANS / 3 || begun == 2 * PLANS / 3) {
                    lose(begun == PLANS / 3 ? "n6" : "n7");
                }
                if (random.nextInt(500) == 0) {
                    going.get(random.nextInt(going.size())).cancel();
                }
                round();
            }
            world.post.lose(0);
            world.bus.becomeFaultless();
            for (int i = 0; i < 3_000; i++) {
                quietRounds = 1_000;
                round();
            }
        }

        private boolean everybodyIsKnown() {
            return coordinators.values()
                    .stream()
                    .allMatch(by -> world.nodes.values().stream().noneMatch(node -> by.node.space(node.id).isEmpty()));
        }

        private void lose(String name) {
            SimNode lost = world.nodes.get(name);
            if (lost != null) {
                world.crash(lost);
            }
        }

        /** When nothing ends for long, everybody waits for a message that was lost: time leaps. */
        private void round() {
            world.time.runTo(world.time.nowNs() + (quietRounds > 100 ? LEAP_NS : STEP_NS));
            for (SimNode node : List.copyOf(world.nodes.values())) {
                node.work();
            }
            world.beat();
            int before = ended.size();
            going.removeIf(run -> run.state() != State.RUNNING && ended.add(run));
            quietRounds = ended.size() > before ? 0 : quietRounds + 1;
        }

        // ---- what must be

        void check() {
            assertEquals(PLANS, callbacks, "each plan is told to have ended once");
            Map<String, Integer> causes = new HashMap<>();
            int completed = 0;
            for (PlanRun run : ended) {
                assertTrue(run.awaitReleased(Duration.ofNanos(1)), run::toString);
                MooncakeException cause = run.cause();
                switch (run.state()) {
                    case COMPLETED -> completed++;
                    case FAILED -> {
                        assertNotNull(cause, run::toString);
                        assertNotNull(run.failedStep(), run::toString);
                        assertTrue(cause.kind() == Kind.OUT_OF_MEMORY || cause.getMessage().contains("the model threw"),
                                () -> run + ": " + cause.getMessage());
                        causes.merge(cause.kind().name(), 1, Integer::sum);
                    }
                    default -> causes.merge("canceled", 1, Integer::sum);
                }
            }
            long replanned = coordinators.values()
                    .stream()
                    .mapToLong(node -> node.node.counters().get(Counter.PLANS_REPLANNED))
                    .sum();
            String told = completed + " completed, " + replanned + " plans made anew, " + canceled
                    + " tasks canceled, others ended by " + causes + ", in "
                    + Duration.ofNanos(world.time.nowNs());
            assertTrue(completed > PLANS * 9 / 10, told);
            assertTrue(replanned > 0, told);
            // No hold, no room set aside, no writer, no pin: all that there is can be evicted, and every slot is free then.
            for (SimNode node : world.nodes.values()) {
                node.node.store().evict(List.copyOf(blocks));
            }
            for (int i = 0; i < 100; i++) {
                round();
            }
            for (SimNode node : List.copyOf(world.nodes.values())) {
                assertEquals(0, node.node.usage().used() + node.node.usage().quarantined(), node + " after " + told);
                world.close(node);
            }
        }
    }

    private static void run(long seed) {
        try (Arena arena = Arena.ofShared()) {
            World world = new World(seed, 0, arena.allocate(BANK_BYTES, 4096), null);
            Run run = new Run(seed, world);
            run.run();
            run.check();
        } catch (RuntimeException | AssertionError e) {
            throw new AssertionError("seed " + seed + ": " + e.getMessage(), e);
        }
    }

    @Test
    void everyPlanEndsAndNothingIsLeftOfItWhenTwoNodesAreLost() {
        run(1);
        run(2);
    }

    @Test
    @Tag("full")
    void everyPlanEndsWhateverTheSeed() {
        for (long seed = 3; seed < 100; seed++) {
            run(seed);
        }
    }
}
