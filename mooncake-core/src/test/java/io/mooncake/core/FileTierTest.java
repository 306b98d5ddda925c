package io.mooncake.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.Hold;
import io.mooncake.core.block.Tier;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A node with a file: eight slots of memory, of which one is spare. */
@Timeout(120)
final class FileTierTest {
    /** Two units, the second one no multiple of anything. */
    private static final int BLOCK = (1 << 20) + 1_001;
    private static final int MEMORY_SLOTS = 8;

    @TempDir
    @SuppressWarnings("NullAway.Init") // by JUnit
    Path directory;

    private Node start(int fileSlots) {
        return start(fileSlots, ThreadingMode.SHARED);
    }

    private Node start(int fileSlots, ThreadingMode threading) {
        return Node.start(NodeConfig.builder("a")
                .threading(threading)
                .blockSize(BLOCK)
                .poolSize((long) MEMORY_SLOTS * BLOCK)
                .sharedMemory(NodeConfig.SHARED_MEMORY_OFF)
                .evictionPolicy("lru")
                .fileTier(directory, fileSlots * (BLOCK + 4096L))
                .fileSyncDelay(Duration.ofMillis(2))
                .build());
    }

    private static BlockId id(int number) {
        return BlockId.of("block " + number);
    }

    private static void put(Node node, int number) {
        put(node, id(number), number);
    }

    private static void put(Node node, BlockId id, int content) {
        try (BlockWriter writer = node.store().allocate(id, BLOCK)) {
            fill(writer.segment(), content);
            writer.commit();
        }
    }

    private static void fill(MemorySegment bytes, int content) {
        for (long at = 0; at < BLOCK; at++) {
            bytes.set(ValueLayout.JAVA_BYTE, at, (byte) (content * 31L + at + (at >> 12)));
        }
    }

    private static void assertContent(MemorySegment bytes, int content) {
        for (long at = 0; at < BLOCK; at++) {
            if (bytes.get(ValueLayout.JAVA_BYTE, at) != (byte) (content * 31L + at + (at >> 12))) {
                throw new AssertionError("block " + content + " has another byte at " + at);
            }
        }
    }

    /** Where the blocks are: VRAM stands for nowhere. */
    private static Tier tier(Node node, int number) {
        try (PrefixMatch match = node.store().match(List.of(id(number)), Duration.ofSeconds(1))) {
            Tier tier = match.tier(0);
            return tier == null ? Tier.VRAM : tier;
        }
    }

    /** Until nothing is on its way down any more; the test's timeout is the limit. */
    private static void settle(Node node) {
        do {
            assertTrue(node.store().awaitAnnounced(Duration.ofSeconds(30)));
        } while (node.usage().used() >= MEMORY_SLOTS);
    }

    /** Block 0, which more blocks than memory has room for follow. */
    private static void putIntoTheFileOnly(Node node) {
        put(node, 0);
        assertEquals(Outcome.OK, move(node, 0, Tier.SLOW));
        for (int i = 1; i < 12; i++) {
            put(node, i);
        }
        settle(node);
        assertEquals(Tier.SLOW, tier(node, 0));
    }

    private static Outcome read(Node node, int number, long offset, long length) {
        try (Arena arena = Arena.ofShared()) {
            MemorySegment into = arena.allocate(BLOCK);
            Region region = node.register(Memory.of(into), Access.LOCAL_ONLY);
            Outcome outcome = node.store().read(id(number), offset, length, region, 0);
            region.close();
            if (outcome == Outcome.OK && length == Piece.WHOLE) {
                assertContent(into, number);
            } else if (outcome == Outcome.OK) {
                try (Arena other = Arena.ofConfined()) {
                    MemorySegment whole = other.allocate(BLOCK);
                    fill(whole, number);
                    assertEquals(-1, whole.asSlice(offset, length).mismatch(into.asSlice(0, length)));
                }
            }
            return outcome;
        }
    }

    private static Outcome move(Node node, int number, Tier tier) {
        Transfer transfer = node.store()
                .prepare(List.of(Piece.replica(id(number), tier)), TransferOptions.DEFAULT)
                .submit();
        transfer.join();
        return transfer.outcome(0);
    }

