package io.mooncake.core;

import static io.mooncake.core.TestNodes.BLOCK;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.PoolSpace;
import io.mooncake.core.block.Tier;
import io.mooncake.core.transfer.Outcome;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Cases of membership that need no process of their own: nodes joined by JGroups, as if each were one. */
@Timeout(120)
class MembershipCasesTest extends JoinedNodes {
    private static final Duration HEARTBEAT = Duration.ofMillis(500);
    private static final int MISSES = 4;

    MembershipCasesTest() {
        super("membership-cases", 3, HEARTBEAT, MISSES);
    }

    private Node start(String name, int place, UnaryOperator<NodeConfigBuilder> settings) {
        return start(name, list.get(place), settings);
    }

    private Node start(String name, int place) {
        return start(name, place, builder -> builder);
    }

    /** Three times as long as silence may last; what passes meanwhile is real time, so nothing can be waited for instead. */
    private static void letPass(Duration time) {
        long endNs = System.nanoTime() + time.toNanos();
        assertFalse(new Waits(System::nanoTime).await(() -> false, endNs));
    }

    @Test
    void C31_heartbeatsAreNotStarvedByDataWork() {
        Node a = start("a", 0);
        CountDownLatch go = new CountDownLatch(1);
        List<ManualEngine> engines = new ArrayList<>();
        // All agents of the node share the thread that its engine stops.
        Node busy = start("busy", 1, builder -> builder.addEngine(context -> {
            ManualEngine engine = new ManualEngine(context);
            engines.add(engine);
            return engine;
        }));
        awaitMembers(2, a, busy);
        BlockId id = BlockId.of("x");
        BlockRef ref = TestNodes.write(busy, id, BLOCK, 1);
        assertTrue(TestWaits.until(() -> a.store().locations(id).equals(List.of(ref))));
        List<NodeEvent> events = Collections.synchronizedList(new ArrayList<>());
        a.nodeEvents(events::add);
        CountDownLatch stopped = new CountDownLatch(1);
        engines.getFirst().onWork = () -> {
            stopped.countDown();
            await(go);
        };
        await(stopped);
        try {
            letPass(HEARTBEAT.multipliedBy(3L * MISSES));
            assertEquals(List.of(), events, "nothing happened to it");
            assertEquals(List.of(ref), a.store().locations(id), "no block disappears");
        } finally {
            engines.getFirst().onWork = () -> {};
            go.countDown();
        }
        assertEquals(Outcome.OK, read(a, id, 1));
        assertEquals(List.of(), events);
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }

    @Test
    void C37_whoStartsAfterEverybodyWasAloneFindsEverything() {
        Node a = start("a", 0);
        BlockId ofA = BlockId.of("of a");
        TestNodes.write(a, ofA, BLOCK, 1);
        Node b = start("b", 1);
        awaitMembers(2, a, b);
        BlockId ofB = BlockId.of("of b");
        TestNodes.write(b, ofB, BLOCK, 2);
        assertTrue(TestWaits.until(() -> a.store().locations(ofB).size() == 1));
        // The one whom the other joined is gone, with all that it knew: there is no registry that could be empty now.
        a.close();
        awaitMembers(1, b);
        Node c = start("c", 2);
        awaitMembers(2, b, c);
        assertTrue(TestWaits.until(() -> c.store().locations(ofB).size() == 1), "the owner tells it");
        assertEquals(Outcome.OK, read(c, ofB, 2));
        assertEquals(List.of(), c.store().locations(ofA));
        Node again = start("a", 0);
        awaitMembers(3, b, c, again);
        assertTrue(TestWaits.until(() -> again.store().locations(ofB).size() == 1));
    }

    @Test
    void C45_localWorkGoesOnWithoutTheOthers() {
        // Two that it knows by address are not there: nobody answers at the start, and nobody afterwards.
        Node a = start("a", 0);
        assertEquals(NodeHealth.State.DEGRADED, a.health().state());
        assertTrue(a.health().troubles().toString().contains("alone"), () -> a.health().toString());
        BlockId id = BlockId.of("local");
        TestNodes.write(a, id, BLOCK, 3);
        assertEquals(Outcome.OK, read(a, id, 3));
        assertEquals(Outcome.ABSENT, read(a, BlockId.of("elsewhere"), 0), "what nobody is known to have ends at once");
        Node b = start("b", 1);
        awaitMembers(2, a, b);
        BlockId cached = BlockId.of("of b");
        BlockRef ref = TestNodes.write(b, cached, BLOCK, 4);
        assertTrue(TestWaits.until(() -> a.store().locations(cached).equals(List.of(ref))));
        b.close();
        awaitMembers(1, a);
        try (BlockView view = a.store().newView()) {
            assertTrue(a.store().acquire(id, view));
            assertTrue(TestNodes.isAll(view.segment(), 0, BLOCK, 3));
        }
        assertEquals(Outcome.ABSENT, read(a, cached, 4));
    }

    @Test
    void C121_aPoolIsCountedOnceHoweverOftenItsNodeJoins() {
        Node a = start("a", 0);
        for (int life = 1; life <= 3; life++) {
            Node b = start("b", 1, builder -> builder.poolSize(10 * BLOCK).spareSlots(1));
            awaitMembers(2, a, b);
            int capacity = b.config().pool().slots() - b.config().pool().spareSlots();
            assertEquals(10, b.usage().capacity(), "life " + life);
            for (int block = 0; block < 10; block++) {
                TestNodes.write(b, BlockId.of("block " + block), BLOCK, block);
            }
            assertTrue(TestWaits.until(() -> b.usage().used() == capacity), () -> b.usage().toString());
            assertEquals(10 - capacity, b.counters().get(Counter.EVICTIONS_POLICY),
                    "it begins at the same block in life " + life);
            assertTrue(TestWaits.until(() -> known(a) == capacity), () -> "blocks known elsewhere: " + known(a));
            NodeId there = b.id();
            PoolSpace full = new PoolSpace(Tier.DRAM, -1, 10 * BLOCK, (10 - capacity) * BLOCK, capacity * BLOCK);
            assertTrue(TestWaits.until(() -> a.space(there).equals(List.of(full))), () -> a.space(there).toString());
            b.close();
            awaitMembers(1, a);
            assertEquals(0, known(a), "what a life had is forgotten with it");
            assertEquals(List.of(), a.space(there));
        }
    }

    private static long known(Node node) {
        long known = 0;
        for (int block = 0; block < 10; block++) {
            known += node.store().locations(BlockId.of("block " + block)).size();
        }
        return known;
    }
}
