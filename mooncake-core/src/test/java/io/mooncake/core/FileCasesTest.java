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
import io.mooncake.core.block.BlockWriter;
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
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Acceptance cases of the file tier at a node. C69 is {@code CrashCommandTest}'s and {@code FileDamageTest}'s. */
@Timeout(120)
final class FileCasesTest {
    private static final int MIB = 1 << 20;

    @TempDir
    @SuppressWarnings("NullAway.Init") // by JUnit
    Path directory;

    private static Node start(Path where, long block, long fileBytes, UnaryOperator<NodeConfigBuilder> settings) {
        return Node.start(settings.apply(NodeConfig.builder("a")
                .blockSize(block)
                .poolSize(16 * block)
                .sharedMemory(NodeConfig.SHARED_MEMORY_OFF)
                .fileTier(where, fileBytes))
                .build());
    }

    private Node start(long fileBytes) {
        return start(directory, MIB, fileBytes, builder -> builder);
    }

    private static void put(Node node, BlockId id, long length, int content) {
        try (BlockWriter writer = node.store().allocate(id, length)) {
            fill(writer.segment().asSlice(0, length), content);
            writer.commit();
        }
        Transfer down = node.mover().demote(List.of(id), TransferOptions.DEFAULT);
        down.join();
        assertEquals(Outcome.OK, down.outcome(0), () -> String.valueOf(down.cause(0)));
    }

    private static void fill(MemorySegment bytes, int content) {
        for (long at = 0; at < bytes.byteSize(); at++) {
            bytes.set(ValueLayout.JAVA_BYTE, at, (byte) (content * 31L + at + (at >> 12)));
        }
    }

    /** Into memory that starts at a byte that is a multiple of nothing. */
    private static Outcome get(Node node, BlockId id, long length, int content) {
        try (Arena arena = Arena.ofShared()) {
            MemorySegment into = arena.allocate(length + 1, 4096);
            MemorySegment right = arena.allocate(length);
            fill(right, content);
            Region region = node.register(Memory.of(into), Access.LOCAL_ONLY);
            Outcome outcome = node.store().read(id, 0, Piece.WHOLE, region, 1);
            region.close();
            assertTrue(outcome != Outcome.OK || right.mismatch(into.asSlice(1)) < 0, "wrong bytes of " + content);
            return outcome;
        }
    }

    private static BlockId id(int number) {
        return BlockId.of("block " + number);
    }

    private List<String> entries() throws IOException {
        try (Stream<Path> entries = Files.list(directory)) {
            return entries.map(entry -> String.valueOf(entry.getFileName())).sorted().toList();
        }
    }

    @Test
    void C65_shouldSayThatTheDiskIsFullAtOnceAndNeverLater() throws IOException {
        long usable = Files.getFileStore(directory).getUsableSpace();
        MooncakeException refused = assertThrows(MooncakeException.class, () -> start(2 * usable));
        assertEquals(Kind.CONFIG_ERROR, refused.kind());
        assertTrue(
                refused.getMessage().contains("no space left") && refused.getMessage().contains(directory.toString()),
                refused::getMessage);
        // All of its room is taken from the start, so whatever fills the disk later takes none of it.
        try (Node node = start(8L * MIB)) {
            assertEquals(8L * MIB, Files.size(directory.resolve("mooncake.slots")));
            for (int i = 0; i < 16; i++) {
                put(node, id(i), MIB, i);
            }
            int here = 0;
            for (int i = 0; i < 16; i++) {
                Outcome outcome = get(node, id(i), MIB, i);
                assertTrue(outcome == Outcome.OK || outcome == Outcome.ABSENT, outcome::toString);
                here += outcome == Outcome.OK ? 1 : 0;
            }
            assertTrue(here >= 7, here + " of 16 are here");
            assertEquals(0, node.counters().get(Counter.DEMOTIONS_FAILED));
            assertEquals(8L * MIB, Files.size(directory.resolve("mooncake.slots")));
        }
    }

