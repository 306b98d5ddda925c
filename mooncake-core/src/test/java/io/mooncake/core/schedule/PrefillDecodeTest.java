package io.mooncake.core.schedule;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Hop;
import io.mooncake.core.base.Memory.FileMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.base.Site;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Tier;
import io.mooncake.core.block.Version;
import io.mooncake.core.registry.PairFigures;
import io.mooncake.core.registry.PairFigures.Figure;
import io.mooncake.core.schedule.ClusterView.Member;
import io.mooncake.core.schedule.PlacementPlan.Action;
import io.mooncake.core.schedule.PlacementPlan.Step;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Who prefills and who decodes; and that every plan there is can be carried out. */
class PrefillDecodeTest {
    private static final long BYTES = 1 << 20;
    private static final NodeId A = node("a");
    private static final NodeId B = node("b");
    private static final NodeId C = node("c");

    private static NodeId node(String name) {
        return new NodeId(name, 1);
    }

    /** Nobody reads by it. */
    private record View(List<Member> members, List<Member> devices, Map<BlockId, List<BlockRef>> cached,
            List<PairFigures> figures) implements ClusterView {
        static View of(Member... members) {
            return new View(List.of(members), List.of(), new HashMap<>(), new ArrayList<>());
        }

        View withDevices(Member... devices) {
            return new View(members, List.of(devices), cached, figures);
        }

        @Override
        public List<Member> members(Tier tier) {
            return tier == Tier.VRAM ? devices : members;
        }

        View with(NodeId holder, int from, int until) {
            for (int i = from; i < until; i++) {
                cached.computeIfAbsent(id(i), key -> new ArrayList<>()).add(ref(i, holder, 1));
            }
            return this;
        }

        @Override
        public NodeId self() {
            return A;
        }

        @Override
        public Hop hop(BlockRef holder) {
            return Hop.FAR;
        }

        @Override
        public long expectedNs(BlockRef holder, long bytes) {
            return 1;
        }

        @Override
        public boolean isDue(BlockRef holder, long bytes) {
            return false;
        }

        @Override
        public int load(NodeId node) {
            return 0;
        }

        @Override
        public List<BlockRef> holders(BlockId id) {
            return cached.getOrDefault(id, List.of());
        }
    }

    private static BlockId id(int i) {
        return BlockId.of("block " + i);
    }

    private static BlockRef ref(int i, NodeId holder, int region) {
        return new BlockRef(id(i), new Version(1, 1), holder, region, i * BYTES, BYTES, i, 18);
    }

    /** With room for so many blocks of its so many. */
    private static Member member(NodeId node, int blocks, int room, int computing) {
        return new Member(node, Site.UNKNOWN, blocks * BYTES, room * BYTES, 0, computing);
    }

    private static PlanRequest request(int blocks) {
        return PlanRequest.of(IntStream.range(0, blocks).mapToObj(PrefillDecodeTest::id).toList(), BYTES);
    }

    private static PlacementPlan plan(PlanRequest request, ClusterView view) {
        return Scheduler.cheapestHolder().plan(request, view);
    }

    private static void assertPlan(String prefill, String decode, PlacementPlan plan) {
        NodeId prefilling = plan.prefill();
        assertEquals(prefill + " " + decode,
                (prefilling == null ? "nobody" : prefilling.name()) + " " + plan.decode().name(), plan::toString);
    }

    // ---- who

    @Test
    void shouldSplitBetweenTheEmptiest() {
        View view = View.of(member(A, 40, 20, 0), member(B, 40, 30, 0), member(C, 40, 40, 0));
        assertPlan("c", "b", plan(request(10), view));
    }

    @Test
    void shouldGoByTheRoomOfTheTierThatIsAskedFor() {
        View view = View.of(member(A, 40, 40, 0), member(B, 40, 0, 0), member(C, 40, 1, 0))
                .withDevices(member(B, 20, 15, 0), member(C, 20, 20, 0));
        assertPlan("c", "b", plan(request(10).withTier(Tier.VRAM), view));
        assertPlan("a", "c", plan(request(10), view));
        // What somebody has in host memory is read from there, and needs room on the device.
        View cached = View.of(member(A, 40, 40, 0), member(B, 40, 0, 0), member(C, 40, 1, 0))
                .withDevices(member(B, 20, 9, 0), member(C, 20, 20, 0))
                .with(A, 0, 10)
                .with(B, 0, 10);
        assertPlan("nobody", "c", plan(request(10).withTier(Tier.VRAM), cached));
        MooncakeException none = assertThrows(MooncakeException.class,
                () -> plan(request(10).withTier(Tier.VRAM), View.of(member(A, 40, 40, 0))));
        assertEquals(Kind.OUT_OF_MEMORY, none.kind());
        assertTrue(none.getMessage().contains("tier VRAM"), none::getMessage);
        assertThrows(MooncakeException.class, () -> request(1).withTier(Tier.SLOW));
    }

