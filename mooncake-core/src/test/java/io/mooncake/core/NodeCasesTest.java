package io.mooncake.core;

import static io.mooncake.core.TestNodes.BLOCK;
import static io.mooncake.core.TestNodes.isAll;
import static io.mooncake.core.TestNodes.segment;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Acceptance cases on whole nodes: what users of such systems met elsewhere. */
class NodeCasesTest {
    private static final BlockId K1 = BlockId.of("k1");
    private static final BlockId K2 = BlockId.of("k2");
    private static final BlockId K3 = BlockId.of("k3");

    @Test
    void C10_oneMissingBlockDoesNotSpoilTheBatch() {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            Node b = nodes.start("b");
            TestNodes.write(a, K1, BLOCK, 1);
            TestNodes.write(b, K3, BLOCK, 3);
            Region region = nodes.region(b, 3 * BLOCK);
            segment(region).fill((byte) 0xEE);
            Transfer batch = TestNodes.prepare(b, Piece.of(K1, 0, Piece.WHOLE, Destination.at(region, 0)),
                    Piece.of(K2, 0, BLOCK, Destination.at(region, BLOCK)),
                    Piece.of(K3, 0, Piece.WHOLE, Destination.at(region, 2 * BLOCK)))
                    .submit();
            assertEquals(Transfer.State.FAILED, batch.join());
            assertEquals(List.of(Outcome.OK, Outcome.ABSENT, Outcome.OK),
                    IntStream.range(0, 3).mapToObj(batch::outcome).toList());
            assertTrue(isAll(segment(region), 0, BLOCK, 1));
            assertTrue(isAll(segment(region), BLOCK, BLOCK, 0xEE));
            assertTrue(isAll(segment(region), 2 * BLOCK, BLOCK, 3));
            // Writing several: the one that is too large is refused, the others are there.
            TestNodes.write(a, BlockId.of("w1"), BLOCK, 1);
            assertEquals(Kind.OUT_OF_BOUNDS, assertThrows(MooncakeException.class,
                    () -> a.store().allocate(BlockId.of("w2"), BLOCK + 1)).kind());
            TestNodes.write(a, BlockId.of("w3"), BLOCK, 3);
            assertEquals(1, a.store().locations(BlockId.of("w1")).size());
            assertEquals(0, a.store().locations(BlockId.of("w2")).size());
            assertEquals(1, a.store().locations(BlockId.of("w3")).size());
        }
    }

    @Test
    void C12_aReferenceToAReusedSlotIsStale() {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a", builder -> builder.poolSize(2 * BLOCK).spareSlots(1));
            Node b = nodes.start("b");
            BlockRef v1 = TestNodes.write(a, K1, BLOCK, 0x11);
            // Two slots in all: after two more blocks the first one's slot is another block's.
            BlockRef reused = v1;
            for (int i = 0; i < 4 && (reused.equals(v1) || reused.offset() != v1.offset()); i++) {
                a.store().evict(List.of(reused.id()));
                TestNodes.announced(a);
                reused = TestNodes.write(a, BlockId.of("other-" + i), BLOCK, 0x22);
            }
            assertEquals(v1.offset(), reused.offset());
            Region region = nodes.region(b, BLOCK);
            segment(region).fill((byte) 0xEE);
            assertEquals(Outcome.STALE, b.store().read(v1, region, 0));
            assertEquals(1, b.counters().get(Counter.PIECES_STALE));
            assertTrue(isAll(segment(region), 0, BLOCK, 0xEE), "the server refused before it sent a byte");
            try (BlockView view = a.store().newView()) {
                assertFalse(a.store().acquire(v1, view));
            }
        }
    }

    @Test
    void C13_noReadIsTornWhileTheBlockIsRewritten() throws Exception {
        long length = 1 << 20;
        long rounds = Boolean.getBoolean("mooncake.full") ? 20_000 : 300;
        AtomicLong ok = new AtomicLong();
        AtomicInteger bad = new AtomicInteger();
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a", builder -> builder.blockSize(length).poolSize(8 * length));
            List<Node> readers = List.of(a, nodes.start("b"), nodes.start("c"));
            List<Thread> threads = new ArrayList<>();
            AtomicInteger writing = new AtomicInteger(2);
            for (int w = 0; w < 2; w++) {
                int first = w;
                threads.add(Thread.ofPlatform().start(() -> {
                    try {
                        for (int i = first; i < rounds || (ok.get() == 0 && i < 100 * rounds); i += 2) {
                            rewrite(a, length, i);
                        }
                    } finally {
                        writing.decrementAndGet();
                    }
                }));
            }
            for (Node node : readers) {
                Region region = nodes.region(node, length);
                threads.add(Thread.ofPlatform().start(() -> {
                    do {
                        Transfer read = TestNodes.prepare(node, Piece.of(K1, 0, Piece.WHOLE, Destination.at(region, 0)))
                                .submit();
                        if (read.join() == Transfer.State.COMPLETED) {
                            ok.incrementAndGet();
                            bad.addAndGet(isOneWriting(segment(region)) ? 0 : 1);
                        }
                    } while (writing.get() > 0);
                }));
            }
            for (Thread thread : threads) {
                thread.join();
            }
        }
        assertEquals(0, bad.get(), "reads that mixed two writings");
        assertNotEquals(0, ok.get(), "no read succeeded");
    }

    private static void rewrite(Node node, long length, int i) {
        try (BlockWriter writer = node.store()
                .allocate(K1, length, Placement.DRAM.withWriterTtl(Duration.ofMillis(1)))) {
            MemorySegment segment = writer.segment();
            for (long at = 0; at < length; at += 4) {
                segment.set(ValueLayout.JAVA_INT, at, i);
            }
            writer.commit();
            if (i % 4 < 2) {
                node.store().evict(List.of(K1));
            }
        } catch (MooncakeException e) {
            // The other writer has the id, or took it: both are legal here.
            assertTrue(e.kind() == Kind.IN_USE || e.kind() == Kind.STALE_VERSION, e::toString);
        }
    }

    private static boolean isOneWriting(MemorySegment segment) {
        int first = segment.get(ValueLayout.JAVA_INT, 0);
        for (long at = 0; at < segment.byteSize(); at += 4) {
            if (segment.get(ValueLayout.JAVA_INT, at) != first) {
                return false;
            }
        }
        return true;
    }

    @Test
    void C14_anAllocatedBlockIsInvisible() {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            Node b = nodes.start("b");
            try (BlockWriter writer = a.store().allocate(K1, BLOCK); BlockView view = a.store().newView()) {
                writer.segment().fill((byte) 1);
                Region region = nodes.region(b, BLOCK);
                assertFalse(a.store().acquire(K1, view));
                assertEquals(Outcome.ABSENT, b.store().read(K1, 0, BLOCK, region, 0));
                assertEquals(0, a.store().evict(List.of(K1)));
                assertEquals(List.of(), b.store().locations(K1));
                try (PrefixMatch match = a.store().match(List.of(K1), TestNodes.LONG)) {
                    assertEquals(PrefixMatch.Status.PENDING, match.status(0));
                    assertEquals(0, match.hits());
                    assertNotEquals(0, match.pendingUntilNs(0));
                }
            }
        }
    }

    @Test
    void C16_aLateCommitOfTheFirstOwnerIsStale() {
        AtomicLong now = new AtomicLong(1);
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a", builder -> builder.nanoClock(() -> now.addAndGet(1_000)));
            BlockWriter first = a.store().allocate(K1, BLOCK, Placement.DRAM.withWriterTtl(Duration.ofSeconds(1)));
            assertEquals(Kind.IN_USE,
                    assertThrows(MooncakeException.class, () -> a.store().allocate(K1, BLOCK)).kind());
            now.addAndGet(Duration.ofSeconds(3).toNanos());
            BlockRef second = TestNodes.write(a, K1, BLOCK, 0x22);
            first.segment().fill((byte) 0x11);
            assertEquals(Kind.STALE_VERSION, assertThrows(MooncakeException.class, first::commit).kind());
            assertThrows(MooncakeException.class, first::abort);
            try (BlockView view = a.store().newView()) {
                assertTrue(a.store().acquire(K1, view));
                assertEquals(second, view.ref());
                assertTrue(isAll(view.segment(), 0, BLOCK, 0x22));
            }
            first.close();
        }
    }

    @Test
    void C86_fiftyNodesOnEphemeralPortsAndATakenOneIsNamed() {
        try (TestNodes nodes = new TestNodes()) {
            List<Node> fifty = new ArrayList<>();
            for (int i = 0; i < 50; i++) {
                fifty.add(nodes.start("n" + i, builder -> builder.poolSize(2 * BLOCK)));
            }
            assertEquals(50, fifty.stream().map(node -> node.endpoint().orElseThrow()).distinct().count());
            TestNodes.write(fifty.getFirst(), K1, BLOCK, 1);
            Region region = nodes.region(fifty.getLast(), BLOCK);
            assertEquals(Outcome.OK, fifty.getLast().store().read(K1, 0, BLOCK, region, 0));
            MooncakeException taken = assertThrows(MooncakeException.class,
                    () -> nodes.start("taken", builder -> builder.bind(fifty.getFirst().endpoint().orElseThrow())));
            assertTrue(taken.getMessage().contains(fifty.getFirst().endpoint().orElseThrow().toString()),
                    taken.getMessage());
            assertTrue(nodes.registry.nodes().stream().noneMatch(peer -> peer.id().name().equals("taken")));
            // The name is free again: nothing was left behind.
            nodes.start("taken", builder -> builder.poolSize(2 * BLOCK));
            assertEquals(Kind.IN_USE, assertThrows(MooncakeException.class, () -> nodes.start("taken")).kind());
        }
    }

    @Test
    void C99_closingTwiceAndInAnyOrderIsHarmless() {
        try (TestNodes nodes = new TestNodes()) {
            Node node = nodes.start("a");
            Region region = nodes.region(node, BLOCK);
            BlockView view = node.store().newView();
            Transfer prepared = TestNodes.prepare(node, Piece.of(K1, 0, BLOCK, Destination.at(region, 0)));
            PrefixMatch match = node.store().match(List.of(), TestNodes.LONG);
            node.close();
            node.close();
            view.close();
            view.close();
            match.close();
            match.close();
            region.close();
            region.close();
            assertFalse(prepared.cancel());
            assertClosed(prepared::submit);
            assertClosed(() -> node.store().allocate(K1, BLOCK));
            assertClosed(() -> node.store().acquire(K1, view));
            assertClosed(() -> node.store().match(List.of(K1), TestNodes.LONG));
            assertClosed(() -> node.store().prepare(List.of(), TransferOptions.DEFAULT));
            assertClosed(() -> node.store().evict(List.of(K1)));
            assertClosed(() -> node.store().touch(List.of(K1)));
            assertClosed(() -> node.store().locations(K1));
            assertClosed(() -> node.store().events(event -> {}));
            assertClosed(() -> node.store().awaitAnnounced(TestNodes.LONG));
            assertClosed(() -> node.register(Memory.of(nodes.memory(64)),
                    Access.READABLE));
        }
    }

    private static void assertClosed(Executable call) {
        assertEquals(Kind.CLOSED, assertThrows(MooncakeException.class, call).kind());
    }

    @Test
    void closeNamesWhoStillPinsAndTheLastUnpinFreesThePool() {
        try (TestNodes nodes = new TestNodes()) {
            Node node = nodes.start("a", builder -> builder.closeTimeout(Duration.ofMillis(50)));
            TestNodes.write(node, K1, BLOCK, 5);
            BlockView view = node.store().newView();
            assertTrue(node.store().acquire(K1, view));
            MooncakeException pinned = assertThrows(MooncakeException.class, node::close);
            assertEquals(Kind.IN_USE, pinned.kind());
            assertTrue(pinned.getMessage().contains("k1"), pinned.getMessage());
            assertTrue(isAll(view.segment(), 0, BLOCK, 5), "a pinned block stays mapped");
            view.close();
            node.close();
        }
    }
}
