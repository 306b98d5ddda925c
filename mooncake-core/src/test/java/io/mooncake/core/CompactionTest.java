package io.mooncake.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.FreeRanges;
import io.mooncake.core.block.Hold;
import io.mooncake.core.block.Tier;
import io.mooncake.core.transfer.GuardSource;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A node whose blocks take as many bytes as they need: what is free is kept together. */
@Timeout(120)
final class CompactionTest {
    private static final int MIB = 1 << 20;
    private static final Duration LONG = TestNodes.LONG;

    private final TestNodes nodes = new TestNodes();

    @AfterEach
    void close() {
        nodes.close();
    }

    private Node start(String name, UnaryOperator<NodeConfigBuilder> settings) {
        return nodes.start(name, builder -> settings.apply(builder.blockSize(2 * MIB)
                .leastBlock(MIB / 4)
                .poolSize(64L * MIB)
                .sharedMemory(NodeConfig.SHARED_MEMORY_OFF)));
    }

    private static BlockId id(int number) {
        return BlockId.of("block " + number);
    }

    private static void write(Node node, int number, long bytes) {
        TestNodes.write(node, id(number), bytes, number);
    }

    private void assertReadable(Node node, int number) {
        try (BlockView view = node.store().newView()) {
            assertTrue(node.store().acquire(id(number), view), () -> "block " + number + " is gone");
            assertTrue(TestNodes.isAll(view.segment(), 0, view.segment().byteSize(), number),
                    () -> "block " + number + " has wrong bytes");
        }
    }

    /** 64 blocks of a MiB, and every second one gone. */
    private void fragment(Node node) {
        for (int i = 0; i < 64; i++) {
            write(node, i, MIB);
        }
        assertEquals(0, node.parts().blocks().freeRanges(Tier.DRAM).bytes());
        assertEquals(32, node.store().evict(IntStream.range(0, 32).mapToObj(i -> id(2 * i)).toList()));
        TestNodes.announced(node);
    }

    @Test
    void C58_shouldMakeOneHoleOfMany() {
        Node node = start("a", builder -> builder);
        fragment(node);
        // Finds no range and has one made; while it is written it may stand in the way of others.
        write(node, 100, 2 * MIB);
        assertFree(new FreeRanges(30L * MIB, 30L * MIB, false), node, Tier.DRAM);
        List<BlockWriter> writers = new ArrayList<>();
        for (int i = 1; i < 16; i++) {
            writers.add(node.store().allocate(id(100 + i), 2 * MIB));
        }
        assertEquals(0, node.parts().blocks().freeRanges(Tier.DRAM).bytes());
        assertReadable(node, 100);
        for (int i = 0; i < 32; i++) {
            assertReadable(node, 2 * i + 1);
        }
        assertEquals(0, node.counters().get(Counter.EVICTIONS_POLICY));
        assertTrue(node.counters().get(Counter.BLOCKS_COMPACTED) > 0);
        writers.forEach(BlockWriter::close);
    }

    @Test
    void C58_shouldNameTheReasonWhereNothingCanBeMoved() {
        Node node = start("a", builder -> builder.allocateTimeout(Duration.ofMillis(300)));
        fragment(node);
        try (Hold hold = node.mover()
                .pin(IntStream.range(0, 32).mapToObj(i -> id(2 * i + 1)).toList(), Tier.DRAM, LONG)) {
            assertEquals(32, hold.refs().size());
            assertFree(new FreeRanges(32L * MIB, MIB, false), node, Tier.DRAM);
            MooncakeException refused = assertThrows(MooncakeException.class,
                    () -> node.store().allocate(id(100), 2 * MIB));
            assertEquals(Kind.OUT_OF_MEMORY, refused.kind());
            assertTrue(refused.getMessage()
                    .contains("33554432 bytes are free, fragmented: the longest range has 1048576"),
                    refused::getMessage);
        }
        // More is free if something was evicted just now for who gave up waiting.
        FreeRanges free = compacted(node, Tier.DRAM, now -> now.bytes() == now.longest());
        assertTrue(free.bytes() >= 32L * MIB, free::toString);
        assertEquals(free.bytes(), free.longest());
        node.store().allocate(id(100), 2 * MIB).close();
    }

