package io.mooncake.core;

import static io.mooncake.core.TestNodes.BLOCK;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.Hold;
import io.mooncake.core.block.PoolSpace;
import io.mooncake.core.block.Tier;
import io.mooncake.core.pool.DramPool;
import io.mooncake.core.pool.MemorySource;
import io.mooncake.core.pool.SizeClass;
import io.mooncake.core.sim.HostTier;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Nodes with three tiers: 8 slots of a pool that stands in for a device's, 16 of memory, 65 of a file; one of each is spare. */
@Timeout(120)
final class VramTierTest {
    private static final TransferOptions DEFAULT = TransferOptions.DEFAULT;
    private static final int VRAM_SLOTS = 8;
    private static final int FILE_SLOTS = 65;

    @TempDir
    @SuppressWarnings("NullAway.Init") // by JUnit
    Path directory;

    private final TestNodes nodes = new TestNodes();

    @AfterEach
    void close() {
        nodes.close();
    }

    private Node start(String name) {
        return start(name, builder -> builder);
    }

    private Node start(String name, UnaryOperator<NodeConfigBuilder> more) {
        try {
            Path own = Files.createDirectories(directory.resolve(name));
            return nodes.start(name,
                    builder -> more.apply(builder.vram(() -> HostTier.of(Tier.VRAM, VRAM_SLOTS, BLOCK))
                            .fileTier(own, FILE_SLOTS * BLOCK)
                            .evictionPolicy("lru")));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static BlockId id(int number) {
        return BlockId.of("k" + number);
    }

    private static List<BlockId> ids(int from, int until) {
        return IntStream.range(from, until).mapToObj(VramTierTest::id).toList();
    }

    private BlockRef write(Node node, int number, Placement placement) {
        try (BlockWriter writer = node.store().allocate(id(number), BLOCK, placement)) {
            writer.write(0, Memory.of(nodes.memory(BLOCK).fill((byte) number)));
            return writer.commit();
        }
    }

    private static void assertAll(Outcome outcome, Transfer transfer) {
        transfer.join();
        for (int i = 0; i < transfer.pieces(); i++) {
            assertEquals(outcome, transfer.outcome(i), "piece " + i + ": " + transfer.cause(i));
        }
    }

    private void assertReadable(Node node, int number) {
        Region region = nodes.region(node, BLOCK);
        assertEquals(Outcome.OK, node.store().read(id(number), 0, Piece.WHOLE, region, 0));
        assertTrue(TestNodes.isAll(TestNodes.segment(region), 0, BLOCK, number), "block " + number);
        region.close();
    }

    private static boolean isIn(Node node, int number, Tier tier) {
        return node.parts().blocks().copies(id(number)).stream().anyMatch(ref -> ref.tier() == tier);
    }

    private static List<Tier> tiers(Node node, int number) {
        return node.parts().blocks().copies(id(number)).stream().map(BlockRef::tier).toList();
    }

    private static void assertInVram(Node node, int number) {
        try (BlockView view = node.store().newView()) {
            assertTrue(node.store().acquire(id(number), view), () -> "block " + number + " " + tiers(node, number));
            assertEquals(Tier.VRAM, view.tier());
            assertEquals(0, view.device());
            assertTrue(view.address() != 0 && view.length() == BLOCK);
        }
    }

    @Test
    void shouldGoFromTierToTierBothWays() {
        Node a = start("a");
        write(a, 1, Placement.DRAM);
        assertAll(Outcome.OK, a.mover().promote(ids(1, 2), Tier.VRAM, DEFAULT));
        assertInVram(a, 1);
        assertEquals(List.of(Tier.VRAM, Tier.DRAM), tiers(a, 1), "where it was it stays");
        assertReadable(a, 1);
        assertAll(Outcome.OK, a.mover().demote(ids(1, 2), DEFAULT));
        assertTrue(TestWaits.until(() -> tiers(a, 1).equals(List.of(Tier.SLOW))), () -> tiers(a, 1).toString());
        assertReadable(a, 1);
        assertAll(Outcome.OK, a.mover().promote(ids(1, 2), Tier.VRAM, DEFAULT));
        assertInVram(a, 1);
        assertEquals(List.of(Tier.VRAM, Tier.DRAM, Tier.SLOW), tiers(a, 1));
        assertAll(Outcome.OK, a.mover().demote(ids(1, 2), Tier.DRAM, DEFAULT));
        assertTrue(TestWaits.until(() -> tiers(a, 1).equals(List.of(Tier.DRAM, Tier.SLOW))));
        assertReadable(a, 1);
        assertEquals(1, a.counters().get(Counter.BLOCKS_DEMOTED), "to the file, once");
        assertEquals(3, a.counters().get(Counter.BLOCKS_PROMOTED));
        assertEquals(BLOCK, a.counters().get(Counter.BYTES_DEMOTED));
        assertEquals(3 * BLOCK, a.counters().get(Counter.BYTES_PROMOTED));
    }

    @Test
    void shouldBringDownWhatIsWrittenThereAndHasNoRoom() {
        Node a = start("a");
        for (int i = 0; i < 60; i++) {
            write(a, i, Placement.VRAM);
        }
        assertInVram(a, 59);
        for (int i = 0; i < 60; i++) {
            assertReadable(a, i);
        }
        assertTrue(a.usage(Tier.VRAM).used() <= VRAM_SLOTS && a.usage(Tier.SLOW).used() > 30, a.store().describe());
        assertEquals(0, a.counters().get(Counter.DEMOTIONS_FAILED));
        String text = a.store().describe();
        assertTrue(text.contains("VRAM: 8 slots") && text.contains("DRAM: 16 slots") && text.contains("SLOW: 65 slots"),
                text);
        assertTrue(TestWaits.until(() -> a.space(a.id()).stream().map(PoolSpace::tier).distinct().count() == 3));
    }

    @Test
    void shouldCountWhatHasOneMoreTierAndNoFile() {
        Node a = nodes.start("a",
                builder -> builder.vram(() -> HostTier.of(Tier.VRAM, VRAM_SLOTS, BLOCK)).evictionPolicy("lru"));
        for (int i = 0; i < 40; i++) {
            write(a, i, Placement.VRAM);
        }
        TestNodes.announced(a);
        assertEquals(0, a.counters().get(Counter.DEMOTIONS_FAILED));
        long known = IntStream.range(0, 40).filter(i -> a.parts().blocks().find(id(i)) != null).count();
        assertTrue(known > VRAM_SLOTS && known <= VRAM_SLOTS + 16, () -> known + " " + a.store().describe());
        assertInVram(a, 39);
    }

    @Test
    void shouldKeepInItsTierWhatIsPinnedThere() {
        Node a = start("a");
        write(a, 0, Placement.VRAM);
        write(a, 1, Placement.VRAM);
        try (Hold held = a.mover().pin(ids(0, 1), Tier.VRAM, TestNodes.LONG);
                BlockView view = a.store().newView()) {
            assertEquals(1, held.refs().size());
            assertEquals(0, a.mover().pin(ids(0, 1), Tier.DRAM, TestNodes.LONG).refs().size());
            assertTrue(a.store().acquire(id(1), view));
            for (int i = 2; i < 40; i++) {
                write(a, i, Placement.VRAM);
            }
            assertTrue(isIn(a, 0, Tier.VRAM) && isIn(a, 1, Tier.VRAM) && !isIn(a, 2, Tier.VRAM));
            assertTrue(TestNodes.isAll(view.segment(), 0, BLOCK, 1));
        }
    }

    @Test
    void shouldTakeWhatOthersHaveStraightUp() {
        Node a = start("a");
        Node b = start("b");
        write(a, 1, Placement.DRAM);
        write(a, 2, Placement.VRAM);
        write(a, 3, Placement.DRAM);
        TestNodes.announced(a);
        assertAll(Outcome.OK, a.mover().demote(ids(3, 4), DEFAULT));
        assertAll(Outcome.OK, b.mover().promote(ids(1, 4), Tier.VRAM, DEFAULT));
        for (int i = 1; i < 4; i++) {
            assertInVram(b, i);
            assertEquals(List.of(Tier.VRAM, Tier.DRAM), tiers(b, i));
            assertReadable(b, i);
        }
        assertEquals(3 * BLOCK, b.counters().get(Counter.BYTES_PULLED));
        assertEquals(3 * BLOCK, b.counters().get(Counter.BYTES_PROMOTED));
    }

    @Test
    void shouldBringDownForOthersWhatIsOnTheDeviceOnly() {
        Node a = start("a");
        Node b = nodes.start("b");
        BlockRef onDevice = write(a, 1, Placement.VRAM);
        write(a, 2, Placement.VRAM);
        TestNodes.announced(a);
        assertEquals(Tier.VRAM, onDevice.tier());
        assertEquals(List.of(onDevice), b.store().locations(id(1)));
        assertTrue(b.store().explain(id(1)).contains("because it is on a device there"), b.store().explain(id(1)));
        assertReadable(b, 1);
        assertEquals(Tier.DRAM, b.store().locations(id(1)).getFirst().tier(), "it is in memory there, too, now");
        assertEquals(List.of(Tier.VRAM, Tier.DRAM), tiers(a, 1));
        // By the reference to where it was.
        Region region = nodes.region(b, BLOCK);
        assertEquals(Outcome.OK, b.store().read(onDevice, region, 0));
        region.close();
        assertAll(Outcome.OK, a.mover().replicate(ids(2, 3), b.id(), DEFAULT));
        assertEquals(List.of(Tier.DRAM), tiers(b, 2));
        assertAll(Outcome.OK, a.mover().migrate(ids(1, 2), b.id(), DEFAULT));
        assertTrue(TestWaits.until(() -> tiers(a, 1).isEmpty()), () -> tiers(a, 1).toString());
        assertReadable(a, 1);
        assertEquals(2, a.counters().get(Counter.BLOCKS_WANTED));
    }

    /** Of a block in several tiers one goes: the others stay, and so does what others are told to ask for. */
    @Test
    void shouldTellOthersWhereToAskWhicheverCopyGoes() {
        Node a = start("a");
        write(a, 1, Placement.VRAM);
        assertAll(Outcome.OK, a.store().prepare(List.of(Piece.replica(id(1), Tier.SLOW)), DEFAULT).submit());
        assertEquals(List.of(Tier.VRAM, Tier.DRAM, Tier.SLOW), tiers(a, 1));
        TestNodes.announced(a);
        BlockRef middle = a.parts().blocks().copies(id(1)).get(1);
        assertEquals(List.of(middle), a.store().locations(id(1)));
        assertTrue(a.parts().blocks().drop(middle));
        TestNodes.announced(a);
        assertEquals(List.of(Tier.VRAM, Tier.SLOW), tiers(a, 1));
        assertEquals(Tier.VRAM, a.store().locations(id(1)).getFirst().tier());
        assertTrue(a.parts().blocks().drop(a.parts().blocks().copies(id(1)).getFirst()));
        TestNodes.announced(a);
        assertEquals(Tier.SLOW, a.store().locations(id(1)).getFirst().tier());
        assertFalse(a.parts().blocks().drop(middle));
        assertReadable(a, 1);
        assertEquals(1, a.store().evict(ids(1, 2)));
        TestNodes.announced(a);
        assertEquals(List.of(), a.store().locations(id(1)));
        assertTrue(TestWaits.until(() -> a.usage(Tier.SLOW).used() == 0));
    }

    @Test
    void shouldReplaceAVersionInEveryTier() {
        Node a = start("a");
        write(a, 1, Placement.VRAM);
        assertAll(Outcome.OK, a.store().prepare(List.of(Piece.replica(id(1), Tier.SLOW)), DEFAULT).submit());
        BlockRef newer = write(a, 1, Placement.DRAM);
        TestNodes.announced(a);
        assertEquals(List.of(newer), a.parts().blocks().copies(id(1)));
        assertTrue(TestWaits.until(() -> a.usage(Tier.VRAM).used() == 0 && a.usage(Tier.SLOW).used() == 0));
        assertReadable(a, 1);
    }

    /**
     * Device and memory are full of blocks that are nowhere else, and more are written into both, while as many are loaded from the file as there
     * is room above, all at a time.
     */
    @ParameterizedTest
    @EnumSource(names = {"SHARED", "DEDICATED"})
    void shouldLetNoLoadWaitForEverBehindDemotions(ThreadingMode threading) {
        Node a = start("a", builder -> builder.threading(threading));
        for (int i = 0; i < 56; i++) {
            write(a, i, i % 2 == 0 ? Placement.VRAM : Placement.DRAM);
        }
        TestNodes.announced(a);
        int written = 56;
        for (int round = 0; round < 6; round++) {
            int first = written - 56;
            List<Transfer> loads = new ArrayList<>();
            for (int i = first; i < first + 3 * VRAM_SLOTS; i++) {
                loads.add(a.mover().promote(ids(i, i + 1), Tier.VRAM, DEFAULT.withTimeout(TestNodes.LONG)));
            }
            for (int i = 0; i < 12; i++) {
                write(a, written++, i % 2 == 0 ? Placement.VRAM : Placement.DRAM);
            }
            for (Transfer load : loads) {
                load.join();
                Outcome outcome = load.outcome(0);
                assertTrue(outcome == Outcome.OK || outcome == Outcome.ABSENT || outcome == Outcome.STALE,
                        () -> outcome + " " + load.cause(0) + a.store().describe());
            }
        }
        assertEquals(0, a.counters().get(Counter.DEMOTIONS_FAILED));
    }

    @Test
    void shouldSayThatThereIsNoSuchTier() {
        Node a = nodes.start("a");
        write(a, 1, Placement.DRAM);
        assertEquals(Kind.UNSUPPORTED,
                assertThrows(MooncakeException.class, () -> a.store().allocate(id(2), BLOCK, Placement.VRAM)).kind());
        Transfer up = a.mover().promote(ids(1, 2), Tier.VRAM, DEFAULT);
        assertAll(Outcome.REFUSED, up);
        assertEquals(Kind.UNSUPPORTED, assertNotNullCause(up).kind());
        assertThrows(MooncakeException.class,
                () -> nodes.start("b",
                        builder -> builder.vram(
                                () -> new DramPool("dram", List.of(new SizeClass(BLOCK, 4)),
                                        MemorySource.anonymous()))));
        assertThrows(MooncakeException.class,
                () -> nodes.start("b", builder -> builder.vram(() -> HostTier.of(Tier.VRAM, 1, BLOCK))));
        MooncakeException tooLong = assertThrows(MooncakeException.class,
                () -> nodes.start("b", builder -> builder.vram(() -> HostTier.of(Tier.VRAM, 4, BLOCK + 1))));
        assertTrue(tooLong.kind() == Kind.CONFIG_ERROR && tooLong.getMessage().contains("block.size"),
                tooLong.getMessage());
    }

    private static MooncakeException assertNotNullCause(Transfer transfer) {
        MooncakeException cause = transfer.cause(0);
        assertNotNull(cause);
        return cause;
    }

    @Test
    void shouldHandOverWhatIsOnTheDeviceOnlyWhenTheNodeLeaves() {
        Node a = start("a");
        Node b = nodes.start("b");
        write(a, 1, Placement.VRAM);
        write(a, 2, Placement.VRAM);
        TestNodes.announced(a);
        assertEquals(0, a.leave(TestNodes.LONG));
        assertReadable(b, 1);
        assertReadable(b, 2);
    }
}
