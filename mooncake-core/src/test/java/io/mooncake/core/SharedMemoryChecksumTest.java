package io.mooncake.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.PageMap;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import io.mooncake.core.transfer.Transfer.State;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Blocks with checksums that are read from another node's shared memory, and damaged there. */
@Timeout(60)
class SharedMemoryChecksumTest {
    private static final long MIB = 1 << 20;
    private static final long LENGTH = 3 * MIB + 12345;
    private static final BlockId ID = BlockId.of("c");
    /** Before the slots there is one page. */
    private static final long SLOTS_AT = 4096;

    @TempDir
    Path parent;

    private final TestNodes nodes = new TestNodes();

    @AfterEach
    void close() {
        nodes.close();
    }

    private Node start(String name) {
        return start(name, 4 * MIB);
    }

    private Node start(String name, long blockBytes) {
        return nodes.start(name, b -> b.checksums(true)
                .sharedMemory(parent.toString())
                .blockSize(blockBytes)
                .poolSize(4 * blockBytes));
    }

    private Node startReader() {
        Node reader = start("reader");
        assertTrue(TestWaits.until(() -> reader.store().explain(ID).contains(": shm (its memory is mapped here)")),
                () -> reader.store().explain(ID));
        return reader;
    }

    /** Flips a bit in a node's pool, behind that node's back. */
    private void flip(Node of, long at) throws IOException {
        try (Stream<Path> found = Files.walk(parent)) {
            Path pool = found.filter(file -> file.endsWith(of.id() + ".pool")).findFirst().orElseThrow();
            try (FileChannel file = FileChannel.open(pool, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
                ByteBuffer one = ByteBuffer.allocate(1);
                assertEquals(1, file.read(one, SLOTS_AT + at));
                one.put(0, (byte) (one.get(0) ^ 4)).rewind();
                assertEquals(1, file.write(one, SLOTS_AT + at));
            }
        }
    }

    @Test
    void aFlippedBitIsReportedAndTheCopyNeverBecomesABlock() throws Exception {
        Node writer = start("writer");
        BlockRef ref = TestNodes.write(writer, ID, LENGTH, 7);
        Node reader = startReader();
        CountDownLatch damaged = new CountDownLatch(1);
        try (BlockStore.Subscription _ = reader.store().events(event -> {
            if (event.kind() == BlockEvent.Kind.DAMAGED && event.ref().equals(ref)) {
                damaged.countDown();
            }
        })) {
            flip(writer, ref.offset() + 2 * MIB + 99);
            Transfer transfer = TestNodes.prepare(reader, Piece.replica(ID));
            assertEquals(State.FAILED, transfer.submit().join());
            assertEquals(Outcome.CHECKSUM, transfer.outcome(0));
            assertEquals(1, reader.counters().get(Counter.PIECES_CHECKSUM));
            assertTrue(damaged.await(20, TimeUnit.SECONDS));
            assertFalse(reader.store().acquire(ID, reader.store().newView()));
            assertEquals(0, reader.usage().used());
        }
    }

    @Test
    void wholeUnitsAreVerifiedWhereverTheyLandAndTheLastOneIsShort() throws IOException {
        Node writer = start("writer");
        BlockRef ref = TestNodes.write(writer, ID, LENGTH, 7);
        Node reader = startReader();
        Region region = nodes.region(reader, 4 * MIB);
        Transfer range = TestNodes.prepare(reader, Piece.of(ref, 100, 2 * MIB, Destination.at(region, 0)));
        assertEquals(State.COMPLETED, range.submit().join());
        assertEquals(MIB, range.verified(0));
        Transfer scattered = TestNodes.prepare(reader, Piece.of(ref, 0, Piece.WHOLE,
                new Destination.Pages(region, new PageMap(0, MIB, MIB, new int[]{3, 1, 0, 2}))));
        assertEquals(State.COMPLETED, scattered.submit().join());
        assertEquals(LENGTH, scattered.verified(0));
        flip(writer, ref.offset() + LENGTH - 1);
        assertEquals(State.FAILED, scattered.submit().join());
        assertEquals(Outcome.CHECKSUM, scattered.outcome(0));
        assertEquals(State.COMPLETED, range.submit().join(), "the damage lies elsewhere");
        region.close();
    }

    @Test
    void noUnitOfALongOddRangeIsCut() {
        Node writer = start("writer", 20 * MIB);
        BlockRef ref = TestNodes.write(writer, ID, 20 * MIB, 7);
        for (Node node : List.of(writer, startReader())) {
            Region region = nodes.region(node, 18 * MIB);
            Transfer range = TestNodes.prepare(node, Piece.of(ref, MIB / 2, 18 * MIB, Destination.at(region, 0)));
            assertEquals(State.COMPLETED, range.submit().join());
            assertEquals(17 * MIB, range.verified(0), () -> "by " + node.id());
            region.close();
        }
    }

    /** The next block of a slot has sums of its own, and what of the former one's is read meanwhile is stale and not damaged. */
    @Test
    void whatIsEvictedIsStaleAndNeverDamaged() {
        Node writer = start("writer");
        BlockRef first = TestNodes.write(writer, ID, LENGTH, 7);
        Node reader = startReader();
        Region region = nodes.region(reader, LENGTH);
        Transfer read = reader.store()
                .prepare(List.of(Piece.of(first, 0, Piece.WHOLE, Destination.at(region, 0))), TransferOptions.DEFAULT);
        for (int fill = 0; fill < 50; fill++) {
            BlockRef now = TestNodes.write(writer, ID, LENGTH - fill, fill);
            Transfer sound = TestNodes.prepare(reader, Piece.of(now, 0, Piece.WHOLE, Destination.at(region, 0)));
            assertEquals(State.COMPLETED, sound.submit().join());
            assertEquals(LENGTH - fill, sound.verified(0));
            assertTrue(TestNodes.isAll(TestNodes.segment(region), 0, LENGTH - fill, fill));
        }
        assertEquals(State.FAILED, read.submit().join());
        assertEquals(Outcome.STALE, read.outcome(0));
        assertEquals(0, reader.counters().get(Counter.PIECES_CHECKSUM));
        region.close();
    }
}