    @Test
    void C62_shouldAlignEveryBlockAlsoAfterItWasMoved() {
        Node node = start("a", builder -> builder);
        SplittableRandom random = new SplittableRandom(62);
        for (int i = 0; i < 100; i++) {
            write(node, i, 1 + random.nextInt(MIB));
        }
        node.store().evict(IntStream.range(0, 50).mapToObj(i -> id(2 * i)).toList());
        FreeRanges free = compacted(node, Tier.DRAM, now -> now.bytes() == now.longest());
        assertEquals(free.bytes(), free.longest());
        for (int i = 0; i < 50; i++) {
            assertReadable(node, 2 * i + 1);
            try (BlockView view = node.store().newView()) {
                assertTrue(node.store().acquire(id(2 * i + 1), view));
                assertEquals(0, view.segment().address() % 4096);
            }
        }
    }

    @Test
    void shouldCompactInAnIdleWindowUnasked() {
        Node node = start("a", builder -> builder);
        fragment(node);
        assertTrue(TestWaits.until(() -> node.parts().blocks().freeRanges(Tier.DRAM).longest() == 32L * MIB),
                () -> node.store().describe());
    }

    /**
     * After runs until it is as it should be: one run leaves little holes where somebody has what is in the way for longer than it waits, as the
     * announcer may have what was just written.
     */
    private static FreeRanges compacted(Node node, Tier tier, Predicate<FreeRanges> whole) {
        FreeRanges free = node.mover().compact(tier, LONG);
        for (int runs = 1; runs < 100 && !whole.test(free); runs++) {
            free = node.mover().compact(tier, LONG);
        }
        return free;
    }

    static void assertFree(FreeRanges expected, Node node, Tier tier) {
        assertEquals(expected, compacted(node, tier, expected::equals));
    }

    static void assertLongest(long expected, Node node, Tier tier) {
        assertEquals(expected, compacted(node, tier, free -> free.longest() == expected).longest());
    }

    @Test
    void shouldMoveWhatIsBehindAHoleThatIsTooShortForItByWayOfScratch() {
        Node node = start("a", builder -> builder);
        write(node, 0, MIB);
        write(node, 1, MIB / 2);
        write(node, 2, 2 * MIB);
        write(node, 3, MIB);
        node.store().evict(List.of(id(1)));
        assertFree(new FreeRanges(60L * MIB, 60L * MIB, false), node, Tier.DRAM);
        IntStream.of(0, 2, 3).forEach(number -> assertReadable(node, number));
    }

    @Test
    void shouldSayThatThereIsNoScratch() {
        Node node = start("a", builder -> builder.poolSize(4L * MIB).blockSize(2 * MIB));
        write(node, 0, 3 * MIB / 2);
        write(node, 1, MIB / 2);
        write(node, 2, 3 * MIB / 2);
        node.store().evict(List.of(id(1)));
        TestNodes.announced(node);
        assertFree(new FreeRanges(MIB, MIB / 2, true), node, Tier.DRAM);
        assertTrue(node.store().describe().contains("no scratch space"), () -> node.store().describe());
        // Who needs the room has something evicted.
        write(node, 3, MIB);
        assertReadable(node, 3);
    }

    private static long checksum(Node node, BlockRef ref) {
        GuardSource guards = node.parts().blocks().guards();
        long pin = guards.pin(ref.region(), ref.guardOffset(), ref.guard(), ref.offset(), ref.length());
        assertTrue(pin >= 0, ref::toString);
        try {
            return guards.checksum(pin, ref.offset(), ref.length());
        } finally {
            guards.unpin(pin);
        }
    }

