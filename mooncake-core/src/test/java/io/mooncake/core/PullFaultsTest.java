package io.mooncake.core;

import static io.mooncake.core.TestNodes.BLOCK;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.schedule.Scheduler;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Whatever goes wrong on the way of a piece ends that piece, and only that. */
class PullFaultsTest {
    private static final BlockId ID = BlockId.of("k");
    private static final BlockId OTHER = BlockId.of("other");

    @Test
    void aReplicaOfABlockLongerThanTheSlotsHereIsRefused() {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            Node b = nodes.start("b", builder -> builder.blockSize(BLOCK / 2));
            TestNodes.write(a, ID, BLOCK, 1);
            TestNodes.write(a, OTHER, BLOCK / 2, 1);
            Transfer transfer = TestNodes.prepare(b, Piece.replica(ID), Piece.replica(OTHER))
                    .submit();
            assertEquals(Transfer.State.FAILED, transfer.join());
            assertEquals(Outcome.REFUSED, transfer.outcome(0));
            assertEquals(Kind.OUT_OF_BOUNDS, Objects.requireNonNull(transfer.cause(0)).kind());
            assertEquals(Outcome.OK, transfer.outcome(1));
        }
    }

    @Test
    void aReplicaWhoseGuardHadChangedIsNoBlock() {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            Node b = nodes.start("b");
            BlockRef ref = TestNodes.write(a, ID, BLOCK, 1);
            a.store().evict(List.of(ID));
            TestNodes.announced(a);
            Transfer transfer = TestNodes.prepare(b, new Piece(ID, ref, 0, Piece.WHOLE, Destination.replica(), 0))
                    .submit();
            assertEquals(Transfer.State.FAILED, transfer.join());
            assertEquals(Outcome.STALE, transfer.outcome(0));
            assertEquals(0, b.counters().get(Counter.BLOCKS_REPLICATED));
            try (BlockView view = b.store().newView()) {
                assertFalse(b.store().acquire(ID, view));
            }
            assertTrue(TestWaits.until(() -> b.usage().used() == 0), b.usage()::toString);
        }
    }

    @Test
    void aSchedulerThatThrowsEndsThePiece() {
        AtomicInteger asked = new AtomicInteger();
        Scheduler scheduler = (holders, bytes, view) -> {
            asked.incrementAndGet();
            throw new UnsupportedOperationException("broken");
        };
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            Node b = nodes.start("b", builder -> builder.scheduler(scheduler));
            BlockRef ref = TestNodes.write(a, ID, BLOCK, 1);
            a.store().evict(List.of(ID));
            TestNodes.announced(a);
            Region region = nodes.region(b, 2 * BLOCK);
            // The first piece asks in submit, the second one in the conductor, after its reference was stale.
            Transfer transfer = TestNodes.prepare(b, Piece.of(OTHER, 0, Piece.WHOLE, Destination.at(region, 0)),
                    Piece.of(ref, 0, Piece.WHOLE, Destination.at(region, BLOCK)))
                    .submit();
            assertEquals(Transfer.State.FAILED, transfer.join());
            for (int i = 0; i < 2; i++) {
                assertEquals(Outcome.REFUSED, transfer.outcome(i));
                assertInstanceOf(UnsupportedOperationException.class,
                        Objects.requireNonNull(transfer.cause(i)).getCause());
            }
            assertEquals(2, asked.get());
            assertEquals(0, region.uses());
            assertTrue(transfer.isReleased());
        }
    }

    @Test
    void anEngineThatThrowsHasNotTakenTheRead() {
        try (ManualNodes manual = new ManualNodes()) {
            BlockRef ref = manual.block("k");
            Region region = manual.region(1);
            manual.engine.onSubmit = read -> {
                manual.engine.reads.remove(read);
                throw new UnsupportedOperationException("broken");
            };
            Transfer transfer = manual
                    .prepare(ManualNodes.into(region, 0, ref),
                            Piece.of(ref, 0, Piece.WHOLE, Destination.replica()))
                    .submit();
            manual.run();
            assertEquals(Transfer.State.FAILED, transfer.state());
            for (int i = 0; i < 2; i++) {
                assertEquals(Outcome.REFUSED, transfer.outcome(i));
                assertInstanceOf(UnsupportedOperationException.class,
                        Objects.requireNonNull(transfer.cause(i)).getCause());
            }
            assertEquals(0, region.uses());
            assertEquals(0, manual.node.usage().used());
        }
    }

    @Test
    void aReplicaByAReferenceOfThisNodeIsThereOrNotOk() {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            Node b = nodes.start("b");
            BlockRef ref = TestNodes.write(a, ID, BLOCK, 1);
            Transfer transfer = TestNodes.prepare(a, new Piece(ID, ref, 0, Piece.WHOLE, Destination.replica(), 0));
            assertEquals(Transfer.State.COMPLETED, transfer.submit().join());
            a.store().evict(List.of(ID));
            TestNodes.announced(a);
            transfer.submit().join();
            assertEquals(Outcome.STALE, transfer.outcome(0));
            // With another holder of the version it comes from there.
            BlockRef again = TestNodes.write(a, ID, BLOCK, 2);
            assertEquals(Outcome.OK, b.store().read(Piece.replica(ID)));
            TestNodes.announced(b);
            a.store().evict(List.of(ID));
            TestNodes.announced(a);
            Piece back = new Piece(ID, again, 0, Piece.WHOLE, Destination.replica(), 0);
            assertEquals(Outcome.OK, a.store().read(back));
            try (BlockView view = a.store().newView()) {
                assertTrue(a.store().acquire(ID, view));
                assertEquals(again.version(), view.ref().version());
            }
        }
    }

    @Test
    void waitingForASlotIsNoWork() throws Exception {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            Node b = nodes.start("b", builder -> builder.threading(ThreadingMode.INVOKER).poolSize(2 * BLOCK));
            TestNodes.write(a, ID, BLOCK, 1);
            TestNodes.write(a, OTHER, BLOCK, 1);
            try (BlockWriter first = b.store().allocate(BlockId.of("first"), BLOCK);
                    BlockWriter second = b.store().allocate(BlockId.of("second"), BLOCK)) {
                Transfer pull = TestNodes.prepare(b, Piece.replica(ID), Piece.replica(OTHER))
                        .submit();
                int idle = 0;
                for (int cycle = 0; cycle < 1000; cycle++) {
                    idle += b.doWork() == 0 ? 1 : 0;
                }
                assertTrue(idle > 900, "only " + idle + " of 1000 cycles were idle");
                assertFalse(pull.isDone());
                first.abort();
                second.abort();
                assertEquals(Transfer.State.COMPLETED, pull.join());
            }
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1 << 10, 1 << 20})
    void memoryThatCannotBeWrittenRefusesTheReadAndNoMore(long length) {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a", builder -> builder.blockSize(1 << 20).poolSize(4 << 20));
            TestNodes.write(a, ID, length, 1);
            Region readOnly = a.register(Memory.of(nodes.memory(length).asReadOnly()), Access.LOCAL_ONLY);
            Region gone = a.register(Memory.of(freed(length)), Access.LOCAL_ONLY);
            Region good = nodes.region(a, length);
            Transfer transfer = a.store()
                    .prepare(Stream.of(readOnly, gone, good)
                            .map(region -> Piece.of(ID, 0, Piece.WHOLE, Destination.at(region, 0)))
                            .toList(), TransferOptions.DEFAULT);
            assertEquals(Transfer.State.FAILED, transfer.submit().join());
            assertEquals(Outcome.REFUSED, transfer.outcome(0));
            assertEquals(Outcome.REFUSED, transfer.outcome(1));
            assertEquals(Outcome.OK, transfer.outcome(2));
            assertEquals(0, readOnly.uses() + gone.uses() + good.uses());
        }
    }

    @Test
    void manySmallCopiesEndByTheDeadlineToo() {
        AtomicLong clock = new AtomicLong();
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a", builder -> builder.threading(ThreadingMode.INVOKER)
                    .nanoClock(() -> clock.getAndAdd(1_000_000)));
            TestNodes.write(a, ID, 100, 1);
            Region region = nodes.region(a, 100);
            Piece piece = Piece.of(ID, 0, Piece.WHOLE, Destination.at(region, 0));
            Transfer transfer = a.store()
                    .prepare(Collections.nCopies(1000, piece),
                            TransferOptions.DEFAULT.withTimeout(Duration.ofMillis(100)));
            assertEquals(Transfer.State.TIMED_OUT, transfer.submit().join());
            assertEquals(Outcome.OK, transfer.outcome(0));
            assertEquals(Outcome.TIMED_OUT, transfer.outcome(999));
        }
    }

    @Test
    void aFullQueueHereLosesNoBlock() {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a", builder -> builder.threading(ThreadingMode.INVOKER)
                    .blockSize(512 << 10)
                    .poolSize(2 << 20));
            TestNodes.write(a, ID, 512 << 10, 1);
            AtomicInteger lost = new AtomicInteger();
            try (BlockStore.Subscription _ = a.store()
                    .events(event -> lost.addAndGet(event.kind() == BlockEvent.Kind.LOST ? 1 : 0))) {
                Region region = nodes.region(a, 512 << 10);
                Piece piece = Piece.of(ID, 0, Piece.WHOLE, Destination.at(region, 0));
                Transfer transfer = a.store().prepare(Collections.nCopies(4100, piece), TransferOptions.DEFAULT);
                transfer.submit();
                assertTrue(transfer.cancel());
                assertEquals(Transfer.State.CANCELED, transfer.join());
                assertEquals(Kind.BACK_PRESSURE, Objects.requireNonNull(transfer.cause(4099)).kind());
                while (a.doWork() > 0) {
                    // Until every event was heard.
                }
                assertEquals(0, lost.get());
            }
        }
    }

    private static MemorySegment freed(long bytes) {
        try (Arena arena = Arena.ofShared()) {
            return arena.allocate(bytes);
        }
    }
}
