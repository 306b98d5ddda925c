package io.mooncake.core;

import static io.mooncake.core.ManualNodes.SLOTS;
import static io.mooncake.core.TestNodes.BLOCK;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.pool.BlockPool.Usage;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import io.mooncake.core.transfer.Transfer.State;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a cancel and a deadline do at every point of a transfer's life, with an engine that lets go of a read when the test says so. */
class CancelTest {
    private final ManualNodes manual = new ManualNodes();
    private final ManualEngine engine = manual.engine;
    private final BlockRef k = manual.block("k");
    private final BlockRef l = manual.block("l");
    private final Region region = manual.region(2);

    @AfterEach
    void close() {
        manual.close();
        assertEquals(0, region.uses());
    }

    @Test
    void beforeTheSubmissionThereIsNothingToCancel() {
        Transfer transfer = manual.prepare(ManualNodes.into(region, 0, k));
        assertFalse(transfer.cancel());
        assertEquals(State.CREATED, transfer.state());
        transfer.submit();
        engine.arrive(1);
        assertEquals(State.COMPLETED, transfer.join());
    }

    @Test
    void whatIsNotPostedYetIsNeverPosted() {
        Transfer transfer = manual.prepare(ManualNodes.into(region, 0, k), ManualNodes.into(region, 1, l));
        engine.onSubmit = read -> assertTrue(transfer.cancel());
        transfer.submit();
        assertEquals(1, engine.reads.size());
        assertEquals(Outcome.CANCELED, transfer.outcome(1));
        assertFalse(transfer.isDone());
        engine.end(engine.reads.getFirst(), ReadStatus.CANCELED);
        assertEquals(State.CANCELED, transfer.join());
        assertEquals(2, manual.node.counters().get(Counter.PIECES_CANCELED));
    }

    @Test
    void whatIsPostedIsAbortedAndTheCallersMemoryIsDoneAtReleased() {
        AtomicInteger callbacks = new AtomicInteger();
        Transfer transfer = manual.node.store()
                .prepare(List.of(ManualNodes.into(region, 0, k)),
                        TransferOptions.DEFAULT.withCallback(done -> callbacks.incrementAndGet()))
                .submit();
        GuardedRead read = engine.reads.getFirst();
        assertEquals(State.POSTED, transfer.state());
        assertFalse(read.isGivenUp());
        assertTrue(transfer.cancel());
        assertEquals(List.of(read), engine.aborted);
        assertTrue(read.isGivenUp());
        assertEquals(State.CANCELED, transfer.state());
        assertEquals(Outcome.CANCELED, transfer.outcome(0));
        manual.run();
        assertFalse(transfer.isDone(), "the engine still writes the caller's memory");
        assertEquals(0, callbacks.get());
        assertEquals(1, region.uses());
        ManualEngine.land(read, 9);
        engine.end(read, ReadStatus.CANCELED);
        manual.run();
        assertTrue(transfer.isDone() && transfer.isReleased());
        assertEquals(1, callbacks.get());
        assertFalse(transfer.cancel(), "twice");
        assertEquals(1, engine.aborted.size());
        assertEquals(1, manual.node.counters().get(Counter.TRANSFERS_CANCELED));
    }

    /** Case C21. */
    @Test
    void whatIsCompletedStaysSo() {
        Transfer transfer = manual.prepare(ManualNodes.into(region, 0, k)).submit();
        engine.arrive(1);
        assertEquals(State.COMPLETED, transfer.state());
        assertFalse(transfer.cancel());
        assertFalse(transfer.cancel());
        assertEquals(State.COMPLETED, transfer.state());
        assertEquals(Outcome.OK, transfer.outcome(0));
        assertTrue(engine.aborted.isEmpty());
    }

    @Test
    void aCallbackMayCancelItsOwnAndAnother() {
        Transfer other = manual.prepare(ManualNodes.into(region, 1, l)).submit();
        List<Boolean> answers = new ArrayList<>();
        Transfer transfer = manual.node.store()
                .prepare(List.of(ManualNodes.into(region, 0, k)), TransferOptions.DEFAULT.withCallback(done -> {
                    answers.add(done.cancel());
                    answers.add(other.cancel());
                }))
                .submit();
        engine.end(engine.reads.getLast(), ReadStatus.OK);
        manual.run();
        assertEquals(List.of(false, true), answers);
        assertEquals(State.COMPLETED, transfer.state());
        assertEquals(State.CANCELED, other.state());
        engine.end(engine.reads.getFirst(), ReadStatus.CANCELED);
    }