    @Test
    void shouldTellOthersWhereABlockIsAndNobodyThatItIsGone() {
        Node node = start("a", builder -> builder.checksums(true));
        Node reader = start("b", builder -> builder);
        List<BlockId> events = Collections.synchronizedList(new ArrayList<>());
        write(node, 0, MIB);
        write(node, 1, MIB);
        BlockRef before = reader.store().locations(id(1)).getFirst();
        node.store().evict(List.of(id(0)));
        TestNodes.announced(node);
        Region region = nodes.region(reader, MIB);
        try (BlockStore.Subscription _ = node.store().events(event -> events.add(event.ref().id()))) {
            assertLongest(63L * MIB, node, Tier.DRAM);
            write(node, 2, MIB);
            assertTrue(TestWaits.until(() -> !events.isEmpty()));
        }
        assertEquals(List.of(id(2)), events);
        List<BlockRef> now = reader.store().locations(id(1));
        assertEquals(1, now.size());
        assertEquals(0, now.getFirst().offset());
        assertNotEquals(before, now.getFirst());
        assertEquals(before.version(), now.getFirst().version());
        assertNotEquals(GuardSource.NO_CHECKSUM, checksum(node, now.getFirst()), "its checksum goes with it");
        // By what was true a moment ago: stale, looked up again, and found.
        assertEquals(Outcome.OK, reader.store().read(before, region, 0));
        assertTrue(TestNodes.isAll(TestNodes.segment(region), 0, MIB, 1));
        assertEquals(1, node.counters().get(Counter.BLOCKS_COMPACTED));
        assertEquals(MIB, node.counters().get(Counter.BYTES_COMPACTED));
        assertEquals(2, node.usage().used());
        region.close();
    }

    @Test
    void shouldLeaveWhatIsInUseWhereItIs() {
        Node node = start("a", builder -> builder);
        for (int i = 0; i < 4; i++) {
            write(node, i, MIB);
        }
        node.store().evict(List.of(id(0)));
        TestNodes.announced(node);
        try (BlockView view = node.store().newView()) {
            assertTrue(node.store().acquire(id(3), view));
            BlockRef held = node.store().locations(id(2)).getFirst();
            try (Hold hold = node.store().hold(List.of(held), LONG)) {
                assertEquals(1, hold.refs().size());
                assertLongest(60L * MIB, node, Tier.DRAM);
                assertEquals(List.of(held), node.store().locations(id(2)));
                assertEquals(0, node.store().locations(id(1)).getFirst().offset());
                assertTrue(TestNodes.isAll(view.segment(), 0, MIB, 3));
            }
        }
        assertLongest(61L * MIB, node, Tier.DRAM);
    }

