package io.mooncake.core;

import static io.mooncake.core.TestNodes.BLOCK;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.Tier;
import io.mooncake.core.pool.MemorySource;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Two nodes that share memory; that they are of one process makes no difference to them. */
@Timeout(60)
class SharedMemoryTest {
    private static final BlockId ID = BlockId.of("k");

    @TempDir
    Path parent;

    private final TestNodes nodes = new TestNodes();

    @AfterEach
    void close() throws IOException {
        nodes.close();
        assertEquals(List.of(), files(), "a node that closes takes its files away");
    }

    private List<String> files() throws IOException {
        try (Stream<Path> found = Files.walk(parent)) {
            return found.filter(Files::isRegularFile).map(Path::toString).toList();
        }
    }

    private Node start(String name) {
        return nodes.start(name, builder -> builder.sharedMemory(parent.toString()));
    }

    private static void until(BooleanSupplier condition, String what) {
        long deadline = System.nanoTime() + TestNodes.LONG.toNanos();
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() - deadline < 0, what);
            Thread.onSpinWait();
        }
    }

    private static void untilReadByShm(Node reader, BlockId id) {
        until(() -> reader.store().explain(id).contains(": shm (its memory is mapped here)"),
                "not mapped: " + reader.store().explain(id));
    }

    /** A view of another node's block, once its owner has acknowledged the table of pins. */
    private static BlockView viewOf(Node reader, BlockId id) {
        BlockView view = reader.store().newView();
        until(() -> reader.store().acquire(id, view, Reach.HOST), "no view of " + id);
        return view;
    }

    @Test
    void aBlockIsCopiedOutOfTheOtherNodesMemory() {
        Node owner = start("a");
        Node reader = start("b");
        TestNodes.write(owner, ID, BLOCK, 7);
        untilReadByShm(reader, ID);
        Region region = nodes.region(reader, BLOCK);
        assertEquals(Outcome.OK, reader.store().read(ID, 10, BLOCK - 10, region, 3));
        assertTrue(TestNodes.isAll(TestNodes.segment(region), 3, BLOCK - 10, 7));
        assertEquals(0, owner.counters().get(Counter.BYTES_SERVED), "the owner did nothing");
        assertEquals(BLOCK - 10, reader.counters().get(Counter.BYTES_PULLED));
    }

    @Test
    void whatWasEvictedIsStaleAndNeverWrong() {
        Node owner = start("a");
        Node reader = start("b");
        BlockRef ref = TestNodes.write(owner, ID, BLOCK, 7);
        untilReadByShm(reader, ID);
        Region region = nodes.region(reader, BLOCK);
        owner.store().evict(List.of(ID));
        TestNodes.announced(owner);
        assertEquals(Outcome.STALE, reader.store().read(ref, region, 0));
    }

    @Test
    void messagesGoByTcpThoughReadsGoByShm() throws Exception {
        var received = new java.util.concurrent.LinkedBlockingQueue<String>();
        Node owner = nodes.start("a", builder -> builder.sharedMemory(parent.toString())
                .messages((from, bytes) -> received.add(from.name() + bytes.length)));
        Node reader = start("b");
        TestNodes.write(owner, ID, BLOCK, 7);
        untilReadByShm(reader, ID);
        assertTrue(reader.send(owner.id(), ByteBuffer.allocate(3)));
        assertEquals("b3", received.poll(20, java.util.concurrent.TimeUnit.SECONDS));
    }

    @Test
    @SuppressWarnings("try") // What an early close does is what is tested.
    void aViewOfAnotherNodesBlockShowsItsMemory() {
        Node owner = start("a");
        Node reader = start("b");
        BlockRef ref = TestNodes.write(owner, ID, BLOCK, 7);
        BlockView local = reader.store().newView();
        assertFalse(reader.store().acquire(ID, local), "who asks for local hits gets no others");
        assertFalse(reader.store().acquire(ID, local, Reach.NODE));
        BlockView shown = viewOf(reader, ID);
        assertEquals(ref, shown.ref());
        assertEquals(BLOCK, shown.length());
        assertEquals(Tier.DRAM, shown.tier());
        assertEquals(-1, shown.device());
        assertEquals(shown.segment().address(), shown.address());
        assertTrue(shown.segment().isReadOnly());
        assertTrue(TestNodes.isAll(shown.segment(), 0, BLOCK, 7));
        MooncakeException e = assertThrows(MooncakeException.class,
                () -> reader.store().acquire(ID, shown, Reach.HOST));
        assertEquals(Kind.ILLEGAL_STATE, e.kind());
        shown.close();
        assertFalse(shown.isOpen());
        assertThrows(MooncakeException.class, shown::segment);
        assertTrue(reader.store().acquire(ref, shown, Reach.HOST), "by its reference, too");
        shown.close();
        assertEquals(2, reader.counters().get(Counter.VIEWS));
        TestNodes.write(reader, ID, BLOCK, 8);
        try (BlockView view = reader.store().newView()) {
            assertTrue(reader.store().acquire(ID, view, Reach.HOST));
            assertEquals(reader.id(), view.ref().node(), "a local hit comes first");
        }
    }

    @Test
    void aViewKeepsTheSlotAtItsOwnerUntilItIsClosed() {
        Node owner = start("a");
        Node reader = start("b");
        BlockRef ref = TestNodes.write(owner, ID, BLOCK, 7);
        BlockView view = viewOf(reader, ID);
        owner.store().evict(List.of(ID));
        for (int i = 0; i < 40; i++) {
            TestNodes.write(owner, BlockId.of("other-" + i), BLOCK, 9);
        }
        assertTrue(TestNodes.isAll(view.segment(), 0, BLOCK, 7), "the slot was written while somebody looked at it");
        view.close();
        BlockView again = reader.store().newView();
        assertFalse(reader.store().acquire(ref, again, Reach.HOST), "an evicted block cannot be pinned again");
        owner.store().evict(java.util.stream.IntStream.range(0, 40).mapToObj(i -> BlockId.of("other-" + i)).toList());
        until(() -> owner.usage().used() == 0, "a slot was not freed after its last view: " + owner.usage());
    }

    @Test
    void aReaderThatClosesKeepsWhatItStillShows() {
        Node owner = start("a");
        Node reader = start("b");
        TestNodes.write(owner, ID, BLOCK, 7);
        BlockView view = viewOf(reader, ID);
        reader.close();
        owner.store().evict(List.of(ID));
        TestNodes.announced(owner);
        assertTrue(TestNodes.isAll(view.segment(), 0, BLOCK, 7));
        assertEquals(1, owner.usage().used(), "the pin outlives its node, not its view");
        view.close();
        until(() -> owner.usage().used() == 0, "not freed: " + owner.usage());
    }

    @Test
    void anOwnerThatClosesDoesNotWaitForViewsAndTheyStay() {
        Node owner = start("a");
        Node reader = start("b");
        BlockRef ref = TestNodes.write(owner, ID, BLOCK, 7);
        BlockView view = viewOf(reader, ID);
        owner.close();
        assertTrue(TestNodes.isAll(view.segment(), 0, BLOCK, 7));
        BlockView second = reader.store().newView();
        assertFalse(reader.store().acquire(ref, second, Reach.HOST));
        view.close();
        Region region = nodes.region(reader, BLOCK);
        assertNotEquals(Outcome.OK, reader.store().read(ref, region, 0));
    }

    @Test
    void explainSaysWhichWayAndWhyNotTheOthers() {
        Node owner = start("a");
        Node reader = start("b");
        assertEquals("block k: no node is known to have it", reader.store().explain(ID).replace(ID.toString(), "k"));
        TestNodes.write(owner, ID, BLOCK, 7);
        String own = owner.store().explain(ID);
        assertTrue(own.contains("local (the block is on this node), because shm: "), own);
        untilReadByShm(reader, ID);
        String byShm = reader.store().explain(ID);
        assertTrue(byShm.contains("local: the block is on another node; tcp: would do, but shm is better"), byShm);
        Node without = nodes.start("c", builder -> builder.sharedMemory("off"));
        String byTcp = without.store().explain(ID);
        assertTrue(byTcp.contains(": tcp (its address is known), because local: the block is on another node"), byTcp);
    }

    @Test
    void explainTellsOfAReferenceThatTheRegistryDoesNotKnow() {
        Node owner = start("a");
        BlockRef ref = TestNodes.write(owner, ID, BLOCK, 7);
        LocalRegistry given = new LocalRegistry().withAddress("a", "tcp",
                owner.endpoint().orElseThrow().toString());
        Node reader = nodes.start("b", builder -> builder.sharedMemory("off").registry(given));
        assertTrue(reader.store().explain(ID).endsWith("no node is known to have it"), reader.store().explain(ID));
        String known = reader.store().explain(ref);
        assertTrue(known.contains(": tcp (its address is known), because local: "), known);
        Node alone = nodes.start("c", builder -> builder.sharedMemory("off").registry(new LocalRegistry()));
        String unknown = alone.store().explain(ref);
        assertTrue(unknown.endsWith("no way, because the node is not known, or not in this incarnation"), unknown);
    }

    @Test
    void explainSaysWhyAFileCannotBeOpened() throws IOException {
        Node owner = start("a");
        TestNodes.write(owner, ID, BLOCK, 7);
        Path pool = Path.of(files().stream().filter(file -> file.endsWith(".pool")).findFirst().orElseThrow());
        Files.move(pool, parent.resolve("away"));
        Node reader = start("b");
        until(() -> reader.store().explain(ID).contains("shm: no such file or directory: " + pool),
                reader.store().explain(ID));
        assertTrue(reader.store().explain(ID).contains(": tcp ("));
        Region region = nodes.region(reader, BLOCK);
        assertEquals(Outcome.OK, reader.store().read(ID, 0, BLOCK, region, 0), "tcp works all the same");
        Files.delete(parent.resolve("away"));
    }

    @Test
    void anExplicitDirectoryWithoutRoomIsAnErrorAndTheDefaultIsNot() {
        MooncakeException e = assertThrows(MooncakeException.class,
                () -> nodes.start("a",
                        builder -> builder.sharedMemory(parent.toString()).poolSize(1L << 50).blockSize(1L << 40)));
        assertEquals(Kind.CONFIG_ERROR, e.kind());
        assertTrue(e.getMessage().contains(parent.toString()) && e.getMessage().contains("needed"), e.getMessage());
        MooncakeException none = assertThrows(MooncakeException.class,
                () -> nodes.start("a", builder -> builder.sharedMemory("/no/such/directory")));
        assertTrue(none.getMessage().contains("/no/such/directory"), none.getMessage());
        NodeConfig tooLarge = NodeConfig.builder("a").poolSize(1L << 50).blockSize(1L << 40).build();
        assertEquals("no shared memory",
                PoolMemory.choose(tooLarge, new io.mooncake.core.base.NodeId("a", 1)).toString());
    }

    @Test
    void settingsThatExcludeEachOtherAreRefused() {
        for (String value : new String[]{"", "relative/path", "on"}) {
            MooncakeException e = assertThrows(MooncakeException.class,
                    () -> NodeConfig.builder("a").set("sharedMemory", value).build());
            assertEquals(Kind.CONFIG_ERROR, e.kind());
            assertTrue(e.getMessage().contains("sharedMemory = '" + value + "'"), e.getMessage());
        }
        assertThrows(MooncakeException.class,
                () -> NodeConfig.builder("a").sharedMemory("/dev/shm").memory(MemorySource.anonymous()).build());
    }

    @Test
    void anInvokedNodeSharesToo() {
        Node owner = start("a");
        Node reader = nodes.start("b",
                builder -> builder.sharedMemory(parent.toString()).threading(ThreadingMode.INVOKER));
        TestNodes.write(owner, ID, BLOCK, 7);
        until(() -> reader.doWork() >= 0 && reader.store().explain(ID).contains(": shm ("), "not mapped");
        BlockView view = reader.store().newView();
        until(() -> reader.doWork() >= 0 && reader.store().acquire(ID, view, Reach.HOST), "no view");
        MemorySegment bytes = view.segment();
        assertTrue(TestNodes.isAll(bytes, 0, BLOCK, 7));
        view.close();
    }
}
