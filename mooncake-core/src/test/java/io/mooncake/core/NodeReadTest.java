package io.mooncake.core;

import static io.mooncake.core.TestNodes.BLOCK;
import static io.mooncake.core.TestNodes.isAll;
import static io.mooncake.core.TestNodes.segment;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.base.PageMap;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A block written on one node is read on every other, whichever way and in whichever threading mode. */
class NodeReadTest {
    private static final BlockId ID = BlockId.of("block-1");

    @ParameterizedTest
    @EnumSource(value = ThreadingMode.class, names = {"SHARED", "DEDICATED"})
    void shouldReadByIdWhereverTheBlockIs(ThreadingMode mode) {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a", builder -> builder.threading(mode).sharedMemory("off"));
            Node b = nodes.start("b", builder -> builder.threading(mode).sharedMemory("off"));
            BlockRef ref = TestNodes.write(a, ID, BLOCK, 0x5A);
            for (Node node : List.of(a, b)) {
                Region region = nodes.region(node, BLOCK);
                assertEquals(Outcome.OK, node.store().read(ID, 0, Piece.WHOLE, region, 0));
                assertTrue(isAll(segment(region), 0, BLOCK, 0x5A));
                assertEquals(Outcome.OK, node.store().read(ref, region, 0));
                region.close();
            }
            assertEquals(2 * BLOCK, a.counters().get(Counter.BYTES_COPIED));
            assertEquals(2 * BLOCK, b.counters().get(Counter.BYTES_PULLED));
            assertEquals(2, a.counters().get(Counter.READS_SERVED));
        }
    }

    @Test
    void shouldRunEverythingInTheOwnersThreadWhenInvoked() {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            Node b = nodes.start("b", builder -> builder.threading(ThreadingMode.INVOKER));
            TestNodes.write(a, ID, BLOCK, 3);
            Region region = nodes.region(b, BLOCK);
            assertEquals(Outcome.OK, b.store().read(ID, 0, Piece.WHOLE, region, 0));
            assertTrue(isAll(segment(region), 0, BLOCK, 3));
            Thread other = Thread.ofPlatform()
                    .start(() -> assertEquals(Kind.ILLEGAL_STATE,
                            assertThrows(MooncakeException.class, b::doWork).kind()));
            join(other);
            assertEquals(Kind.ILLEGAL_STATE, assertThrows(MooncakeException.class, a::doWork).kind());
        }
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void shouldReadRangesAndScatterPages() {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            Node b = nodes.start("b");
            TestNodes.write(a, ID, BLOCK, 7);
            Region region = nodes.region(b, BLOCK);
            PageMap pages = new PageMap(256, 1024, 2048, new int[]{5, 0, 1});
            Transfer transfer = TestNodes
                    .prepare(b, Piece.of(ID, 100, 3000, Destination.pages(region, pages)).withStage(1),
                            Piece.of(ID, 4096, 8, Destination.at(region, 8)))
                    .submit();
            assertEquals(Transfer.State.COMPLETED, transfer.join());
            assertEquals(1, transfer.stage());
            assertEquals(3008, transfer.received());
            assertTrue(isAll(segment(region), 256 + 5 * 2048, 1024, 7));
            assertTrue(isAll(segment(region), 256, 1024, 7));
            assertTrue(isAll(segment(region), 256 + 2048, 952, 7));
            assertTrue(isAll(segment(region), 256 + 2048 + 952, 1024 + 72, 0));
            assertTrue(isAll(segment(region), 8, 8, 7));
            assertEquals(Outcome.REFUSED, b.store().read(ID, BLOCK - 4, 8, region, 0));
        }
    }

    @Test
    void shouldKeepAReplicaOfAPulledBlock() throws Exception {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            Node b = nodes.start("b");
            BlockRef ref = TestNodes.write(a, ID, BLOCK, 9);
            Transfer pull = TestNodes.prepare(b, Piece.replica(ID)).submit();
            assertEquals(Transfer.State.COMPLETED, pull.join());
            try (BlockView view = b.store().newView()) {
                assertTrue(b.store().acquire(ID, view));
                assertEquals(ref.version(), view.ref().version());
                assertTrue(isAll(view.segment(), 0, BLOCK, 9));
            }
            TestNodes.announced(b);
            assertEquals(2, b.store().locations(ID).size());
            // Pulled again it is there already.
            assertEquals(Transfer.State.COMPLETED, pull.submit().join());
            assertEquals(BLOCK, b.counters().get(Counter.BYTES_PULLED));
            // The replica serves when the source has gone.
            assertEquals(1, a.store().evict(List.of(ID)));
            TestNodes.announced(a);
            Region region = nodes.region(a, BLOCK);
            assertEquals(Outcome.OK, a.store().read(ID, 0, Piece.WHOLE, region, 0));
            assertTrue(isAll(segment(region), 0, BLOCK, 9));
        }
    }

    @Test
    void shouldReadByReferenceOfANodeGivenByAddress() {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            BlockRef ref = TestNodes.write(a, ID, BLOCK, 1);
            LocalRegistry other = new LocalRegistry().withAddress("a", "tcp", a.endpoint().orElseThrow().toString());
            Node b = nodes.start("b", builder -> builder.registry(other));
            Region region = nodes.region(b, BLOCK);
            assertEquals(Outcome.OK, b.store().read(BlockRef.fromBytes(ref.toBytes()), region, 0));
            assertTrue(isAll(segment(region), 0, BLOCK, 1));
            assertEquals(Outcome.ABSENT, b.store().read(ID, 0, Piece.WHOLE, region, 0));
        }
    }

    @Test
    void shouldSayUnreachableWhenTheHolderIsClosed() {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            Node b = nodes.start("b");
            BlockRef ref = TestNodes.write(a, ID, BLOCK, 1);
            a.close();
            Region region = nodes.region(b, BLOCK);
            Transfer transfer = TestNodes.prepare(b, Piece.of(ref, 0, Piece.WHOLE, Destination.at(region, 0)))
                    .submit();
            assertEquals(Transfer.State.FAILED, transfer.join());
            assertEquals(Outcome.UNREACHABLE, transfer.outcome(0));
            assertEquals(Kind.PEER_UNREACHABLE, Objects.requireNonNull(transfer.cause(0)).kind());
            assertEquals(Outcome.ABSENT, b.store().read(ID, 0, Piece.WHOLE, region, 0));
        }
    }

    @Test
    void shouldFindAnotherHolderWhenTheFirstEvicted() {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            Node b = nodes.start("b");
            Node c = nodes.start("c");
            BlockRef ref = TestNodes.write(a, ID, BLOCK, 4);
            assertEquals(Transfer.State.COMPLETED,
                    TestNodes.prepare(b, Piece.replica(ID)).submit().join());
            TestNodes.announced(b);
            a.store().evict(List.of(ID));
            TestNodes.announced(a);
            Region region = nodes.region(c, BLOCK);
            assertEquals(Outcome.OK, c.store().read(ref, region, 0));
            assertTrue(isAll(segment(region), 0, BLOCK, 4));
            assertEquals(1, c.counters().get(Counter.PIECE_RETRIES));
        }
    }

    @Test
    void shouldDeliverMessagesInOrder() throws Exception {
        LinkedBlockingQueue<String> got = new LinkedBlockingQueue<>();
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            Node b = nodes.start("b", builder -> builder.messages((from, message) -> got
                    .add(from.name() + ":" + new String(message, StandardCharsets.UTF_8))));
            for (int i = 0; i < 3; i++) {
                assertTrue(a.send(b.id(), StandardCharsets.UTF_8.encode("m" + i)));
            }
            for (int i = 0; i < 3; i++) {
                assertEquals("a:m" + i, got.poll(20, TimeUnit.SECONDS));
            }
            assertFalse(a.send(new NodeId("nobody", 1), ByteBuffer.allocate(1)));
            assertThrows(MooncakeException.class, () -> a.send(b.id(), ByteBuffer.allocate(70_000)));
        }
    }
}