    @Test
    void C67_shouldStartOverADamagedFileAndDropWhatIsDamaged() throws IOException {
        try (Node node = start(8L * MIB)) {
            for (int i = 0; i < 4; i++) {
                put(node, id(i), MIB, i);
            }
        }
        try (RandomAccessFile file = new RandomAccessFile(directory.resolve("mooncake.slots").toFile(), "rw")) {
            file.seek(77);
            int was = file.read();
            file.seek(77);
            file.write(was ^ 1);
            file.setLength(2L * MIB + MIB / 2);
        }
        try (Node node = start(8L * MIB)) {
            assertEquals(Outcome.ABSENT, get(node, id(0), MIB, 0));
            assertEquals(Outcome.OK, get(node, id(1), MIB, 1));
            assertEquals(Outcome.ABSENT, get(node, id(2), MIB, 2));
            assertEquals(Outcome.ABSENT, get(node, id(3), MIB, 3));
            assertEquals(3, node.counters().get(Counter.BLOCKS_DAMAGED));
            assertEquals(1, node.counters().get(Counter.BLOCKS_RECOVERED));
            put(node, id(0), MIB, 10);
            assertEquals(Outcome.OK, get(node, id(0), MIB, 10));
        }
    }

    @Test
    void C70_shouldCountAfterARestartWhatItFinds() throws IOException {
        try (Node node = start(12L * MIB)) {
            for (int i = 0; i < 10; i++) {
                put(node, id(i), MIB, i);
            }
        }
        try (Node node = start(12L * MIB)) {
            assertEquals(10, node.usage(Tier.SLOW).used());
            assertEquals(10, node.counters().get(Counter.BLOCKS_RECOVERED));
            assertTrue(node.store().describe().contains("SLOW: 12 slots, 10 used, 0 quarantined, blocks of 10.00 MiB"),
                    node.store()::describe);
            for (int i = 0; i < 10; i++) {
                assertEquals(Outcome.OK, get(node, id(i), MIB, i));
            }
            for (int i = 10; i < 15; i++) {
                put(node, id(i), MIB, i);
            }
            assertTrue(node.usage(Tier.SLOW).used() <= 12);
            assertEquals(12L * MIB, Files.size(directory.resolve("mooncake.slots")));
        }
    }

    @Test
    void C71_shouldLeaveForeignEntriesAlone() throws IOException {
        try (Node node = start(8L * MIB)) {
            for (int i = 0; i < 3; i++) {
                put(node, id(i), MIB, i);
            }
        }
        Files.writeString(directory.resolve("README.txt"), "foreign");
        Files.writeString(directory.resolve("abc.slots"), "foreign");
        Files.createDirectory(directory.resolve("folder"));
        Files.createSymbolicLink(directory.resolve("dangling"), Path.of("nowhere"));
        Path secret = Files.writeString(directory.resolve("secret"), "foreign");
        Files.setPosixFilePermissions(secret, PosixFilePermissions.fromString("---------"));
        List<String> before = entries();
        try (Node node = start(8L * MIB)) {
            for (int i = 0; i < 3; i++) {
                assertEquals(Outcome.OK, get(node, id(i), MIB, i));
            }
        }
        assertEquals(before, entries());
        assertEquals("foreign", Files.readString(directory.resolve("abc.slots")));
    }

    @ParameterizedTest
    @ValueSource(longs = {3_098_112, 1_000_001})
    void C72_shouldHideThePaddingOfOddSizes(long length) throws IOException {
        List<Path> places = new ArrayList<>(List.of(directory));
        Path memory = Path.of("/dev/shm");
        Path inMemory = Files.isWritable(memory) ? Files.createTempDirectory(memory, "mooncake-test") : null;
        if (inMemory != null) {
            places.add(inMemory);
        }
        try {
            for (Path place : places) {
                for (boolean direct : new boolean[]{true, false}) {
                    try (Node node = start(place, length, 8 * (length + 4096), builder -> builder.fileDirect(direct))) {
                        assertTrue(direct || node.store().describe().contains("through the page cache"),
                                node.store()::describe);
                        put(node, id(1), length, 1);
                        put(node, id(2), length - 1, 2);
                        put(node, id(3), 1, 3);
                        assertEquals(Outcome.OK, get(node, id(1), length, 1));
                        assertEquals(Outcome.OK, get(node, id(2), length - 1, 2));
                        assertEquals(Outcome.OK, get(node, id(3), 1, 3));
                        node.store().evict(List.of(id(1), id(2), id(3)));
                    }
                }
            }
        } finally {
            if (inMemory != null) {
                try (Stream<Path> entries = Files.list(inMemory)) {
                    for (Path entry : entries.toList()) {
                        Files.delete(entry);
                    }
                }
                Files.delete(inMemory);
            }
        }
    }

