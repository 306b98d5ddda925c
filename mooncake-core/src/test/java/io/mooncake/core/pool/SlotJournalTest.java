package io.mooncake.core.pool;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The journal by itself; what it is worth after damages is in {@link FileDamageTest}. */
final class SlotJournalTest {
    private static final int SLOTS = 4;
    private static final int BODY = 40_000;
    private static final int MANY = 40;

    @TempDir
    @SuppressWarnings("NullAway.Init") // by JUnit
    Path directory;

    private Path path = Path.of("");

    @BeforeEach
    void name() {
        path = directory.resolve("journal");
    }

    private SlotJournal open() throws IOException {
        SlotJournal journal = SlotJournal.open(path, SLOTS, new byte[]{1});
        journal.begin();
        return journal;
    }

    private static byte[] body(int number) {
        byte[] body = new byte[BODY];
        Arrays.fill(body, (byte) number);
        return body;
    }

    /** More than it keeps of what is out of date. */
    private static void writeMany(SlotJournal journal) throws IOException {
        for (int i = 0; i < MANY; i++) {
            journal.evicted(1);
            journal.written(1, body(i));
            journal.sync();
        }
        journal.written(2, body(99));
        journal.evicted(3);
        journal.sync();
    }

    private void assertLast() throws IOException {
        try (SlotJournal journal = open()) {
            assertEquals(0, journal.damaged());
            assertArrayEquals(body(MANY - 1), Objects.requireNonNull(journal.body(1)));
            assertArrayEquals(body(99), Objects.requireNonNull(journal.body(2)));
            assertTrue(journal.body(3) == null);
        }
    }

    @Test
    void shouldWriteItselfAnewWhenMostOfItIsOutOfDate() throws IOException {
        try (SlotJournal journal = open()) {
            journal.written(3, body(3));
            writeMany(journal);
            assertTrue(Files.size(path) < MANY * BODY, "it has " + Files.size(path) + " bytes");
            assertEquals(Files.size(path), journal.bytes());
        }
        assertLast();
    }

    @Test
    void shouldGoOnWhereItCannotBeWrittenAnew() throws IOException {
        Path inTheWay = directory.resolve("journal.new");
        try (SlotJournal journal = open()) {
            Files.createDirectory(inTheWay);
            journal.written(3, body(3));
            writeMany(journal);
            assertTrue(Files.size(path) > MANY * BODY, "it has " + Files.size(path) + " bytes");
            assertTrue(journal.isSynced());
        }
        Files.delete(inTheWay);
        assertLast();
    }

