package io.mooncake.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Memory;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.FreeRanges;
import io.mooncake.core.block.Tier;
import io.mooncake.core.sim.HostTier;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A node with a pool above its host memory whose blocks take as many bytes as they need: what is free there is kept together. */
@Timeout(120)
final class VramCompactionTest {
    private static final int MIB = 1 << 20;
    private static final Duration LONG = TestNodes.LONG;

    private final TestNodes nodes = new TestNodes();

    @AfterEach
    void close() {
        nodes.close();
    }

    /** Eight MiB above, of blocks of up to two. */
    private Node start() {
        return nodes.start("a", builder -> builder.blockSize(2 * MIB)
                .poolSize(64L * MIB)
                .vram(() -> HostTier.ofRanges(Tier.VRAM, 64, 8L * MIB, 2 * MIB)));
    }

    private static BlockId id(int number) {
        return BlockId.of("block " + number);
    }

    private static List<BlockId> ids(int... numbers) {
        return IntStream.of(numbers).mapToObj(VramCompactionTest::id).toList();
    }

    private void write(Node node, int number, int bytes) {
        try (BlockWriter writer = node.store().allocate(id(number), bytes, Placement.VRAM)) {
            writer.write(0, Memory.of(nodes.memory(bytes).fill((byte) number)));
            writer.commit();
        }
        TestNodes.announced(node);
    }

    private static void assertInVram(Node node, int number) {
        try (BlockView view = node.store().newView()) {
            assertTrue(node.store().acquire(id(number), view), () -> "block " + number + " is gone");
            assertEquals(Tier.VRAM, view.tier());
            assertTrue(TestNodes.isAll(view.segment(), 0, view.length(), number), () -> "block " + number);
        }
    }

    /** Eight blocks of a MiB, and every second one gone. */
    private Node startFragmented() {
        Node node = start();
        for (int i = 0; i < 8; i++) {
            write(node, i, MIB);
        }
        assertEquals(4, node.store().evict(ids(0, 2, 4, 6)));
        TestNodes.announced(node);
        return node;
    }

    @Test
    void shouldMakeOneRangeOfWhatIsFree() {
        Node node = startFragmented();
        CompactionTest.assertFree(new FreeRanges(4L * MIB, 4L * MIB, false), node, Tier.VRAM);
        assertTrue(node.counters().get(Counter.BLOCKS_COMPACTED) > 0);
        for (int number : new int[]{1, 3, 5, 7}) {
            assertInVram(node, number);
        }
        assertTrue(node.store().describe().contains("longest range 4.00 MiB"), () -> node.store().describe());
        assertEquals(new FreeRanges(0, 0, false), node.mover().compact(LONG), "host memory is in slots");
    }

    @Test
    void shouldDoSoInAnIdleWindowUnasked() {
        Node node = startFragmented();
        assertTrue(TestWaits.until(() -> node.freeRanges(Tier.VRAM).equals(new FreeRanges(4L * MIB, 4L * MIB, false))),
                () -> node.store().describe());
    }

    @Test
    void shouldMakeRoomForALongBlockAndBringNothingDown() {
        Node node = startFragmented();
        write(node, 8, 2 * MIB);
        write(node, 9, 2 * MIB);
        for (int number : new int[]{1, 3, 5, 7, 8, 9}) {
            assertInVram(node, number);
        }
        assertEquals(0, node.counters().get(Counter.BLOCKS_DEMOTED));
        assertEquals(0, node.counters().get(Counter.EVICTIONS_POLICY));
    }

    @Test
    void shouldBringDownWhatHasNoRoomAndKeepToItsBytes() {
        Node node = start();
        for (int i = 0; i < 30; i++) {
            write(node, i, MIB + i % 5 * MIB / 5);
        }
        assertInVram(node, 29);
        Region region = nodes.region(node, 2 * MIB);
        for (int i = 0; i < 30; i++) {
            assertEquals(Outcome.OK, node.store().read(id(i), 0, Piece.WHOLE, region, 0), "block " + i);
            assertTrue(TestNodes.isAll(TestNodes.segment(region), 0, MIB + i % 5 * MIB / 5, i), "block " + i);
        }
        region.close();
        assertEquals(0, node.counters().get(Counter.DEMOTIONS_FAILED));
    }

    /** Others are told of the one in host memory, whatever moves above it. */
    @Test
    void shouldTellOthersOnlyOfWhatTheyRead() {
        Node node = start();
        Node reader = nodes.start("b");
        for (int i = 0; i < 4; i++) {
            write(node, i, MIB);
        }
        node.mover().promote(ids(3), Tier.DRAM, TransferOptions.DEFAULT).join();
        TestNodes.announced(node);
        BlockRef inMemory = reader.store().locations(id(3)).getFirst();
        BlockRef onDevice = reader.store().locations(id(2)).getFirst();
        assertEquals(List.of(Tier.DRAM, Tier.VRAM), List.of(inMemory.tier(), onDevice.tier()));
        node.store().evict(ids(0, 1));
        CompactionTest.assertLongest(6L * MIB, node, Tier.VRAM);
        TestNodes.announced(node);
        assertEquals(2, node.counters().get(Counter.BLOCKS_COMPACTED));
        assertEquals(List.of(inMemory), reader.store().locations(id(3)));
        List<BlockRef> moved = reader.store().locations(id(2));
        assertEquals(1, moved.size());
        assertNotEquals(onDevice, moved.getFirst());
        assertEquals(Tier.VRAM, moved.getFirst().tier());
        Region region = nodes.region(reader, 2 * MIB);
        for (BlockRef before : List.of(inMemory, onDevice)) {
            assertEquals(Outcome.OK, reader.store().read(before, region, 0));
        }
        region.close();
        assertInVram(node, 3);
    }
}