    @Test
    void C74_shouldReadOnForOthersWhileOneIsInterrupted() throws InterruptedException {
        try (Node node = start(8L * MIB)) {
            for (int i = 0; i < 4; i++) {
                put(node, id(i), MIB, i);
            }
            AtomicBoolean over = new AtomicBoolean();
            AtomicReference<Throwable> failure = new AtomicReference<>();
            Thread stormed = Thread.ofPlatform().start(() -> {
                try {
                    while (!over.get()) {
                        Outcome outcome = get(node, id(0), MIB, 0);
                        assertTrue(outcome == Outcome.OK || outcome == Outcome.CANCELED, outcome::toString);
                        assertTrue(outcome == Outcome.OK || Thread.interrupted(), "its flag stays set");
                    }
                } catch (Throwable e) {
                    failure.set(e);
                }
            });
            for (int round = 0; round < 150; round++) {
                stormed.interrupt();
                assertEquals(Outcome.OK, get(node, id(1 + round % 3), MIB, 1 + round % 3));
                if (round % 10 == 0) {
                    put(node, id(10 + round % 30), MIB, 10 + round % 30);
                }
            }
            over.set(true);
            stormed.join();
            assertTrue(failure.get() == null, () -> "interrupted one: " + failure.get());
            assertEquals(Outcome.OK, get(node, id(0), MIB, 0));
        }
    }

    @Test
    void C76_shouldNotBringBackWhatWasRemovedOnItsWayDown() {
        try (Node node = start(64L * MIB)) {
            for (int round = 0; round < 20; round++) {
                try (BlockWriter writer = node.store().allocate(id(7), MIB)) {
                    fill(writer.segment(), round);
                    writer.commit();
                }
                Transfer down = node.mover().demote(List.of(id(7)), TransferOptions.DEFAULT);
                node.store().evict(List.of(id(7)));
                down.join();
                assertEquals(Outcome.ABSENT, get(node, id(7), MIB, round));
                put(node, id(7), MIB, 100 + round);
                assertEquals(Outcome.OK, get(node, id(7), MIB, 100 + round));
            }
        }
    }

    /** No key is the name of a file here, so there is none that cannot be one. */
    @Test
    void C77_shouldTakeAnyKey() throws IOException {
        List<String> keys = List.of("x".repeat(400), "a/b", "../../x", "K", "k", "ключ", "", "a\0b");
        try (Node node = start(16L * MIB)) {
            for (int i = 0; i < keys.size(); i++) {
                put(node, BlockId.of(keys.get(i)), MIB, i);
            }
        }
        assertEquals(List.of("mooncake.journal", "mooncake.lock", "mooncake.slots"), entries());
        try (Node node = start(16L * MIB)) {
            for (int i = 0; i < keys.size(); i++) {
                assertEquals(Outcome.OK, get(node, BlockId.of(keys.get(i)), MIB, i), keys.get(i));
            }
        }
    }

    @Test
    void C135_shouldNotStartInADirectoryThatCannotBeUsed() throws IOException {
        long threads = Thread.getAllStackTraces()
                .keySet()
                .stream()
                .filter(t -> t.getName().contains("mooncake"))
                .count();
        assertRefused(directory.resolve("absent"), "NoSuchFile");
        assertRefused(Files.writeString(directory.resolve("file"), "x"), "FileSystemException");
        Path readOnly = Files.createDirectory(directory.resolve("readOnly"));
        Files.setPosixFilePermissions(readOnly, PosixFilePermissions.fromString("r-xr-xr-x"));
        if (!Files.isWritable(readOnly)) { // whoever is root may write anywhere
            assertRefused(readOnly, "AccessDenied");
        }
        assertTrue(TestWaits.until(() -> Thread.getAllStackTraces()
                .keySet()
                .stream()
                .filter(t -> t.getName().contains("mooncake"))
                .count() <= threads), "threads are left");
        Path good = Files.createDirectory(directory.resolve("good"));
        start(good, MIB, 8L * MIB, builder -> builder).close();
        assertFalse(Files.exists(directory.resolve("absent")));
    }

    private static void assertRefused(Path where, String reason) {
        MooncakeException refused = assertThrows(MooncakeException.class,
                () -> start(where, MIB, 8L * MIB, builder -> builder));
        assertEquals(Kind.CONFIG_ERROR, refused.kind());
        assertTrue(refused.getMessage().contains(where.toString()) && refused.getMessage().contains(reason),
                refused::getMessage);
    }
}