    @Test
    void oneOfManyIsCanceledAloneAndSubmittedAgain() {
        List<Transfer> many = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            many.add(manual.prepare(ManualNodes.into(region, 0, k)).submit());
        }
        List<GuardedRead> reads = List.copyOf(engine.reads);
        assertTrue(many.get(1).cancel());
        assertEquals(List.of(reads.get(1)), engine.aborted);
        engine.end(reads.get(0), ReadStatus.OK);
        engine.end(reads.get(2), ReadStatus.OK);
        assertEquals(State.COMPLETED, many.get(0).state());
        assertEquals(State.COMPLETED, many.get(2).state());
        engine.end(reads.get(1), ReadStatus.CANCELED);
        assertEquals(State.POSTED, many.get(1).submit().state());
        assertFalse(reads.get(1).isGivenUp(), "what was said of the submission before");
        engine.arrive(1);
        assertEquals(State.COMPLETED, many.get(1).state());
    }

    @Test
    void aPieceThatWaitsForASlotEndsAtOnce() {
        List<BlockWriter> writers = new ArrayList<>();
        for (int i = 0; i < SLOTS; i++) {
            writers.add(manual.node.store().allocate(BlockId.of("w" + i), BLOCK));
        }
        Transfer pull = manual.prepare(Piece.replica(k.id())).submit();
        manual.run();
        assertFalse(pull.isDone());
        assertTrue(pull.cancel());
        assertTrue(pull.isDone());
        manual.node.doWork();
        assertTrue(pull.isReleased());
        assertEquals(Outcome.CANCELED, pull.outcome(0));
        writers.forEach(BlockWriter::close);
    }

    @Test
    void theSlotOfACanceledReplicaIsQuarantinedUntilTheEngineLetsGo() {
        Transfer pull = manual.prepare(Piece.replica(k.id())).submit();
        assertEquals(new Usage(1, 0, SLOTS - 1), manual.node.usage());
        assertTrue(pull.cancel());
        assertTrue(pull.isDone());
        assertFalse(pull.isReleased());
        checkQuarantined(pull);
    }

    @Test
    void aReplicaThatTimesOutHasTheSameMemoryRules() {
        Transfer pull = manual.prepare(Piece.replica(k.id())).submit();
        GuardedRead read = engine.reads.getFirst();
        manual.nowNs.set(read.deadlineNs());
        read.expire();
        assertEquals(State.TIMED_OUT, pull.state());
        assertTrue(pull.isDone(), "terminal by its deadline");
        assertEquals(Outcome.TIMED_OUT, pull.outcome(0));
        checkQuarantined(pull);
        assertEquals(Outcome.TIMED_OUT, pull.outcome(0));
        assertEquals(1, manual.node.counters().get(Counter.PIECES_TIMED_OUT));
        assertEquals(1, manual.node.counters().get(Counter.TRANSFERS_TIMED_OUT));
    }

    /** The pool is filled up meanwhile, and whatever the late bytes are, nobody's block has them. */
    private void checkQuarantined(Transfer pull) {
        assertEquals(new Usage(0, 1, SLOTS - 1), manual.node.usage());
        GuardedRead read = engine.reads.getFirst();
        assertEquals(List.of(read), engine.aborted);
        List<BlockWriter> writers = new ArrayList<>();
        for (int i = 0; i < SLOTS - 1; i++) {
            writers.add(manual.node.store().allocate(BlockId.of("w" + i), BLOCK));
            writers.getLast().segment().fill((byte) 0xAB);
        }
        ManualEngine.land(read, 9);
        for (BlockWriter writer : writers) {
            assertTrue(TestNodes.isAll(writer.segment(), 0, BLOCK, 0xAB));
            writer.close();
        }
        // Even whole and proven: it was given up.
        engine.end(read, ReadStatus.OK);
        assertTrue(pull.awaitReleased(TestNodes.LONG));
        assertEquals(new Usage(0, 0, SLOTS), manual.node.usage());
        assertEquals(0, manual.node.counters().get(Counter.BLOCKS_REPLICATED));
    }

    /** Case C19: nothing is written after a time-out was reported; so is none of a batch where one times out. */
    @Test
    void aTimeOutIsReportedWhenNothingWritesTheCallersMemoryAnyMore() {
        Transfer[] batch = new Transfer[8];
        Region many = manual.region(batch.length);
        for (int round = 0; round < 50; round++) {
            for (int i = 0; i < batch.length; i++) {
                batch[i] = manual.prepare(ManualNodes.into(many, i, k)).submit();
            }
            GuardedRead late = engine.reads.get(round % batch.length);
            late.expire();
            Transfer timedOut = batch[round % batch.length];
            assertEquals(State.TIMED_OUT, timedOut.state());
            manual.run();
            assertFalse(timedOut.isDone());
            for (GuardedRead read : engine.reads) {
                ManualEngine.land(read, 9);
                engine.end(read, read.isGivenUp() ? ReadStatus.CANCELED : ReadStatus.OK);
            }
            for (Transfer transfer : batch) {
                assertEquals(transfer == timedOut ? State.TIMED_OUT : State.COMPLETED, transfer.join());
            }
            TestNodes.segment(many).fill((byte) 0xAB);
            assertTrue(engine.reads.isEmpty(), "a terminal state means no more writes");
        }
        assertEquals(0, many.uses());
    }

    /** Case C23: a batch is not over while a part of it runs; case C24: a notice of success never comes for a failed one. */
    @Test
    void aFailedPieceNeitherEndsNorSpoilsTheOthers() {
        List<State> told = new ArrayList<>();
        Transfer batch = manual.node.store()
                .prepare(List.of(ManualNodes.into(region, 0, k), ManualNodes.into(region, 1, l)),
                        TransferOptions.DEFAULT.withCallback(done -> told.add(done.state())))
                .submit();
        engine.end(engine.reads.getFirst(), ReadStatus.REFUSED, new MooncakeException(Kind.OUT_OF_BOUNDS, "no"));
        manual.run();
        assertEquals(State.POSTED, batch.state());
        assertFalse(batch.isDone());
        assertEquals(List.of(), told);
        engine.arrive(5);
        manual.run();
        assertEquals(State.FAILED, batch.state());
        assertEquals(List.of(State.FAILED), told);
        assertEquals(Outcome.REFUSED, batch.outcome(0));
        assertEquals(Outcome.OK, batch.outcome(1));
        assertTrue(TestNodes.isAll(TestNodes.segment(region), BLOCK, BLOCK, 5));
    }

    /** Case C27: close with work queued, posted, waiting for slots and refused. */
    @Test
    void closeEndsEveryTransferOnce() {
        List<Transfer> transfers = new ArrayList<>();
        AtomicInteger callbacks = new AtomicInteger();
        TransferOptions counted = TransferOptions.DEFAULT.withCallback(done -> callbacks.incrementAndGet());
        for (int i = 0; i < 200; i++) {
            engine.full = i % 10 == 9;
            Piece piece = i % 2 == 0 ? Piece.replica(k.id()) : ManualNodes.into(region, 0, k);
            transfers.add(manual.node.store().prepare(List.of(piece), counted).submit());
        }
        assertTrue(transfers.get(1).cancel());
        manual.node.close();
        for (Transfer transfer : transfers) {
            assertTrue(transfer.isReleased(), transfer::toString);
            assertTrue(transfer.state() == State.CANCELED || transfer.outcome(0) == Outcome.UNREACHABLE,
                    transfer::toString);
        }
        assertEquals(200, callbacks.get());
        assertEquals(Kind.CLOSED, assertThrows(MooncakeException.class, transfers.getFirst()::submit).kind());
        assertEquals(new Usage(0, 0, SLOTS), manual.node.usage());
    }

    @Test
    void aCancelThatRacesWithTheEndOfAReplicaLosesNoSlot() throws Exception {
        for (int i = 0; i < 2_000; i++) {
            Transfer pull = manual.prepare(Piece.replica(k.id())).submit();
            Thread canceling = Thread.ofPlatform().start(pull::cancel);
            engine.end(engine.reads.getFirst(), ReadStatus.OK);
            assertTrue(pull.awaitReleased(TestNodes.LONG));
            canceling.join();
            manual.run();
            boolean here = manual.node.store().evict(List.of(k.id())) == 1;
            if (pull.state() == State.COMPLETED) {
                assertTrue(here);
            }
            assertEquals(here, pull.outcome(0) == Outcome.OK);
            manual.run();
            assertEquals(new Usage(0, 0, SLOTS), manual.node.usage());
        }
    }
}