    @Test
    void shouldTakeAlongThatABlockIsDurable(@TempDir Path directory) {
        Node node = start("a", builder -> builder.fileTier(directory, 64L * MIB));
        write(node, 0, MIB);
        write(node, 1, MIB);
        assertEquals(Outcome.OK, node.store().read(Piece.replica(id(1), Tier.SLOW)));
        node.store().evict(List.of(id(0)));
        assertLongest(63L * MIB, node, Tier.DRAM);
        assertEquals(1, node.counters().get(Counter.BLOCKS_COMPACTED));
        assertReadable(node, 1);
        long demoted = node.counters().get(Counter.BLOCKS_DEMOTED);
        node.mover().demote(List.of(id(1)), TransferOptions.DEFAULT).join();
        assertEquals(demoted, node.counters().get(Counter.BLOCKS_DEMOTED));
        assertTrue(TestWaits.until(() -> node.usage().used() == 0));
        Region region = nodes.region(node, MIB);
        assertEquals(Outcome.OK, node.store().read(id(1), 0, Piece.WHOLE, region, 0));
        assertTrue(TestNodes.isAll(TestNodes.segment(region), 0, MIB, 1));
        region.close();
        node.store().evict(List.of(id(1)));
        TestNodes.announced(node);
        assertEquals(0, node.usage(Tier.SLOW).used());
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2})
    void C59_shouldNeverGiveWrongBytesWhileItMovesThem(long seed) throws InterruptedException {
        readWhileMoving(seed, 25);
    }

    @Test
    @Tag("full")
    void C59_shouldNeverGiveWrongBytesWhileItMovesThemInFull() throws InterruptedException {
        readWhileMoving(3, 600);
    }

    private void readWhileMoving(long seed, int rounds) throws InterruptedException {
        Node node = start("a", builder -> builder.checksums(seed % 2 == 0));
        Node reader = start("b", builder -> builder);
        SplittableRandom random = new SplittableRandom(seed);
        int blocks = 40;
        AtomicBoolean over = new AtomicBoolean();
        AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
        AtomicInteger reads = new AtomicInteger();
        IntStream.range(0, blocks).forEach(i -> write(node, i, MIB));
        List<Thread> threads = List.of(
                Thread.ofPlatform().start(() -> untilOver(over, failure, () -> readThere(node, blocks, reads))),
                Thread.ofPlatform()
                        .start(() -> untilOver(over, failure, () -> readFromElsewhere(reader, blocks, reads))));
        try (BlockView leased = node.store().newView()) {
            assertTrue(node.store().acquire(id(7), leased));
            long address = leased.segment().address();
            for (int round = 0; round < rounds && failure.get() == null; round++) {
                for (int i = 0; i < 6; i++) {
                    int victim = random.nextInt(blocks);
                    if (victim != 7) {
                        node.store().evict(List.of(id(victim)));
                        write(node, victim, MIB / 4 * (1L + random.nextInt(8)));
                    }
                }
                node.mover().compact(LONG);
                assertEquals(address, leased.segment().address());
                assertTrue(TestNodes.isAll(leased.segment(), 0, MIB, 7));
            }
        }
        over.set(true);
        for (Thread thread : threads) {
            thread.join();
        }
        Throwable failed = failure.get();
        if (failed != null) {
            throw new AssertionError("seed " + seed, failed);
        }
        assertTrue(reads.get() > 0 && node.counters().get(Counter.BLOCKS_COMPACTED) > 0);
        // Readers pin, so now and then nothing could be moved for who waited, and something was evicted.
        if (node.counters().get(Counter.EVICTIONS_POLICY) == 0) {
            IntStream.range(0, blocks).forEach(i -> assertReadable(node, i));
        }
        FreeRanges free = compacted(node, Tier.DRAM, now -> now.bytes() == now.longest());
        assertEquals(free.bytes(), free.longest());
        assertFalse(free.needsScratch());
    }

    private static void untilOver(AtomicBoolean over, AtomicReference<@Nullable Throwable> failure, Runnable reads) {
        try {
            while (!over.get()) {
                reads.run();
            }
        } catch (Throwable e) {
            failure.compareAndSet(null, e);
        }
    }

    private static void readThere(Node node, int blocks, AtomicInteger reads) {
        for (int i = 0; i < blocks; i++) {
            try (BlockView view = node.store().newView()) {
                if (node.store().acquire(id(i), view)) {
                    assertTrue(TestNodes.isAll(view.segment(), 0, view.segment().byteSize(), i), "block " + i);
                    reads.incrementAndGet();
                }
            }
        }
    }

    private void readFromElsewhere(Node reader, int blocks, AtomicInteger reads) {
        Region region = nodes.region(reader, 2 * MIB);
        for (int i = 0; i < blocks; i++) {
            List<BlockRef> there = reader.store().locations(id(i));
            if (there.isEmpty()) {
                continue;
            }
            Outcome outcome = reader.store().read(there.getFirst(), region, 0);
            if (outcome == Outcome.OK) {
                assertTrue(TestNodes.isAll(TestNodes.segment(region), 0, there.getFirst().length(), i), "block " + i);
                reads.incrementAndGet();
            } else {
                // It was written anew meanwhile.
                assertTrue(outcome == Outcome.STALE || outcome == Outcome.ABSENT, () -> "outcome " + outcome);
            }
        }
        region.close();
    }
}
