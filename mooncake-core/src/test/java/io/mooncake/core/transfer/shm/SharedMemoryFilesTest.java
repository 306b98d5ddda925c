package io.mooncake.core.transfer.shm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.ReadListener;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.RegionTable;
import io.mooncake.core.transfer.SharedBlock;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What lies in the directory, who may see it, and what goes away when. */
class SharedMemoryFilesTest {
    private static final NodeId A = new NodeId("a", 0x1f);
    private static final long SLOTS = 8192;
    private static final long GUARDS = 128;
    private static final long SUMS = 128;
    private static final long BYTES = 2 * SharedMemory.PAGE + SharedMemory.PAGE + SharedMemory.PAGE;

    @TempDir
    Path parent;

    private SharedMemory create() {
        return SharedMemory.create(parent, A, BYTES, () -> 0);
    }

    private static MemorySegment layOut(SharedMemory shared, Arena arena) {
        MemorySegment slots = shared.reserve(SLOTS, 4096, arena);
        shared.reserve(GUARDS, 4096, arena);
        shared.reserve(SUMS, 4096, arena);
        shared.publish(7);
        return slots;
    }

    private List<String> files() throws IOException {
        try (Stream<Path> found = Files.walk(parent)) {
            return found.filter(Files::isRegularFile).map(file -> String.valueOf(file.getFileName())).sorted().toList();
        }
    }

