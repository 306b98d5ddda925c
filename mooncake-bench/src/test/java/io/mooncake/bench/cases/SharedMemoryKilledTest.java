package io.mooncake.bench.cases;

import static io.mooncake.bench.cases.SharedMemoryProgram.BLOCK;
import static io.mooncake.bench.cases.SharedMemoryProgram.ID;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.bench.cli.Child;
import io.mooncake.core.BlockStore;
import io.mooncake.core.Node;
import io.mooncake.core.Reach;
import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Memory;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Two processes that share memory, and what the death of one of them, without any farewell, means to the other. */
class SharedMemoryKilledTest {
    private static final Duration LIMIT = Duration.ofSeconds(60);

    private Path parent = Path.of("");

    @BeforeEach
    void makeDirectory() throws IOException {
        Path memory = Path.of("/dev/shm");
        parent = Files.isWritable(memory)
                ? Files.createTempDirectory(memory, "mooncake-test")
                : Files.createTempDirectory("mooncake-test");
    }

    @AfterEach
    void nothingIsLeft() throws IOException {
        try (Stream<Path> left = Files.walk(parent)) {
            List<Path> all = left.sorted(java.util.Comparator.reverseOrder()).toList();
            for (Path path : all) {
                Files.delete(path);
            }
            assertEquals(List.of(), all.stream().filter(path -> path.toString().contains("#")).toList(),
                    "files of processes that ended");
        }
    }

    @Test
    void killedOwner() throws IOException {
        try (Child owner = Child.start(List.of(), SharedMemoryProgram.class, List.of("owner", parent.toString()));
                Arena arena = Arena.ofShared()) {
            LocalRegistry registry = new LocalRegistry().withAddress("owner", "tcp", line(owner))
                    .withAddress("owner", "shm", line(owner));
            BlockRef ref = BlockRef.fromBytes(HexFormat.of().parseHex(line(owner)));
            try (Node reader = Node
                    .start(SharedMemoryProgram.config("b", parent.toString()).registry(registry).build());
                    Region region = reader.register(Memory.of(arena.allocate(BLOCK, 64)), Access.LOCAL_ONLY);
                    BlockView view = reader.store().newView()) {
                BlockStore store = reader.store();
                until(() -> store.acquire(ref, view, Reach.HOST), "no view");
                assertEquals(Outcome.OK, store.read(ref, region, 0));
                assertTrue(isAll(((Memory.HostMemory) region.memory()).segment(), 7));
                assertEquals(0, reader.counters().get(Counter.LANES_OPENED), "not by tcp");

                owner.kill();
                owner.waitFor(LIMIT);
                until(() -> store.read(ref, region, 0) == Outcome.UNREACHABLE, "reads of a dead node go on");
                assertTrue(isAll(view.segment(), 7), "the view is memory as before");
                try (BlockView second = store.newView()) {
                    assertFalse(store.acquire(ref, second, Reach.HOST), "a dead node's blocks cannot be pinned");
                }
                assertEquals(1, files("owner#", ".pool"), "nobody has swept yet");
                Node.start(SharedMemoryProgram.config("c", parent.toString()).build()).close();
                assertEquals(0, files("owner#", ".pool"), "swept at the next start");
                assertTrue(isAll(view.segment(), 7), "the view is memory as before, with no name any more");
            }
        }
    }

    @Test
    void killedReader() throws IOException {
        try (Node owner = Node.start(SharedMemoryProgram.config("owner", parent.toString()).build())) {
            BlockRef ref = SharedMemoryProgram.write(owner, 9);
            try (Child reader = Child.start(List.of(), SharedMemoryProgram.class,
                    List.of("reader", parent.toString(), address(owner, "tcp"), address(owner, "shm"),
                            HexFormat.of().formatHex(ref.toBytes())))) {
                assertEquals("pinned 9", line(reader));
                assertEquals(1, owner.store().evict(List.of(ID)));
                // Much longer than it takes to look whether a reader lives.
                long until = System.nanoTime() + Duration.ofSeconds(1).toNanos();
                for (int i = 0; System.nanoTime() - until < 0; i++) {
                    fill(owner, "other-" + i % 3);
                    assertTrue(owner.usage().used() > 0, "a live reader's pin ended by time");
                }
                owner.store().evict(List.of(BlockId.of("other-0"), BlockId.of("other-1"), BlockId.of("other-2")));
                until(() -> owner.usage().used() == 1, "only the pinned slot is out: " + owner.usage());

                reader.kill();
                reader.waitFor(LIMIT);
                until(() -> owner.usage().used() == 0, "a killed reader's pin did not end: " + owner.usage());
            }
            // The reader's own files.
            Node.start(SharedMemoryProgram.config("c", parent.toString()).build()).close();
        }
    }

    @Test
    void aProcessThatEndsWithoutClosingItsNodeGivesTheMemoryBack() throws IOException {
        try (Child forgetful = Child.start(List.of(), SharedMemoryProgram.class,
                List.of("forgetful", parent.toString()))) {
            line(forgetful);
            assertEquals(1, files("forgetful#", ".pool"));
        }
        assertEquals(0, files("forgetful#", ".pool"), "memory that nobody has");
        Node.start(SharedMemoryProgram.config("c", parent.toString()).build()).close();
    }

    private static String address(Node node, String engine) {
        String address = node.addresses().get(engine);
        assertNotNull(address);
        return address;
    }

    private static void fill(Node node, String id) {
        try (BlockWriter writer = node.store().allocate(BlockId.of(id), BLOCK)) {
            writer.segment().fill((byte) 1);
            writer.commit();
        }
    }

    private static String line(Child child) {
        String line = child.readLine(LIMIT);
        assertNotNull(line, "it ended: see its error");
        return line;
    }

    private long files(String prefix, String suffix) throws IOException {
        try (Stream<Path> found = Files.walk(parent)) {
            return found.map(path -> String.valueOf(path.getFileName()))
                    .filter(name -> name.startsWith(prefix) && name.endsWith(suffix))
                    .count();
        }
    }

    private static boolean isAll(MemorySegment bytes, int fill) {
        for (long at = 0; at < bytes.byteSize(); at += Long.BYTES) {
            if (bytes.get(ValueLayout.JAVA_LONG_UNALIGNED, at) != fill * 0x0101010101010101L) {
                return false;
            }
        }
        return true;
    }

    private static void until(BooleanSupplier condition, String what) {
        long deadline = System.nanoTime() + LIMIT.toNanos();
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() - deadline < 0, what);
            Thread.onSpinWait();
        }
    }
}
