package io.mooncake.core.pool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.Version;
import io.mooncake.core.transfer.GuardSource;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a directory is worth after each damage that it may have taken: the table of docs/tiers.md. */
final class FileDamageTest {
    private static final int SLOTS = 6;
    /** Two units, the second one not full, and no multiple of a page. */
    private static final long BLOCK = GuardSource.UNIT_BYTES + 3_001;

    @TempDir
    @SuppressWarnings("NullAway.Init") // by JUnit
    Path directory;

    private FilePool open() {
        return open(directory, BLOCK);
    }

    private static FilePool open(Path where, long block) {
        return new FilePool("file", where, List.of(new SizeClass(block, SLOTS)), true);
    }

    /** As the engine does it; what is written is durable. */
    private static int put(FilePool pool, String id, long counter) {
        try {
            int slot = write(pool, id, counter);
            pool.makeDurable(new long[]{pool.offset(slot)});
            return slot;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static int write(FilePool pool, String id, long counter) throws IOException {
        int slot = pool.reserve(BLOCK);
        pool.intend(slot, BlockId.of(id), new Version(counter, 1), BLOCK);
        pool.beginWrite(pool.offset(slot));
        try (Arena arena = Arena.ofConfined()) {
            for (int unit = 0; unit * (long) GuardSource.UNIT_BYTES < BLOCK; unit++) {
                long from = (long) unit * GuardSource.UNIT_BYTES;
                long bytes = Math.min(GuardSource.UNIT_BYTES, BLOCK - from);
                long aligned = (bytes + pool.alignment() - 1) / pool.alignment() * pool.alignment();
                MemorySegment memory = arena.allocate(aligned, 4096);
                memory.fill((byte) (id.hashCode() + 7 * counter + unit));
                pool.write(pool.offset(slot) + from, memory);
                CRC32C crc = new CRC32C();
                crc.update(memory.asSlice(0, bytes).asByteBuffer());
                pool.checksums().put(slot, unit, crc.getValue());
            }
        }
        return slot;
    }

    /** As when the node closes: what is in use stays on the disk. */
    private static void close(FilePool pool) {
        pool.keep();
        for (int slot = 0; slot < pool.slots(); slot++) {
            try {
                pool.release(slot);
            } catch (MooncakeException e) {
                assertEquals(Kind.ILLEGAL_STATE, e.kind());
            }
        }
        pool.close();
    }

    private Set<String> back() {
        FilePool pool = open();
        Set<String> ids = new TreeSet<>();
        pool.stored().forEach(block -> ids.add(block.id() + " " + block.version().counter()));
        assertEquals(ids.size(), pool.usage().used());
        close(pool);
        return ids;
    }

    private Path file(String name) {
        return directory.resolve("mooncake." + name);
    }

    private void store(String... ids) {
        FilePool pool = open();
        for (String id : ids) {
            put(pool, id, 1);
        }
        close(pool);
    }

    private static void flip(Path file, long at) throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        bytes[(int) at] = (byte) (bytes[(int) at] ^ (1 << (at % 8)));
        Files.write(file, bytes);
    }

    @Test
    void shouldHaveWhatWasDurableAndNothingElse() throws IOException {
        FilePool pool = open();
        put(pool, "a", 1);
        int b = put(pool, "b", 2);
        put(pool, "c", 3);
        pool.release(b);
        write(pool, "torn", 4);
        pool.intend(pool.reserve(BLOCK), BlockId.of("never"), new Version(5, 1), BLOCK);
        close(pool);
        assertEquals(Set.of("a 1", "c 3"), back());
        assertEquals(Set.of("a 1", "c 3"), back());
    }

    @Test
    void shouldSurviveBeingKilledAtAnyByteOfTheJournal() throws IOException {
        FilePool pool = open();
        Map<Long, Set<String>> durable = new TreeMap<>(Map.of(0L, Set.of()));
        Set<String> now = new HashSet<>();
        byte[] journal = {};
        int[] slots = new int[SLOTS];
        for (int i = 0; i < 12; i++) {
            if (i >= 4) {
                pool.release(slots[i % 4]);
                now.remove("k" + (i - 4) + " " + (i - 4));
                pool.makeDurable(new long[0]);
                durable.put(Files.size(file("journal")), Set.copyOf(now));
            }
            slots[i % 4] = put(pool, "k" + i, i);
            now.add("k" + i + " " + i);
            journal = Files.readAllBytes(file("journal"));
            durable.put((long) journal.length, Set.copyOf(now));
        }
        close(pool);
        // Later bytes overwrote the slots of blocks that were evicted, so of those no cut may bring one back.
        for (int cut = 0; cut <= journal.length; cut += cut % 64 < 3 ? 1 : 13) {
            Files.write(file("journal"), Arrays.copyOf(journal, cut));
            Set<String> expected = new TreeSet<>(
                    ((TreeMap<Long, Set<String>>) durable).floorEntry((long) cut).getValue());
            expected.retainAll(now);
            assertEquals(expected, back(), "cut at " + cut);
        }
    }

    @Test
    void shouldLoseOnlyTheBlockWhoseBytesWereFlipped() throws IOException {
        store("a", "b", "c");
        flip(file("slots"), open2ndSlot() + GuardSource.UNIT_BYTES + 17);
        assertEquals(Set.of("a 1", "c 1"), back());
        store("b");
        assertEquals(Set.of("a 1", "b 1", "c 1"), back());
    }

    private long open2ndSlot() {
        FilePool pool = open();
        long offset = pool.offset(1);
        close(pool);
        return offset;
    }

    @Test
    void shouldNeverBringBackWhatWasEvictedWhicheverBitOfTheJournalIsFlipped() throws IOException {
        FilePool pool = open();
        put(pool, "a", 1);
        int b = put(pool, "b", 1);
        int e = put(pool, "e", 1);
        put(pool, "c", 1);
        // On the device together, so that neither record says of the other that it was there.
        pool.release(b);
        pool.release(e);
        pool.makeDurable(new long[0]);
        // In one of their slots: nothing is written about the other one any more.
        put(pool, "d", 1);
        close(pool);
        byte[] journal = Files.readAllBytes(file("journal"));
        int kept = 0;
        for (int at = 0; at < journal.length; at++) {
            Files.write(file("journal"), journal);
            flip(file("journal"), at);
            Set<String> back = back();
            assertTrue(Set.of("a 1", "c 1", "d 1").containsAll(back), "flipped at " + at + ": " + back);
            kept += back.size();
        }
        assertTrue(kept > journal.length, "of three blocks " + (double) kept / journal.length + " are back on average");
    }

    @Test
    void shouldNeverBringBackWhatWasEvictedHoweverLongItsReadersStay() {
        FilePool pool = open();
        put(pool, "a", 1);
        pool.forget(put(pool, "b", 1));
        close(pool);
        assertEquals(Set.of("a 1"), back());
    }

    @Test
    void shouldCloseWithEveryRecordThoughItsThreadWasInterrupted() {
        FilePool pool = open();
        put(pool, "a", 1);
        pool.release(put(pool, "b", 1));
        Thread.currentThread().interrupt();
        close(pool);
        assertTrue(Thread.interrupted(), "the flag is its owner's");
        assertEquals(Set.of("a 1"), back());
    }

    @Test
    void shouldLoseWhatATruncatedFileHasNotAndHaveRoomForMore() throws IOException {
        store("a", "b", "c");
        byte[] all = Files.readAllBytes(file("slots"));
        Files.write(file("slots"), Arrays.copyOf(all, (int) open2ndSlot() + 5_000));
        assertEquals(Set.of("a 1"), back());
        assertEquals(all.length, Files.size(file("slots")));
        Files.write(file("slots"), new byte[0]);
        assertEquals(Set.of(), back());
        store("d");
        assertEquals(Set.of("d 1"), back());
    }

    @Test
    void shouldBeginAnewWithoutAJournalOrWithOneThatIsNone() throws IOException {
        store("a");
        Files.write(file("journal"),
                "no journal of ours, whatever its name".repeat(9).getBytes(StandardCharsets.UTF_8));
        assertEquals(Set.of(), back());
        store("b");
        Files.delete(file("journal"));
        assertEquals(Set.of(), back());
    }

    @Test
    void shouldLeaveForeignFilesAlone() throws IOException {
        store("a");
        Files.writeString(directory.resolve("README.txt"), "foreign");
        Files.createDirectory(directory.resolve("folder"));
        Files.createSymbolicLink(directory.resolve("dangling"), Path.of("nowhere"));
        assertEquals(Set.of("a 1"), back());
        assertEquals("foreign", Files.readString(directory.resolve("README.txt")));
        assertTrue(Files.isSymbolicLink(directory.resolve("dangling")));
        try (Stream<Path> entries = Files.list(directory)) {
            assertEquals(6, entries.count());
        }
    }

    @Test
    void shouldRefuseADirectoryThatAnotherHas() {
        FilePool pool = open();
        MooncakeException refused = assertThrows(MooncakeException.class, this::open);
        assertEquals(Kind.IN_USE, refused.kind());
        assertTrue(refused.getMessage().contains(directory.toString()), refused::getMessage);
        close(pool);
        close(open());
    }

    @Test
    void shouldRefuseADirectoryThatCannotBeUsed() throws IOException {
        assertRefused(directory.resolve("absent"), "NoSuchFile");
        assertRefused(Files.writeString(directory.resolve("file"), "x"), "");
        Path readOnly = Files.createDirectory(directory.resolve("readOnly"));
        Files.setPosixFilePermissions(readOnly, PosixFilePermissions.fromString("r-xr-xr-x"));
        assumeTrue(!Files.isWritable(readOnly), "whoever is root may write anywhere");
        assertRefused(readOnly, "AccessDenied");
    }

    private static void assertRefused(Path where, String reason) {
        MooncakeException refused = assertThrows(MooncakeException.class, () -> open(where, BLOCK));
        assertEquals(Kind.CONFIG_ERROR, refused.kind());
        assertTrue(refused.getMessage().contains(where.toString()) && refused.getMessage().contains(reason),
                refused::getMessage);
    }

    @Test
    void shouldRefuseAFileThatTheDiskOrAQuotaHasNoRoomFor() {
        MooncakeException refused = assertThrows(MooncakeException.class, () -> open(directory, 1L << 50));
        assertEquals(Kind.CONFIG_ERROR, refused.kind());
        assertTrue(refused.getMessage().contains("no space left"), refused::getMessage);
        assertFalse(Files.exists(file("slots")));
        store("a");
        assertEquals(Set.of("a 1"), back());
    }

    @Test
    void shouldRefuseBlocksThatWereCutOtherwise() {
        store("a");
        MooncakeException refused = assertThrows(MooncakeException.class, () -> open(directory, 2 * BLOCK));
        assertEquals(Kind.CONFIG_ERROR, refused.kind());
        assertTrue(refused.getMessage().contains("another length"), refused::getMessage);
        assertEquals(Set.of("a 1"), back());
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldSayWhetherItGoesPastThePageCache(boolean wanted) throws IOException {
        FilePool pool = new FilePool("file", directory, List.of(new SizeClass(BLOCK, SLOTS)), wanted);
        boolean direct = flags().stream().anyMatch(flags -> (flags & 040000) != 0);
        assertEquals(pool.isDirect(), direct);
        assertTrue(wanted || !direct);
        assertTrue(pool.describe().contains(direct ? "direct I/O" : "page cache"), pool::describe);
        pool.close();
    }

    /** Of the descriptors of the file, as the system has them. */
    private List<Long> flags() throws IOException {
        Path self = Path.of("/proc/self/fd");
        assumeTrue(Files.isDirectory(self));
        try (Stream<Path> descriptors = Files.list(self)) {
            return descriptors.filter(fd -> {
                try {
                    return Files.readSymbolicLink(fd).endsWith("mooncake.slots");
                } catch (IOException e) {
                    return false;
                }
            }).map(fd -> Path.of("/proc/self/fdinfo").resolve(fd.getFileName())).map(info -> {
                try {
                    return Files.readAllLines(info)
                            .stream()
                            .filter(line -> line.startsWith("flags:"))
                            .mapToLong(line -> Long.parseLong(line.substring(6).strip(), 8))
                            .sum();
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }).toList();
        }
    }
}
