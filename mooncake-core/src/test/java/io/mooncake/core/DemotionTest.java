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
import io.mooncake.core.pool.MemorySource;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Priority;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A node that one thread runs, on a clock that goes on at every look, whose file is in the way. */
@Timeout(120)
final class DemotionTest {
    private static final Duration AN_HOUR = Duration.ofHours(1);
    private static final int MEMORY_SLOTS = 8;
    private static final int FILE_SLOTS = 4;

    @TempDir
    @SuppressWarnings("NullAway.Init") // by JUnit
    Path directory;

    private final AtomicLong nowNs = new AtomicLong();
    private final TestNodes nodes = new TestNodes();
    private final List<Hold> holds = new ArrayList<>();

    @AfterEach
    void close() {
        holds.forEach(Hold::close);
        nodes.close();
    }

    private Node start(UnaryOperator<NodeConfigBuilder> settings) {
        return nodes.start("a", builder -> settings.apply(builder.threading(ThreadingMode.INVOKER)
                .nanoClock(() -> nowNs.addAndGet(100_000))
                .sharedMemory(NodeConfig.SHARED_MEMORY_OFF)
                .evictionPolicy("lru")
                .allocateTimeout(Duration.ofMillis(200))
                .poolSize(MEMORY_SLOTS * BLOCK)
                .fileTier(directory, FILE_SLOTS * BLOCK)));
    }

    private static void write(Node node, String name) {
        TestNodes.write(node, BlockId.of(name), BLOCK, name.hashCode());
    }

    private static boolean isInMemory(Node node, String name) {
        try (BlockView view = node.store().newView()) {
            return node.store().acquire(BlockId.of(name), view);
        }
    }

    /** It stays in memory. */
    private static void makeDurable(Node node, String name) {
        assertEquals(Outcome.OK, node.store().read(Piece.replica(BlockId.of(name), Tier.SLOW)));
    }

    private void holdInFile(Node node, String name) {
        Hold hold = node.mover().pin(List.of(BlockId.of(name)), Tier.SLOW, AN_HOUR);
        assertEquals(1, hold.refs().size());
        holds.add(hold);
    }

    /** So many of the file's slots are a reader's, whose block is gone: nothing can be evicted for another. */
    private void fillFile(Node node, int slots) {
        for (int i = 0; i < slots; i++) {
            String name = "gone " + i;
            write(node, name);
            makeDurable(node, name);
            holdInFile(node, name);
            assertEquals(1, node.store().evict(List.of(BlockId.of(name))));
            TestNodes.announced(node);
        }
    }

    @Test
    void shouldEvictWhatNeedsNoDemotionWhereDemotionsHang() {
        Node node = start(builder -> builder);
        fillFile(node, FILE_SLOTS - 1);
        for (int i = 0; i < MEMORY_SLOTS - 2; i++) {
            write(node, "dirty " + i);
        }
        write(node, "durable");
        makeDurable(node, "durable");
        holdInFile(node, "durable");
        // One too many: the oldest is to go down, where there is no room.
        write(node, "more");
        assertEquals(0, node.usage().free());
        write(node, "waited for");
        assertTrue(isInMemory(node, "waited for"));
        assertFalse(isInMemory(node, "durable"));
        assertTrue(IntStream.range(0, MEMORY_SLOTS - 2).allMatch(i -> isInMemory(node, "dirty " + i)));
        assertEquals(0, node.counters().get(Counter.DEMOTIONS_FAILED));
    }

    @Test
    void shouldLoseTheOldestAndNoWriteWhereNothingElseMakesRoom() {
        Node node = start(builder -> builder);
        fillFile(node, FILE_SLOTS);
        for (int i = 0; i < 3 * MEMORY_SLOTS; i++) {
            write(node, "dirty " + i);
        }
        assertTrue(isInMemory(node, "dirty " + (3 * MEMORY_SLOTS - 1)));
        assertFalse(isInMemory(node, "dirty 0"));
        assertTrue(node.counters().get(Counter.DEMOTIONS_FAILED) >= 2 * MEMORY_SLOTS);
        assertEquals(0, node.counters().get(Counter.BLOCKS_DEMOTED) - FILE_SLOTS);
    }

    @Test
    void shouldNotDemoteBehindAllThatIsPrefetched() {
        Node node = start(builder -> builder.poolSize(16 * BLOCK).fileTier(directory, 64 * BLOCK));
        List<BlockId> ids = IntStream.range(0, 12).mapToObj(i -> BlockId.of("cold " + i)).toList();
        IntStream.range(0, 12).forEach(i -> write(node, "cold " + i));
        node.mover().demote(ids, TransferOptions.DEFAULT).join();
        while (node.usage().used() > 0) {
            node.doWork();
        }
        write(node, "down");
        Transfer ahead = node.mover().prefetch(ids);
        Transfer down = node.mover()
                .demote(List.of(BlockId.of("down")), TransferOptions.DEFAULT.withPriority(Priority.BACKGROUND));
        while (!down.isDone()) {
            node.doWork();
        }
        assertEquals(Outcome.OK, down.outcome(0));
        long waiting = IntStream.range(0, 12).filter(i -> ahead.outcome(i) == Outcome.PENDING).count();
        assertTrue(waiting > 6, waiting + " of 12 wait still");
        ahead.join();
        assertEquals(Transfer.State.COMPLETED, ahead.state());
    }

    @Test
    void shouldReadTheGoodCopyOfADamagedOneAndKeepIt() {
        MemorySource anonymous = MemorySource.anonymous();
        List<MemorySegment> pools = new ArrayList<>();
        Node node = start(builder -> builder.checksums(true).memory((bytes, alignment, arena) -> {
            pools.add(anonymous.reserve(bytes, alignment, arena));
            return pools.getLast();
        }));
        BlockRef ref = TestNodes.write(node, BlockId.of("twice"), BLOCK, 7);
        makeDurable(node, "twice");
        pools.getFirst().set(ValueLayout.JAVA_BYTE, ref.offset() + 99, (byte) 8);
        Region region = nodes.region(node, BLOCK);
        assertEquals(Outcome.OK, node.store().read(BlockId.of("twice"), 0, Piece.WHOLE, region, 0));
        assertTrue(TestNodes.isAll(TestNodes.segment(region), 0, BLOCK, 7));
        TestNodes.announced(node);
        assertFalse(isInMemory(node, "twice"));
        assertEquals(0, node.usage().used());
        assertEquals(1, node.usage(Tier.SLOW).used());
        assertTrue(node.store().locations(BlockId.of("twice")).getFirst().isInFile());
        region.close();
    }

    @Test
    void shouldKeepAGoodCopyInMemoryWhereThatInTheFileIsDamaged() {
        Node node = start(builder -> builder);
        BlockRef ref = TestNodes.write(node, BlockId.of("twice"), BLOCK, 7);
        makeDurable(node, "twice");
        Hold inFile = node.mover().pin(List.of(BlockId.of("twice")), Tier.SLOW, AN_HOUR);
        BlockRef below = inFile.refs().getFirst();
        inFile.close();
        assertTrue(below.isInFile());
        assertTrue(node.parts().blocks().drop(below));
        assertFalse(node.parts().blocks().drop(below));
        TestNodes.announced(node);
        assertTrue(isInMemory(node, "twice"));
        assertEquals(List.of(ref), node.store().locations(BlockId.of("twice")));
        assertEquals(0, node.usage(Tier.SLOW).used());
    }
}
