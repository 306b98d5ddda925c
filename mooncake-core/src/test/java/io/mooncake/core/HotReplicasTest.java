package io.mooncake.core;

import static io.mooncake.core.TestNodes.BLOCK;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.Hold;
import io.mooncake.core.block.Tier;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Blocks of another node that are read often; the reading node's time is the test's. */
@Timeout(60)
final class HotReplicasTest {
    private static final int BUDGET = 2;

    @TempDir
    @SuppressWarnings("NullAway.Init") // by JUnit
    Path directory;

    private final TestNodes nodes = new TestNodes();
    private final AtomicLong nowNs = new AtomicLong(1);
    private final Node owner = nodes.start("owner");
    private final Node reader = start("reader", builder -> builder);
    private final Region region = nodes.region(reader, BLOCK);

    private Node start(String name, UnaryOperator<NodeConfigBuilder> more) {
        return nodes.start(name,
                builder -> more.apply(builder.threading(ThreadingMode.INVOKER)
                        .nanoClock(nowNs::get)
                        .evictionPolicy("lru")
                        .replicaBudget(BUDGET * BLOCK)));
    }

    @AfterEach
    void close() {
        region.close();
        nodes.close();
    }

    private static BlockId id(int number) {
        return BlockId.of("k" + number);
    }

    private void write(int count) {
        for (int i = 0; i < count; i++) {
            TestNodes.write(owner, id(i), BLOCK, i);
        }
    }

    private void read(int number, int times) {
        for (int i = 0; i < times; i++) {
            read(reader, region, number, 0, Piece.WHOLE);
        }
    }

    private void read(Node by, Region into, int number, long offset, long length) {
        assertEquals(Outcome.OK, by.store().read(id(number), offset, length, into, 0));
        settle(by);
    }

    /** Until nothing more happens, and all that is coming has come. */
    private static void settle(Node node) {
        assertTrue(TestWaits.until(() -> {
            int work = 0;
            for (int i = 0; i < 100; i++) {
                work += node.doWork();
            }
            return work == 0 && node.counters().get(Counter.HOT_REPLICAS) == node.counters()
                    .get(Counter.BLOCKS_REPLICATED);
        }), () -> node.store().describe());
    }

    private boolean isHere(int number) {
        return reader.parts().blocks().find(id(number)) != null;
    }

    private static List<Tier> tiers(Node node, int number) {
        return node.parts().blocks().copies(id(number)).stream().map(BlockRef::tier).toList();
    }

    /** Blocks that are nowhere else; 15 are kept. */
    private static void fill(Node node, int from, int until) {
        for (int i = from; i < until; i++) {
            TestNodes.write(node, BlockId.of("own " + i), BLOCK, i);
        }
        settle(node);
    }

    private void use(int number) {
        try (BlockView view = reader.store().newView()) {
            assertTrue(reader.store().acquire(id(number), view));
        }
    }

    private void passWindow() {
        nowNs.addAndGet(HotReplicas.WINDOW_NS + 1);
        settle(reader);
    }

    @Test
    void shouldBringWhatIsReadOften() {
        write(1);
        read(0, HotReplicas.READS - 1);
        assertFalse(isHere(0));
        read(0, 1);
        assertTrue(isHere(0));
        assertEquals(1, reader.counters().get(Counter.HOT_REPLICAS));
        assertEquals(2, reader.store().locations(id(0)).size());
        long pulled = reader.counters().get(Counter.BYTES_PULLED);
        read(0, 5);
        assertEquals(pulled, reader.counters().get(Counter.BYTES_PULLED), "it is read here now");
    }

    @Test
    void shouldForgetWhatWasReadLongAgo() {
        write(1);
        for (int i = 0; i < 10; i++) {
            read(0, 1);
            passWindow();
        }
        assertFalse(isHere(0));
    }

    @Test
    void shouldKeepToTheBudgetAndLetTheColdestGo() {
        write(3);
        read(0, HotReplicas.READS);
        read(1, HotReplicas.READS);
        read(2, 2 * HotReplicas.READS);
        assertTrue(isHere(0) && isHere(1) && !isHere(2), "none of them is cold");
        passWindow();
        use(1);
        read(2, HotReplicas.READS);
        assertTrue(!isHere(0) && isHere(1) && isHere(2));
        passWindow();
        use(1);
        use(2);
        read(0, 2 * HotReplicas.READS);
        assertTrue(!isHere(0) && isHere(1) && isHere(2));
    }

