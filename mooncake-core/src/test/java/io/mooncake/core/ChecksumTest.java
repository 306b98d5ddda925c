package io.mooncake.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.PageMap;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.pool.MemorySource;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Blocks with checksums whose bytes are damaged after they were sealed, as by a bit flip in memory or on the way. */
class ChecksumTest {
    private static final long MIB = 1 << 20;
    private static final long LENGTH = 3 * MIB + 12345;
    private static final BlockId ID = BlockId.of("c");

    private final TestNodes nodes = new TestNodes();

    /** The pool's memory of the node started last, which a store hands out for reading only. */
    private MemorySegment pool = MemorySegment.NULL;

    private Node start(String name) {
        MemorySource anonymous = MemorySource.anonymous();
        return nodes.start(name,
                b -> b.checksums(true)
                        .sharedMemory(NodeConfig.SHARED_MEMORY_OFF)
                        .blockSize(4 * MIB)
                        .poolSize(16 * MIB)
                        .memory((bytes, align, arena) -> {
                            MemorySegment segment = anonymous.reserve(bytes, align, arena);
                            if (bytes >= 16 * MIB) {
                                pool = segment;
                            }
                            return segment;
                        }));
    }

    private static void flip(MemorySegment memory, long at) {
        memory.set(ValueLayout.JAVA_BYTE, at, (byte) (memory.get(ValueLayout.JAVA_BYTE, at) ^ 4));
    }

    @AfterEach
    void closeNodes() {
        nodes.close();
    }

    @Test
    void aFlippedBitIsReportedAndTheCopyNeverBecomesABlock() throws InterruptedException {
        Node writer = start("writer");
        MemorySegment written = pool;
        Node reader = start("reader");
        BlockRef ref = TestNodes.write(writer, ID, LENGTH, 7);
        CountDownLatch damaged = new CountDownLatch(1);
        try (BlockStore.Subscription _ = reader.store().events(event -> {
            if (event.kind() == BlockEvent.Kind.DAMAGED && event.ref().equals(ref)) {
                damaged.countDown();
            }
        })) {
            flip(written, ref.offset() + 2 * MIB + 99);
            Transfer transfer = TestNodes.prepare(reader, Piece.replica(ID));
            assertEquals(Transfer.State.FAILED, transfer.submit().join());
            assertEquals(Outcome.CHECKSUM, transfer.outcome(0));
            assertEquals(1, reader.counters().get(Counter.PIECES_CHECKSUM));
            assertTrue(damaged.await(20, TimeUnit.SECONDS));
            assertFalse(reader.store().acquire(ID, reader.store().newView()));
        }
    }

    @Test
    void aNodeThatFindsItsOwnCopyDamagedDropsIt() {
        Node node = start("node");
        BlockRef ref = TestNodes.write(node, ID, LENGTH, 7);
        flip(pool, ref.offset() + LENGTH - 1);
        Region region = nodes.region(node, LENGTH);
        Transfer transfer = TestNodes.prepare(node, Piece.of(ID, 0, Piece.WHOLE, new Destination.At(region, 0)));
        assertEquals(Transfer.State.FAILED, transfer.submit().join());
        assertEquals(Outcome.CHECKSUM, transfer.outcome(0));
        TestNodes.announced(node);
        assertTrue(node.store().locations(ID).isEmpty());
        region.close();
    }

    @Test
    void aDamagedHolderIsPassedOverForASoundOne() {
        Node first = start("first");
        Node second = start("second");
        MemorySegment secondPool = pool;
        Node reader = start("reader");
        BlockRef written = TestNodes.write(first, ID, LENGTH, 7);
        assertEquals(Transfer.State.COMPLETED,
                TestNodes.prepare(second, Piece.replica(ID)).submit().join());
        TestNodes.announced(second);
        BlockRef copy = second.store()
                .locations(ID)
                .stream()
                .filter(ref -> !ref.equals(written))
                .findFirst()
                .orElseThrow();
        flip(secondPool, copy.offset() + 5);

        Region region = nodes.region(reader, LENGTH);
        Transfer transfer = TestNodes.prepare(reader, Piece.of(copy, 0, Piece.WHOLE, new Destination.At(region, 0)));
        assertEquals(Transfer.State.COMPLETED, transfer.submit().join());
        assertTrue(TestNodes.isAll(TestNodes.segment(region), 0, LENGTH, 7));
        region.close();
    }

    @Test
    void theLastUnitIsShortAndCheckedAndScatteredPagesAre() {
        Node writer = start("writer");
        MemorySegment written = pool;
        Node reader = start("reader");
        BlockRef ref = TestNodes.write(writer, ID, LENGTH, 7);
        Region region = nodes.region(reader, 4 * MIB);
        int[] pages = {3, 1, 0, 2};
        Transfer transfer = reader.store()
                .prepare(
                        List.of(Piece.of(ref, 0, Piece.WHOLE,
                                new Destination.Pages(region, new PageMap(0, MIB, MIB, pages)))),
                        TransferOptions.DEFAULT);
        assertEquals(Transfer.State.COMPLETED, transfer.submit().join());
        assertEquals(LENGTH, transfer.verified(0));
        flip(written, ref.offset() + LENGTH - 1);
        assertEquals(Transfer.State.FAILED, transfer.submit().join());
        assertEquals(Outcome.CHECKSUM, transfer.outcome(0));
        region.close();
    }

    @Test
    void aRangeIsVerifiedAsFarAsItCoversWholeUnitsAndSaysSo() {
        Node writer = start("writer");
        Node reader = start("reader");
        BlockRef ref = TestNodes.write(writer, ID, LENGTH, 7);
        for (Node node : List.of(writer, reader)) {
            Region region = nodes.region(node, LENGTH);
            Transfer transfer = node.store()
                    .prepare(List.of(Piece.of(ref, 100, 2 * MIB, new Destination.At(region, 0))),
                            TransferOptions.DEFAULT);
            assertEquals(Transfer.State.COMPLETED, transfer.submit().join());
            assertEquals(MIB, transfer.verified(0), () -> "by " + node.id());
            region.close();
        }
    }

    @Test
    void whatAnEarlierSubmissionVerifiedIsForgotten() {
        Node writer = start("writer");
        Node reader = start("reader");
        TestNodes.write(writer, ID, LENGTH, 7);
        Transfer transfer = reader.store().prepare(List.of(Piece.replica(ID)), TransferOptions.DEFAULT);
        assertEquals(Transfer.State.COMPLETED, transfer.submit().join());
        assertEquals(LENGTH, transfer.verified(0));
        assertEquals(Transfer.State.COMPLETED, transfer.submit().join());
        assertEquals(0, transfer.verified(0), "it is here: nothing was read");
    }
}