    /** The file that it is written anew into is a pipe: whoever writes there waits until the test reads. */
    @Test
    @Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD) // who waits for a monitor is not interrupted
    void shouldTakeMoreWhileItIsWrittenAnew() throws IOException, InterruptedException {
        Path pipe = directory.resolve("journal.new");
        try (SlotJournal journal = open()) {
            journal.written(3, body(3));
            journal.written(0, body(4));
            for (int i = 0; i < MANY; i++) {
                journal.evicted(1);
                journal.written(1, body(i));
            }
            journal.sync();
            assertTrue(Files.size(path) > MANY * BODY);
            assertEquals(0, new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor());
            journal.written(2, body(2));
            Thread writer = Thread.ofPlatform().start(() -> syncNow(journal));
            // Opening it waits for the writer, which then waits since not all of its bytes fit into a pipe.
            try (InputStream in = new FileInputStream(pipe.toFile())) {
                assertTrue(in.read() >= 0);
                journal.evicted(3);
                assertFalse(journal.mayOverwrite(3));
                journal.written(3, body(5));
                assertTrue(writer.isAlive());
                byte[] rest = new byte[1 << 16];
                while (in.read(rest) >= 0) {
                    // Until the writer has given up.
                }
            }
            writer.join();
            // Nothing is on the device by way of a pipe, so it went on in the old file.
            journal.sync();
            Files.delete(pipe);
        }
        try (SlotJournal journal = open()) {
            assertEquals(0, journal.damaged());
            assertArrayEquals(body(5), Objects.requireNonNull(journal.body(3)));
            assertArrayEquals(body(2), Objects.requireNonNull(journal.body(2)));
            assertArrayEquals(body(MANY - 1), Objects.requireNonNull(journal.body(1)));
        }
    }

    private static void syncNow(SlotJournal journal) {
        try {
            journal.sync();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    @Timeout(60)
    void shouldHaveWhatWasAppendedWhileItWasWrittenAnew(long seed) throws IOException, InterruptedException {
        Map<Integer, byte[]> last = new HashMap<>();
        try (SlotJournal journal = open()) {
            AtomicBoolean over = new AtomicBoolean();
            Thread syncing = Thread.ofPlatform().start(() -> {
                while (!over.get()) {
                    syncNow(journal);
                }
            });
            SplittableRandom random = new SplittableRandom(seed);
            for (int i = 0; i < 4_000; i++) {
                int slot = random.nextInt(SLOTS);
                journal.evicted(slot);
                last.remove(slot);
                if (random.nextInt(3) > 0) {
                    last.put(slot, Arrays.copyOf(body(i), 8 * random.nextInt(1, 500)));
                    journal.written(slot, last.get(slot));
                }
                if (i % 100 == 0) {
                    journal.sync();
                }
            }
            over.set(true);
            syncing.join();
            journal.sync();
            assertTrue(journal.bytes() < 3L << 20, "it was never written anew: " + journal.bytes());
        }
        try (SlotJournal journal = open()) {
            assertEquals(0, journal.damaged());
            for (int slot = 0; slot < SLOTS; slot++) {
                assertTrue(Arrays.equals(last.get(slot), journal.body(slot)), "seed " + seed + ", slot " + slot);
            }
        }
    }

    @Test
    void shouldReadAJournalThatIsLongerThanAnArray() throws IOException {
        byte[] before;
        try (SlotJournal journal = open()) {
            journal.written(1, body(1));
            journal.written(2, body(2));
            journal.sync();
            before = Files.readAllBytes(path);
            journal.evicted(1);
            journal.sync();
        }
        byte[] all = Files.readAllBytes(path);
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
            channel.truncate(before.length);
            long far = (1L << 31) + 8 * 1_001;
            assertEquals(all.length - before.length, channel.write(
                    ByteBuffer.wrap(all, before.length, all.length - before.length), far));
        }
        try (SlotJournal journal = SlotJournal.open(path, SLOTS, new byte[]{1})) {
            assertEquals(0, journal.damaged());
            assertTrue(journal.body(1) == null);
            assertArrayEquals(body(2), Objects.requireNonNull(journal.body(2)));
        }
    }

    @Test
    void shouldFindTheSameRecordsHoweverLittleIsReadAtATime() throws IOException {
        try (SlotJournal journal = open()) {
            for (int i = 0; i < 20; i++) {
                journal.written(i % SLOTS, Arrays.copyOf(body(i), 8 * i));
            }
            journal.sync();
        }
        List<String> whole = records(1 << 20);
        assertEquals(21, whole.size());
        assertEquals(whole, records(SlotJournal.HEAD_BYTES));
        assertEquals(whole, records(101));
    }

    private List<String> records(int window) throws IOException {
        List<String> found = new ArrayList<>();
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            JournalReader in = new JournalReader(channel, window);
            while (in.next()) {
                byte[] body = in.body();
                found.add(in.kind() + " " + in.slot() + " " + in.number() + " " + in.durable() + " "
                        + Arrays.toString(body) + in.isWhole(body) + in.isFirstOfFile());
            }
        }
        return found;
    }

    @Test
    void shouldLetNothingBeOverwrittenBeforeItsEvictionIsOnTheDevice() throws IOException {
        try (SlotJournal journal = open()) {
            assertTrue(journal.mayOverwrite(0));
            journal.written(0, body(1));
            journal.sync();
            assertFalse(journal.mayOverwrite(0));
            journal.evicted(0);
            assertFalse(journal.mayOverwrite(0));
            journal.sync();
            assertTrue(journal.mayOverwrite(0));
        }
    }
}