    @Test
    void shouldCountWhatIsReadInPiecesByItsBytes() {
        write(2);
        for (int i = 0; i < 2 * HotReplicas.READS - 1; i++) {
            read(reader, region, 0, i % 2 * BLOCK / 2, BLOCK / 2);
        }
        assertFalse(isHere(0), "two and a half times its bytes");
        read(reader, region, 0, BLOCK / 2, BLOCK / 2);
        assertTrue(isHere(0));
        for (int i = 0; i < 20; i++) {
            read(reader, region, 1, 7, 100);
        }
        assertFalse(isHere(1));
    }

    @Test
    void shouldLetAColdCopyGoBeforeWhatIsNowhereElse() {
        write(1);
        fill(reader, 0, 12);
        nowNs.incrementAndGet();
        read(0, HotReplicas.READS);
        assertTrue(isHere(0));
        passWindow();
        fill(reader, 12, 15);
        assertFalse(isHere(0), "it was used last of all that was there");
        assertEquals(1, reader.counters().get(Counter.EVICTIONS_POLICY));
    }

    @Test
    void shouldKeepACopyThatIsUsedAgain() {
        write(1);
        fill(reader, 0, 12);
        read(0, HotReplicas.READS);
        passWindow();
        nowNs.addAndGet(HotReplicas.WINDOW_NS / 2);
        use(0);
        nowNs.addAndGet(HotReplicas.WINDOW_NS / 2 + 1);
        settle(reader);
        fill(reader, 12, 16);
        assertTrue(isHere(0), "it was cold, and is so no more");
    }

    @Test
    void shouldLeaveWhatWasForetoldByOthers() {
        write(1);
        fill(reader, 0, 12);
        read(0, HotReplicas.READS);
        reader.store().hint(List.of(id(0)), Long.MAX_VALUE / 2);
        passWindow();
        fill(reader, 12, 16);
        assertTrue(isHere(0), "blocks of which nothing is known go before it");
    }

    @Test
    void shouldNotTakeTheRoomOfACopyThatIsPinned() {
        write(3);
        read(0, HotReplicas.READS);
        read(1, HotReplicas.READS);
        try (Hold held = reader.mover().pin(List.of(id(0)), Tier.DRAM, Duration.ofHours(1))) {
            assertEquals(1, held.refs().size());
            passWindow();
            use(1);
            read(2, HotReplicas.READS);
            assertTrue(isHere(0) && isHere(1) && !isHere(2));
        }
        passWindow();
        use(1);
        read(2, HotReplicas.READS);
        assertTrue(!isHere(0) && isHere(1) && isHere(2));
    }

    @Test
    void shouldBringNoColdCopyIntoTheFile() {
        Node filed = start("filed", builder -> builder.fileTier(directory, 32 * BLOCK));
        Region into = nodes.region(filed, BLOCK);
        write(2);
        for (int i = 0; i < HotReplicas.READS; i++) {
            read(filed, into, 0, 0, Piece.WHOLE);
            read(filed, into, 1, 0, Piece.WHOLE);
        }
        nowNs.addAndGet(HotReplicas.WINDOW_NS + 1);
        settle(filed);
        assertEquals(2, filed.counters().get(Counter.HOT_REPLICAS));
        // The owner has one of them no more, which is therefore worth being kept.
        assertEquals(1, owner.store().evict(List.of(id(1))));
        TestNodes.announced(owner);
        fill(filed, 0, 20);
        assertTrue(TestWaits.until(() -> {
            filed.doWork();
            return tiers(filed, 0).isEmpty() && tiers(filed, 1).equals(List.of(Tier.SLOW));
        }), () -> tiers(filed, 0) + ", " + tiers(filed, 1));
        into.close();
    }

    @Test
    void shouldNotDropTheOnlyOneThatIsLeft() {
        write(3);
        read(0, HotReplicas.READS);
        read(1, HotReplicas.READS);
        Node other = nodes.start("other");
        TestNodes.write(other, id(9), BLOCK, 9);
        nodes.registry.leave(owner.id());
        passWindow();
        passWindow();
        read(9, HotReplicas.READS);
        assertTrue(isHere(0) && isHere(1) && isHere(9), "they count as copies no more");
    }

    @Test
    void shouldBringNothingWithoutABudget() {
        write(1);
        Node plain = nodes.start("plain");
        Region into = nodes.region(plain, BLOCK);
        for (int i = 0; i < 4 * HotReplicas.READS; i++) {
            assertEquals(Outcome.OK, plain.store().read(id(0), 0, Piece.WHOLE, into, 0));
        }
        into.close();
        assertEquals(0, plain.counters().get(Counter.BLOCKS_REPLICATED));
    }
}