    @Test
    void shouldPrefillWhereMostOfItIsCached() {
        View view = View.of(member(A, 40, 20, 0), member(B, 40, 30, 0), member(C, 40, 40, 0))
                .with(A, 0, 6)
                .with(B, 0, 4);
        assertPlan("a", "b", plan(request(10), view));
    }

    @Test
    void shouldCountNoBlockBehindOneThatNobodyHas() {
        View view = View.of(member(A, 40, 20, 0), member(B, 40, 30, 0), member(C, 40, 40, 0)).with(A, 1, 9);
        assertPlan("c", "b", plan(request(10), view));
    }

    @Test
    void shouldGoRoundWhoHasMuchToCompute() {
        View view = View.of(member(A, 40, 30, 9), member(B, 40, 30, 0), member(C, 40, 30, 20)).with(A, 0, 4);
        assertPlan("b", "a", plan(request(10), view));
        assertPlan("a", "b", plan(request(10).withComputeNs(1), view));
    }

    @Test
    void shouldGoRoundALinkThatIsMeasuredToBeSlow() {
        View view = View.of(member(A, 40, 40, 0), member(B, 40, 30, 0), member(C, 40, 20, 0));
        assertPlan("a", "b", plan(request(4), view));
        view.figures.add(new PairFigures(B, A, Hop.FAR, List.of(new Figure("tcp", 1 << 20, 900_000_000, BYTES),
                new Figure("tcp", 64 << 20, 1, BYTES))));
        assertPlan("a", "c", plan(request(4), view));
        view.figures.add(new PairFigures(B, A, Hop.FAR, List.of(new Figure("rdma", 1 << 20, 100, BYTES))));
        assertPlan("a", "b", plan(request(4), view));
    }

    @Test
    void shouldPreferRoomThatIsThereToTime() {
        assertPlan("a", "b", plan(request(9),
                View.of(member(A, 40, 3, 0), member(B, 40, 30, 0), member(C, 40, 25, 0)).with(A, 0, 6)));
        assertPlan("b", "c", plan(request(9),
                View.of(member(A, 40, 2, 0), member(B, 40, 30, 0), member(C, 40, 25, 0)).with(A, 0, 6)));
        assertPlan("a", "c", plan(request(9).withOutput(2),
                View.of(member(A, 40, 40, 0), member(B, 40, 10, 0), member(C, 400, 11, 0))));
    }

    @Test
    void shouldPrefillNothingThatIsCached() {
        View view = View.of(member(A, 40, 3, 0), member(B, 40, 30, 0)).with(A, 0, 5).with(B, 5, 9);
        PlacementPlan plan = plan(request(9), view);
        assertPlan("nobody", "a", plan(request(5), view));
        assertPlan("nobody", "b", plan);
        assertEquals(List.of(Action.RESERVE, Action.TRANSFER, Action.DECODE, Action.RELEASE),
                plan.steps().stream().map(Step::action).toList());
    }

    @Test
    void shouldCountWhatIsInAFileAsFarAway() {
        View view = View.of(member(A, 40, 30, 0), member(B, 40, 30, 0));
        view.cached.put(id(0), List.of(ref(0, A, FileMemory.FIRST_REGION), ref(0, B, 1)));
        assertPlan("b", "a", plan(request(2), view));
    }

    @Test
    void shouldServeAloneWhatNoOtherNodeIsLargeEnoughFor() {
        View view = View.of(member(A, 4, 4, 0), member(B, 40, 0, 0));
        PlacementPlan plan = plan(request(17), view);
        assertPlan("b", "b", plan);
        assertTrue(plan.steps().stream().allMatch(step -> step.node().equals(B)));
    }