    @Test
    void shouldNotBringBackABlockThatWasEvictedWhileItWasHeldInTheFile() {
        try (Node node = start(8)) {
            put(node, 0);
            put(node, 1);
            node.mover().demote(List.of(id(0), id(1)), TransferOptions.DEFAULT).join();
            Hold _ = node.mover().pin(List.of(id(0)), Tier.SLOW, Duration.ofMinutes(5));
            assertEquals(1, node.mover().evict(List.of(id(0))));
        }
        try (Node node = start(8)) {
            assertEquals(Outcome.ABSENT, read(node, 0, 0, Piece.WHOLE));
            assertEquals(Outcome.OK, read(node, 1, 0, Piece.WHOLE));
        }
    }

    @Test
    void shouldReadNothingAtTheEndOfABlockAndKeepIt() {
        try (Node node = start(8)) {
            BlockId whole = BlockId.of("one unit");
            try (BlockWriter writer = node.store().allocate(whole, 1 << 20)) {
                writer.commit();
            }
            node.mover().demote(List.of(whole), TransferOptions.DEFAULT).join();
            try (Arena arena = Arena.ofShared()) {
                Region region = node.register(Memory.of(arena.allocate(1 << 20)), Access.LOCAL_ONLY);
                assertEquals(Outcome.OK, node.store().read(whole, 1 << 20, 0, region, 0));
                assertEquals(Outcome.OK, node.store().read(whole, 0, Piece.WHOLE, region, 0));
                region.close();
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void shouldReadWhatMemoryHasNoRoomForOutOfTheFile(ThreadingMode threading) {
        try (Node node = start(64, threading)) {
            for (int i = 0; i < 40; i++) {
                put(node, i);
            }
            for (int i = 0; i < 40; i++) {
                assertEquals(Outcome.OK, read(node, i, 0, Piece.WHOLE));
                assertEquals(Outcome.OK, read(node, i, (1 << 20) - 7, 500));
            }
            assertEquals(0, node.counters().get(Counter.DEMOTIONS_FAILED));
            assertTrue(node.counters().get(Counter.BLOCKS_DEMOTED) >= 40 - MEMORY_SLOTS);
            assertTrue(node.store().describe().contains("SLOW: "), node.store()::describe);
        }
    }

    @Test
    void shouldBringABlockUpAndKeepItDurable() {
        try (Node node = start(64)) {
            put(node, 0);
            assertEquals(Outcome.OK, move(node, 0, Tier.SLOW));
            assertEquals(Tier.DRAM, tier(node, 0));
            for (int i = 1; i < 20; i++) {
                put(node, i);
            }
            settle(node);
            assertEquals(Tier.SLOW, tier(node, 0));
            try (BlockView view = node.store().newView()) {
                assertFalse(node.store().acquire(id(0), view));
                assertEquals(Outcome.OK, move(node, 0, Tier.DRAM));
                assertTrue(node.store().acquire(id(0), view));
                assertEquals(Tier.DRAM, view.tier());
                assertContent(view.segment(), 0);
            }
            long demoted = node.counters().get(Counter.BLOCKS_DEMOTED);
            assertEquals(Outcome.OK, move(node, 0, Tier.SLOW));
            assertEquals(demoted, node.counters().get(Counter.BLOCKS_DEMOTED));
            assertEquals(1, node.counters().get(Counter.BLOCKS_PROMOTED));
            assertEquals(BLOCK, node.counters().get(Counter.BYTES_PROMOTED));
        }
    }

    @Test
    void shouldHaveAfterARestartWhatWasDurableAndNothingElse() {
        int durable;
        try (Node node = start(64)) {
            for (int i = 0; i < 30; i++) {
                put(node, i);
            }
            settle(node);
            durable = node.usage(Tier.SLOW).used();
            assertEquals(1, node.store().evict(List.of(id(3))));
            settle(node);
        }
        try (Node node = start(64)) {
            assertEquals(durable - 1, node.usage(Tier.SLOW).used());
            long back = IntStream.range(0, 30).filter(i -> read(node, i, 0, Piece.WHOLE) == Outcome.OK).count();
            assertEquals(durable - 1, back);
            assertEquals(Outcome.ABSENT, read(node, 3, 0, Piece.WHOLE));
            // A new version is above all that came back.
            put(node, id(5), 99);
            try (BlockView view = node.store().newView()) {
                assertTrue(node.store().acquire(id(5), view));
                assertContent(view.segment(), 99);
            }
        }
        try (Node node = start(64)) {
            assertEquals(Outcome.ABSENT, read(node, 5, 0, Piece.WHOLE));
        }
    }

    @Test
    void shouldEvictFromAFullFileAndNeverFailAWrite() {
        try (Node node = start(16)) {
            for (int i = 0; i < 60; i++) {
                put(node, i);
            }
            settle(node);
            assertTrue(node.usage(Tier.SLOW).used() <= 16);
            long here = IntStream.range(0, 60).filter(i -> read(node, i, 0, Piece.WHOLE) == Outcome.OK).count();
            assertTrue(here >= 15 && here <= 16 + MEMORY_SLOTS, here + " blocks are here");
            assertEquals(0, node.counters().get(Counter.DEMOTIONS_FAILED));
        }
    }

    @Test
    void shouldDemoteAlsoWhereMoreIsReadThanTheFileTakes() {
        try (Node node = start(64); Arena arena = Arena.ofShared()) {
            putIntoTheFileOnly(node);
            Region region = node.register(Memory.of(arena.allocate(8)), Access.LOCAL_ONLY);
            Piece some = Piece.of(id(0), 0, 8, Destination.at(region, 0));
            Transfer flood = node.store().prepare(Collections.nCopies(1_500, some), TransferOptions.DEFAULT).submit();
            for (int i = 12; i < 40; i++) {
                put(node, i);
            }
            flood.join();
            long refused = IntStream.range(0, flood.pieces())
                    .filter(i -> flood.outcome(i) == Outcome.UNREACHABLE)
                    .count();
            assertTrue(refused > 0, "all were taken: the flood is too small");
            settle(node);
            assertEquals(0, node.counters().get(Counter.DEMOTIONS_FAILED));
            region.close();
        }
    }

    @Test
    void shouldNotBringBackABlockThatWasRemovedWhileItWentDown() {
        try (Node node = start(64)) {
            for (int round = 0; round < 50; round++) {
                put(node, round);
                Transfer down = node.store()
                        .prepare(List.of(Piece.replica(id(round), Tier.SLOW)), TransferOptions.DEFAULT)
                        .submit();
                node.store().evict(List.of(id(round)));
                down.join();
                settle(node);
                assertEquals(Tier.VRAM, tier(node, round));
            }
            assertEquals(0, node.usage(Tier.SLOW).used());
            assertEquals(0, node.usage().used());
        }
        try (Node node = start(64)) {
            assertEquals(0, node.usage(Tier.SLOW).used());
        }
    }

    @Test
    void shouldWriteAContentAddressedBlockAgainByBringingItUp() {
        byte[] sha = new byte[BlockId.BYTES];
        sha[0] = (byte) 0x81;
        BlockId chained = BlockId.fromBytes(sha);
        try (Node node = start(64); BlockView view = node.store().newView()) {
            put(node, chained, 7);
            for (int i = 0; i < 20; i++) {
                put(node, i);
            }
            settle(node);
            assertFalse(node.store().acquire(chained, view));
            put(node, chained, 7);
            assertTrue(node.store().acquire(chained, view));
            assertContent(view.segment(), 7);
        }
    }

    @Test
    void shouldDropABlockThatWasDamagedOnTheDisk() throws IOException {
        try (Node node = start(64)) {
            putIntoTheFileOnly(node);
            try (RandomAccessFile file = new RandomAccessFile(directory.resolve("mooncake.slots").toFile(), "rw")) {
                file.seek(4_000);
                file.write(file.length() > 0 ? 77 : 0);
                file.getFD().sync();
            }
            assertEquals(Outcome.CHECKSUM, read(node, 0, 0, Piece.WHOLE));
            settle(node);
            assertEquals(Tier.VRAM, tier(node, 0));
            put(node, 0);
            assertEquals(Outcome.OK, read(node, 0, 0, Piece.WHOLE));
        }
    }

    @Test
    void shouldSayWhyItCannotStart() throws IOException {
        Node first = start(64);
        assertEquals(Kind.IN_USE, assertThrows(MooncakeException.class, () -> start(64)).kind());
        first.close();
        Path file = Files.writeString(directory.resolve("file"), "x");
        MooncakeException refused = assertThrows(MooncakeException.class,
                () -> Node.start(NodeConfig.builder("a").fileTier(file, 1L << 30).build()));
        assertEquals(Kind.CONFIG_ERROR, refused.kind());
        assertTrue(refused.getMessage().contains(file.toString()), refused::getMessage);
        start(64).close();
    }
}
