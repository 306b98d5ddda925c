package io.mooncake.core.pool;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Objects;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

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