    @Test
    void shouldSayThatNobodyIsLargeEnough() {
        View view = View.of(member(A, 9, 9, 0), member(B, 40, 40, 0));
        PlanRequest avoiding = request(10).withAvoided(Set.of(B));
        MooncakeException e = assertThrows(MooncakeException.class, () -> plan(avoiding, view));
        assertEquals(Kind.OUT_OF_MEMORY, e.kind());
        assertTrue(e.getMessage().contains("10 blocks"), e.getMessage());
        assertPlan("a", "a", plan(request(9).withAvoided(Set.of(B)), view));
        assertThrows(MooncakeException.class, () -> plan(request(9).withOutput(1).withAvoided(Set.of(B)), view));
        assertThrows(MooncakeException.class, () -> plan(request(1), View.of()));
    }

    @Test
    void shouldPlaceWhereTheLargestShareIsFree() {
        Scheduler scheduler = Scheduler.cheapestHolder();
        assertEquals(B, scheduler.place(BYTES, View.of(member(A, 100, 50, 0), member(B, 400, 201, 0))));
        assertEquals(A, scheduler.place(BYTES, View.of(member(A, 100, 51, 0), member(B, 400, 201, 0))));
        assertEquals(B, scheduler.place(2 * BYTES, View.of(member(A, 100, 1, 0), member(B, 10_000, 2, 0))));
        assertEquals(B, scheduler.place(BYTES, View.of(new Member(A, Site.UNKNOWN, 10 * BYTES, 0, 10 * BYTES, 0),
                member(B, 100, 1, 0))));
        assertEquals(A, scheduler.place(BYTES, View.of(new Member(A, Site.UNKNOWN, 10 * BYTES, 0, 9 * BYTES, 0),
                new Member(B, Site.UNKNOWN, 100 * BYTES, 0, 80 * BYTES, 0))));
        assertNull(scheduler.place(11 * BYTES, View.of(member(A, 10, 10, 0))));
    }

    @Test
    void shouldRefuseRequestsAndPlansThatAreNone() {
        for (Runnable wrong : List.<Runnable>of(() -> request(0), () -> request(PlanRequest.MAX_BLOCKS + 1),
                () -> PlanRequest.of(List.of(id(1), id(1)), 1), () -> PlanRequest.of(List.of(id(1)), 0),
                () -> request(1).withOutput(-1), () -> request(1).withComputeNs(0),
                () -> PlanRequest.of(List.of(id(1), id(2), id(3), id(4)), 1L << 61),
                () -> PlanRequest.of(List.of(id(1)), 1L << 40).withOutput(Integer.MAX_VALUE),
                () -> new PlacementPlan(null, A,
                        Collections.nCopies(PlacementPlan.MAX_STEPS + 1,
                                new Step(Action.RELEASE, A, 0, 1, List.of()))),
                () -> new PlacementPlan(null, A, List.of(new Step(Action.DECODE, A, 0, 1, List.of(0)))),
                () -> new PlacementPlan(null, A, List.of(new Step(Action.DECODE, A, 1, 1, List.of()))))) {
            assertEquals(Kind.INVALID_ARGUMENT, assertThrows(MooncakeException.class, wrong::run).kind());
        }
    }

    /** However long a caller, or a node that measured, says that something takes. */
    @Test
    void shouldNotTakeWhatTakesLongestForWhatTakesNoTime() {
        PlanRequest slow = request(40).withComputeNs(Long.MAX_VALUE);
        assertPlan("b", "a", plan(slow, View.of(member(A, 100, 100, 3), member(B, 100, 60, 0))));
        View far = View.of(member(A, 100, 100, 0), member(B, 100, 90, 0), member(C, 100, 60, 0)).with(A, 0, 40);
        far.figures().add(figure(B, A, Long.MAX_VALUE));
        assertPlan("a", "c", plan(request(41), far));
    }

    private static PairFigures figure(NodeId reader, NodeId holder, long ns) {
        return new PairFigures(reader, holder, Hop.FAR, List.of(new Figure("tcp", Long.MAX_VALUE, ns, BYTES)));
    }

    // ---- what, for any view

    @Test
    void anyPlanCanBeCarriedOutAndTheSameViewHasTheSamePlan() {
        Random random = new Random(7);
        int split = 0;
        for (int round = 0; round < 3_000; round++) {
            String told = "round " + round;
            int blocks = 1 + random.nextInt(60);
            View view = anyView(random, blocks);
            PlanRequest request = request(blocks).withOutput(random.nextInt(4))
                    .withComputeNs(1 + random.nextInt(20_000_000));
            PlacementPlan plan = plan(request, view);
            assertEquals(plan, plan(request, view), told);
            List<Member> shuffled = new ArrayList<>(view.members);
            Collections.shuffle(shuffled, random);
            assertEquals(plan, plan(request, new View(shuffled, view.devices, view.cached, view.figures)), told);
            assertTrue(view.members.stream().anyMatch(member -> member.node().equals(plan.decode())), told);
            NodeId prefill = plan.prefill();
            if (prefill != null && view.members.size() > 1) {
                assertNotEquals(prefill, plan.decode(), told);
                split++;
            }
            new Rehearsal(plan, view, blocks).run(told);
        }
        assertTrue(split > 1_000, "split " + split);
    }