    @Test
    void onlyItsUserCanOpenWhatLiesThere() throws IOException {
        try (SharedMemory shared = create()) {
            assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(shared.directory())));
            assertEquals(List.of("a#1f.lock", "a#1f.pool"), files());
            for (String file : files()) {
                assertEquals("rw-------", PosixFilePermissions
                        .toString(Files.getPosixFilePermissions(shared.directory().resolve(file))));
            }
            assertEquals(Header.BYTES + BYTES, Files.size(shared.directory().resolve("a#1f.pool")));
        }
        assertEquals(List.of(), files(), "close removes both");
    }

    @Test
    void aDirectoryThatOthersCanEnterIsRefused() throws IOException {
        create().close();
        Path directory = parent.resolve("mooncake-" + System.getProperty("user.name"));
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-x---"));
        MooncakeException e = assertThrows(MooncakeException.class, this::create);
        assertEquals(Kind.CONFIG_ERROR, e.kind());
        assertTrue(e.getMessage().contains(directory.toString()) && e.getMessage().contains("rwxr-x---")
                && e.getMessage().contains("chmod 700"), e.getMessage());
    }

    @Test
    void aDirectoryOfAnotherUserIsRefused() throws IOException {
        create().close();
        Path directory = parent.resolve("mooncake-" + System.getProperty("user.name"));
        try {
            Files.setOwner(directory, directory.getFileSystem()
                    .getUserPrincipalLookupService()
                    .lookupPrincipalByName("nobody"));
        } catch (IOException e) {
            Assumptions.abort("this user cannot give files away: " + e);
        }
        MooncakeException e = assertThrows(MooncakeException.class, this::create);
        assertEquals(Kind.CONFIG_ERROR, e.kind());
        assertTrue(e.getMessage().contains("nobody"), e.getMessage());
        assertEquals(List.of(), files(), "nothing is left behind");
    }

    @Test
    void aLinkInTheDirectorysPlaceIsRefused() throws IOException {
        Path elsewhere = Files.createDirectory(parent.resolve("elsewhere"),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        Files.createSymbolicLink(parent.resolve("mooncake-" + System.getProperty("user.name")), elsewhere);
        MooncakeException e = assertThrows(MooncakeException.class, this::create);
        assertTrue(e.getMessage().contains("no directory"), e.getMessage());
    }

    @Test
    void aViewAskedForWhenTheMemoryWasJustLostIsNone() throws IOException {
        try (Arena arena = Arena.ofShared(); SharedMemory shared = create()) {
            layOut(shared, arena);
            PeerMemory memory = PeerMemory.open(A, shared.address());
            memory.beginPins(new NodeId("b", 2));
            assertEquals(1, shared.lentPins().scan());
            SharedBlock block = Objects.requireNonNull(memory.pin(0, 0, 0, 8));
            block.unpin();
            memory.close();
            assertNull(memory.pin(0, 0, 0, 8));
        }
    }

    @Test
    void noRoomNamesPathNeededAndFree() {
        long bytes = 1L << 60;
        MooncakeException e = assertThrows(MooncakeException.class,
                () -> SharedMemory.create(parent, A, bytes, () -> 0));
        assertEquals(Kind.CONFIG_ERROR, e.kind());
        assertTrue(e.getMessage().contains(parent.toString()) && e.getMessage().contains(" bytes) needed")
                && e.getMessage().contains(" bytes free") && e.getMessage().contains("sharedMemory = off"),
                e.getMessage());
    }

    /** What was free when it was looked at may be gone when it is written: then that is an error at start, and no crash later. */
    @Test
    void aFileSystemThatFillsUpWhileTheFileIsWrittenIsAnError() throws Exception {
        Path small = Files.createDirectory(parent.resolve("small"));
        Assumptions.assumeTrue(run("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", small.toString()) == 0,
                "this user cannot mount");
        try {
            IOException e = assertThrows(IOException.class,
                    () -> LockedFile.create(small, "a#1", ".pool", 2 << 20).close());
            assertTrue(String.valueOf(e.getMessage()).contains("No space left"), e.getMessage());
            try (Stream<Path> left = Files.list(small)) {
                assertEquals(List.of(), left.toList());
            }
            MooncakeException refused = assertThrows(MooncakeException.class,
                    () -> SharedMemory.create(small, A, 2 << 20, () -> 0));
            assertTrue(refused.getMessage().contains("2101248 bytes) needed, 1048576 bytes free"),
                    refused.getMessage());
        } finally {
            assertEquals(0, run("umount", small.toString()));
        }
    }

    private static int run(String... command) throws Exception {
        Process process;
        try {
            process = new ProcessBuilder(command).redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start();
        } catch (IOException e) {
            return -1;
        }
        assertTrue(process.waitFor(20, TimeUnit.SECONDS));
        return process.exitValue();
    }

    @Test
    void whatDiedIsSweptAtTheNextStartAndWhatLivesIsNot() throws IOException {
        try (SharedMemory shared = create()) {
            for (String dead : List.of("z#5.lock", "z#5.pool", "z#5@y#4.pins", "z#5@y#4.lock", "a#1f@y#4.lock")) {
                Files.createFile(shared.directory().resolve(dead));
            }
            SharedDirectory.open(parent);
            assertEquals(List.of("a#1f.lock", "a#1f.pool"), files());
            assertTrue(LockedFile.isAlive(shared.directory(), "a#1f"));
            assertFalse(LockedFile.isAlive(shared.directory(), "z#5"));
        }
    }

    @Test
    @SuppressWarnings("try") // What an early close does is what is tested.
    void aPeerFindsWhatTheAddressSays() throws IOException {
        try (Arena arena = Arena.ofShared()) {
            SharedMemory shared = create();
            layOut(shared, arena).set(ValueLayout.JAVA_BYTE, 5, (byte) 42);
            try (PeerMemory peer = PeerMemory.open(A, shared.address())) {
                assertEquals(7, peer.region());
                assertTrue(peer.isOwnerAlive());
                shared.close();
                assertFalse(peer.isOwnerAlive());
                assertFalse(peer.isOpen());
            }
        }
    }

    @Test
    void aPeerRefusesWhatIsNotTheFileThatTheAddressMeans() throws IOException {
        try (SharedMemory shared = create(); Arena arena = Arena.ofShared()) {
            assertSays(A, shared.address(), "no pool of this version");
            layOut(shared, arena);
            String address = shared.address();
            String directory = address.substring(0, address.lastIndexOf('#'));
            assertSays(A, directory + "#" + "0".repeat(32), "another incarnation or nonce");
            assertSays(new NodeId("a", 0x20), address, "no such file");
            assertSays(A, parent + "/none#" + "0".repeat(32), "no such file");
            assertSays(A, "nonsense", "is not directory#nonce");
            // In another life's name, with that life's own address.
            Files.copy(shared.directory().resolve("a#1f.pool"), shared.directory().resolve("a#20.pool"));
            assertSays(new NodeId("a", 0x20), address, "has ended");
            try (LockedFile _ = LockedFile.create(shared.directory(), "a#21", ".x", 1)) {
                Files.copy(shared.directory().resolve("a#1f.pool"), shared.directory().resolve("a#21.pool"));
                assertSays(new NodeId("a", 0x21), address, "another incarnation or nonce");
            }
            Files.delete(shared.directory().resolve("a#20.pool"));
            Files.delete(shared.directory().resolve("a#21.pool"));
        }
    }

    @Test
    void aFileThatIsShorterThanItsHeaderSaysIsRefused() throws IOException {
        try (SharedMemory shared = create(); Arena arena = Arena.ofShared()) {
            layOut(shared, arena);
            Path pool = shared.directory().resolve("a#1f.pool");
            byte[] page = Files.readAllBytes(pool);
            Files.delete(pool);
            Files.write(pool, java.util.Arrays.copyOf(page, (int) Header.BYTES + 100));
            assertSays(A, shared.address(), "shorter than its header says");
            Files.write(pool, new byte[100]);
            assertSays(A, shared.address(), "too short");
        }
    }

    /** Whatever another process wrote there: it is refused, or everything that it names is inside the file. */
    @Test
    void anyBytesInTheHeaderAreRefusedOrInside() throws IOException {
        long[] extremes = {0, 1, -1, 63, 64, 4095, 4096, 8192, 16384, 1L << 31, 1L << 40, Long.MAX_VALUE,
                Long.MIN_VALUE, Long.MAX_VALUE - 4096};
        try (SharedMemory shared = create(); Arena arena = Arena.ofShared()) {
            layOut(shared, arena);
            Path pool = shared.directory().resolve("a#1f.pool");
            byte[] good = Files.readAllBytes(pool);
            int opened = 0;
            int refused = 0;
            for (int at = 0; at < 96; at += 8) {
                for (long value : extremes) {
                    ByteBuffer bytes = ByteBuffer.wrap(good.clone()).order(ByteOrder.nativeOrder()).putLong(at, value);
                    Files.write(pool, bytes.array());
                    try (PeerMemory peer = PeerMemory.open(A, shared.address())) {
                        GuardedRead last = read(SLOTS - 1, 1, GUARDS - 64);
                        assertTrue(peer.objection(read(1L << 41, 1, 0)) != null);
                        assertTrue(peer.objection(read(0, 1, 1L << 41)) != null);
                        if (peer.objection(last) == null) {
                            assertEquals(ReadStatus.STALE, peer.copy(last, 1), "what it names can be read");
                        }
                        opened++;
                    } catch (IOException e) {
                        refused++;
                    }
                }
            }
            assertTrue(opened > 10 && refused > 10, opened + " opened, " + refused + " refused");
        }
    }

    private static GuardedRead read(long offset, long length, long guardOffset) {
        ReadListener nobody = new ReadListener() {
            @Override
            public void onReadEnded(GuardedRead read, ReadStatus status) {}

            @Override
            public boolean isGivenUp(GuardedRead read) {
                return false;
            }
        };
        MemorySegment memory = Arena.ofAuto().allocate(16);
        Region region = new RegionTable(A, (done, deadlineNs) -> true, () -> 0, 0).register(Memory.of(memory),
                Access.LOCAL_ONLY);
        return new GuardedRead(nobody, 0).from(new Peer(A, Map.of()), 7, offset, length)
                .guardedBy(guardOffset, 1)
                .into(region, 0);
    }

    @Test
    void anyBytesInATableOfPinsAreIgnoredOrCounted() throws IOException {
        try (SharedMemory shared = create(); Arena arena = Arena.ofShared()) {
            layOut(shared, arena);
            Path table = shared.directory().resolve("a#1f@b#2.pins");
            LentPins pins = shared.lentPins();
            Files.write(table, new byte[10]);
            assertEquals(0, pins.scan());
            ByteBuffer bytes = ByteBuffer.allocate(64 + 16).order(ByteOrder.nativeOrder());
            bytes.putLong(0, 0x4d4b534850494e53L).putLong(8, 1).putLong(16, 0x1f).putLong(24, 2);
            for (long slots : new long[]{-1, 3, Long.MAX_VALUE, Long.MIN_VALUE}) {
                Files.write(table, bytes.putLong(32, slots).array());
                assertEquals(0, pins.scan(), slots + " slots");
            }
            Files.write(table, bytes.putLong(32, 1).putLong(64, 5).putLong(72, 5).array());
            assertEquals(1, pins.scan());
            assertTrue(pins.isPinned(0));
            assertFalse(pins.isPinned(64), "it has one slot only");
            assertFalse(pins.isPinned(1L << 40));
        }
    }

    private static void assertSays(NodeId owner, String address, String what) {
        IOException e = assertThrows(IOException.class, () -> PeerMemory.open(owner, address).close());
        assertTrue(SharedDirectory.reason(e).contains(what), SharedDirectory.reason(e));
    }
}
