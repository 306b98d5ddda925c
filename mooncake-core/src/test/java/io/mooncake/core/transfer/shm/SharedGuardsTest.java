package io.mooncake.core.transfer.shm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.pool.GuardTable;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Guards in a file, seen by readers; of processes that die {@code SharedMemoryFilesTest} knows more, since the files are the same. */
class SharedGuardsTest {
    private static final int SLOTS = 100;
    private static final byte[] NOTE = {1, 2, 3};

    @TempDir
    @SuppressWarnings("NullAway.Init") // by JUnit
    Path folder;

    private SharedGuards guards() {
        return SharedGuards.create(folder, (long) SLOTS * GuardTable.STRIDE, NOTE);
    }

    @Test
    void shouldShowReadersTheGuardsAndTheNote() throws IOException {
        try (SharedGuards owner = guards(); Arena arena = Arena.ofShared()) {
            GuardTable table = new GuardTable(owner.map(arena));
            long generation = table.allocated(7);
            try (PeerGuards reader = PeerGuards.open(owner.path(), "b#2")) {
                assertArrayEquals(NOTE, reader.note());
                long before = reader.read(7 * GuardTable.STRIDE);
                long written = table.written(7, generation);
                assertEquals(written, reader.read(7 * GuardTable.STRIDE));
                assertFalse(before == written);
                assertEquals(table.read(8), reader.read(8 * GuardTable.STRIDE));
            }
        }
    }

    @Test
    void shouldKnowWhichOffsetsAreGuards() throws IOException {
        try (SharedGuards owner = guards(); PeerGuards reader = PeerGuards.open(owner.path(), "b#2")) {
            assertTrue(reader.isGuard(0) && reader.isGuard((SLOTS - 1L) * GuardTable.STRIDE));
            for (long wrong : new long[]{-64, 1, 8, (long) SLOTS * GuardTable.STRIDE, Long.MAX_VALUE, Long.MIN_VALUE}) {
                assertFalse(reader.isGuard(wrong), () -> "offset " + wrong);
            }
        }
    }

    /** The owner frees nothing as long as somebody reads, and nobody begins after it has asked. */
    @Test
    void shouldBeReadUntilTheLastReaderHasClosed() throws IOException {
        try (SharedGuards owner = guards()) {
            assertFalse(owner.isRead());
            PeerGuards one = PeerGuards.open(owner.path(), "b#2-0");
            PeerGuards other = PeerGuards.open(owner.path(), "b#2-1");
            assertTrue(one.isOpen() && one.isOwnerAlive());
            owner.retire();
            assertFalse(one.isOpen());
            assertTrue(one.isOwnerAlive());
            IOException late = assertThrows(IOException.class, () -> PeerGuards.open(owner.path(), "c#3"));
            assertTrue(String.valueOf(late.getMessage()).contains("closing"), late::getMessage);
            one.close();
            one.close();
            assertTrue(owner.isRead());
            other.close();
            assertFalse(owner.isRead(), "also not by the one that came too late");
        }
    }

    @Test
    void shouldLeaveNoFile() throws IOException {
        Path path;
        try (SharedGuards owner = guards(); PeerGuards reader = PeerGuards.open(owner.path(), "b#2")) {
            path = owner.path();
            assertTrue(Files.exists(path), reader::toString);
        }
        try (var left = Files.list(Objects.requireNonNull(path.getParent()))) {
            assertEquals(List.of(), left.toList());
        }
        IOException gone = assertThrows(IOException.class, () -> PeerGuards.open(path, "b#2"));
        assertTrue(String.valueOf(gone.getMessage()).contains(path.toString()), gone::getMessage);
    }

    @Test
    void shouldTakeNoOtherFile() throws IOException {
        try (SharedGuards owner = guards()) {
            Path directory = Objects.requireNonNull(owner.path().getParent());
            Path left = Files.createFile(directory.resolve("guards-0.pool"));
            assertThrows(IOException.class, () -> PeerGuards.open(left, "b#2"), "nobody has it locked");
            LockedFile short_ = LockedFile.create(directory, "guards-1", SharedGuards.SUFFIX, 10);
            LockedFile other = LockedFile.create(directory, "guards-2", SharedGuards.SUFFIX, 2 * SharedGuards.PAGE);
            for (LockedFile file : List.of(short_, other)) {
                IOException e = assertThrows(IOException.class, () -> PeerGuards.open(file.data(), "b#2"));
                assertTrue(String.valueOf(e.getMessage()).contains(file.data().toString()), e::getMessage);
                file.close();
            }
            assertThrows(IOException.class, () -> PeerGuards.open(Path.of("/"), "b#2"));
            assertThrows(IOException.class, () -> PeerGuards.open(directory.resolve("nothing.pool"), "b#2"));
        }
    }
}