    private static View anyView(Random random, int blocks) {
        List<Member> members = new ArrayList<>();
        for (int i = 0; i <= random.nextInt(6); i++) {
            int size = 64 + random.nextInt(100);
            members.add(member(node("n" + i), size, random.nextInt(size), random.nextInt(30)));
        }
        View view = new View(members, List.of(), new HashMap<>(), new ArrayList<>());
        for (Member member : members) {
            view.with(member.node(), 0, random.nextInt(2) * random.nextInt(blocks + 1));
            for (Member other : members) {
                view.figures.add(new PairFigures(member.node(), other.node(), Hop.FAR,
                        List.of(new Figure("tcp", 1 << 20, 1 + random.nextInt(5_000_000), BYTES))));
            }
        }
        view.cached.computeIfAbsent(id(0), key -> new ArrayList<>()).add(ref(0, node("stranger"), 1));
        return view;
    }

    /** Does the steps in some order that the graph allows, and looks what is where. */
    private static final class Rehearsal {
        private final PlacementPlan plan;
        private final Map<NodeId, Set<Integer>> there = new HashMap<>();
        private final Map<NodeId, Set<Integer>> computed = new HashMap<>();
        private final Set<NodeId> reserved = new HashSet<>();
        private final Set<NodeId> released = new HashSet<>();
        private final List<String> reservedInTurn = new ArrayList<>();
        private final int blocks;

        Rehearsal(PlacementPlan plan, View view, int blocks) {
            this.plan = plan;
            this.blocks = blocks;
            for (int i = 0; i < blocks; i++) {
                for (BlockRef ref : view.holders(id(i))) {
                    there.computeIfAbsent(ref.node(), key -> new HashSet<>()).add(i);
                }
            }
        }

        void run(String told) {
            Set<Integer> done = new HashSet<>();
            Random random = new Random(plan.hashCode());
            while (done.size() < plan.steps().size()) {
                List<Integer> ready = IntStream.range(0, plan.steps().size())
                        .filter(i -> !done.contains(i) && done.containsAll(plan.steps().get(i).after()))
                        .boxed()
                        .toList();
                int next = ready.get(random.nextInt(ready.size()));
                act(plan.steps().get(next), told + " step " + next + " of " + plan);
                done.add(next);
            }
            assertEquals(reserved, released, told);
            assertEquals(reservedInTurn.stream().sorted().toList(), reservedInTurn, told);
        }

        private Set<Integer> at(NodeId node) {
            return there.computeIfAbsent(node, key -> new HashSet<>());
        }

        private void act(Step step, String told) {
            List<Integer> range = IntStream.range(step.from(), step.until()).boxed().toList();
            NodeId node = step.node();
            assertTrue(step.action() == Action.RESERVE || reserved.contains(node), told);
            assertFalse(released.contains(node), told);
            switch (step.action()) {
                case RESERVE -> {
                    assertEquals(blocks, range.size(), told);
                    assertTrue(reserved.add(node), told);
                    reservedInTurn.add(node.name());
                }
                case TRANSFER -> {
                    for (int block : range) {
                        assertTrue(there.values().stream().anyMatch(has -> has.contains(block)), told);
                    }
                    at(node).addAll(range);
                }
                case PREFILL -> {
                    for (int block = 0; block < step.from(); block++) {
                        assertTrue(at(node).contains(block) || computed.getOrDefault(node, Set.of()).contains(block),
                                told);
                    }
                    computed.computeIfAbsent(node, key -> new HashSet<>()).addAll(range);
                }
                case SEAL -> {
                    assertTrue(Objects.requireNonNull(computed.get(node)).containsAll(range), told);
                    at(node).addAll(range);
                }
                case DECODE -> {
                    assertEquals(plan.decode(), node, told);
                    assertEquals(blocks, at(node).size(), told);
                }
                case RELEASE -> released.add(node);
            }
        }
    }
}
