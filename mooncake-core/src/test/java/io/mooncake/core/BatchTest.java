package io.mooncake.core;

import static io.mooncake.core.TestNodes.BLOCK;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.PageMap;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.transfer.CompletionQueue;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Priority;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import io.mooncake.core.transfer.Transfer.State;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Many pieces in one transfer: each has its own end, and the whole is what all of them make of it. */
class BatchTest {
    private final ManualNodes manual = new ManualNodes();
    private final ManualEngine engine = manual.engine;
    private final BlockRef k = manual.block("k");
    private final BlockRef l = manual.block("l");
    private final BlockId missing = BlockId.of("missing");
    private final Region region = manual.region(4);

    @AfterEach
    void close() {
        manual.close();
        assertEquals(0, region.uses());
    }

    @Test
    void whatAnEarlierSubmissionReceivedIsNotCountedAgain() {
        Transfer transfer = manual.prepare(Piece.of(k.id(), 0, Piece.WHOLE, Destination.at(region, 0))).submit();
        engine.reads.getFirst().received = BLOCK;
        engine.arrive(1);
        assertEquals(State.COMPLETED, transfer.join());
        assertEquals(BLOCK, transfer.received());
        manual.source.store().evict(List.of(k.id()));
        TestNodes.announced(manual.source);
        assertEquals(State.FAILED, transfer.submit().join());
        assertEquals(Outcome.ABSENT, transfer.outcome(0));
        assertEquals(0, transfer.received());
    }

    @Test
    void oneMissingIdDoesNotSpoilTheRest() {
        Transfer batch = manual.prepare(ManualNodes.into(region, 0, k),
                Piece.of(missing, 0, Piece.WHOLE, Destination.at(region, BLOCK)),
                ManualNodes.into(region, 2, l),
                Piece.replica(missing)).submit();
        assertArrayEquals(new int[]{0, 1, 2, 3}, batch.recompute());
        engine.arrive(1);
        engine.arrive(2);
        assertEquals(State.FAILED, batch.join());
        assertEquals(List.of(Outcome.OK, Outcome.ABSENT, Outcome.OK, Outcome.ABSENT),
                List.of(batch.outcome(0), batch.outcome(1), batch.outcome(2), batch.outcome(3)));
        assertArrayEquals(new int[]{1, 3}, batch.recompute());
        assertEquals(List.of(missing), manual.node.store().recompute(batch));
        assertTrue(TestNodes.isAll(TestNodes.segment(region), 0, BLOCK, 1));
        assertTrue(TestNodes.isAll(TestNodes.segment(region), 2 * BLOCK, BLOCK, 2));
        assertEquals(Kind.INVALID_ARGUMENT,
                assertThrows(MooncakeException.class, () -> manual.source.store().recompute(batch)).kind());
    }

    @Test
    void whateverAPieceEndsWithTheBatchIsNoSuccess() {
        for (ReadStatus status : ReadStatus.values()) {
            Transfer batch = manual.prepare(ManualNodes.into(region, 0, k), ManualNodes.into(region, 1, l)).submit();
            engine.end(engine.reads.getFirst(), status);
            engine.end(engine.reads.getFirst(), ReadStatus.OK);
            // STALE and UNREACHABLE are tried elsewhere first, and there is no other holder.
            manual.run();
            State expected = switch (status) {
                case OK -> State.COMPLETED;
                case TIMED_OUT -> State.TIMED_OUT;
                case CANCELED -> State.CANCELED;
                default -> State.FAILED;
            };
            assertEquals(expected, batch.join(), status::toString);
            assertEquals(Outcome.OK, batch.outcome(1));
            assertArrayEquals(status == ReadStatus.OK ? new int[0] : new int[]{0}, batch.recompute());
        }
    }

    @Test
    void aStageIsReportedOnlyWhenNothingOfItIsOutstanding() {
        Transfer batch = manual.prepare(ManualNodes.into(region, 0, k).withStage(0),
                ManualNodes.into(region, 1, l).withStage(0),
                ManualNodes.into(region, 2, k).withStage(1),
                ManualNodes.into(region, 3, l).withStage(1)).submit();
        List<GuardedRead> reads = List.copyOf(engine.reads);
        // The later stage first; every byte of the first one lands, but is not proven.
        engine.end(reads.get(2), ReadStatus.OK);
        engine.end(reads.get(3), ReadStatus.OK);
        engine.end(reads.get(0), ReadStatus.OK);
        ManualEngine.land(reads.get(1), 3);
        assertEquals(-1, batch.stage());
        engine.end(reads.get(1), ReadStatus.OK);
        assertEquals(1, batch.stage());
        assertEquals(State.COMPLETED, batch.state());
    }

    @Test
    void scatteredDestinationsAreOnePieceWithAsFewRunsAsThereAre() {
        int pages = 8;
        long page = BLOCK / pages;
        // 2 3 4 | 9 | 7 8 | 0 1: those that follow each other in the map and in memory are one run.
        PageMap map = new PageMap(0, page, page, new int[]{2, 3, 4, 9, 7, 8, 0, 1});
        Transfer batch = manual.prepare(Piece.of(k, 0, Piece.WHOLE, Destination.pages(region, map)),
                ManualNodes.into(region, 3, l)).submit();
        GuardedRead read = engine.reads.getFirst();
        int runs = 0;
        for (long at = 0; at < read.length(); runs++) {
            at += read.runAt(at, read.length() - at);
        }
        assertEquals(4, runs);
        engine.arrive(5);
        engine.arrive(6);
        assertEquals(State.COMPLETED, batch.join());
        for (int i = 0; i < 10; i++) {
            assertTrue(TestNodes.isAll(TestNodes.segment(region), i * page, page, i == 5 || i == 6 ? 0 : 5));
        }
    }

    @Test
    void thePriorityGoesWithEveryReadAndIsOfThatSubmission() {
        Transfer background = manual.node.store()
                .prepare(List.of(ManualNodes.into(region, 0, k), Piece.replica(l.id())),
                        TransferOptions.DEFAULT.withPriority(Priority.BACKGROUND))
                .submit();
        manual.prepare(ManualNodes.into(region, 1, k)).submit();
        assertEquals(List.of(Priority.BACKGROUND, Priority.BACKGROUND, Priority.LOAD),
                engine.reads.stream().map(GuardedRead::priority).toList());
        assertTrue(background.cancel());
        List.copyOf(engine.reads).forEach(read -> engine.end(read, ReadStatus.CANCELED));
        assertTrue(background.awaitReleased(TestNodes.LONG));
    }

    @Test
    void aQueueOfTheStoreTellsWhatIsDoneAndRunsAnInvokedNode() {
        CompletionQueue queue = manual.node.store().newCompletionQueue();
        TransferOptions polled = TransferOptions.DEFAULT.withCompletions(queue);
        Transfer pull = manual.node.store().prepare(List.of(Piece.replica(k.id())), polled).submit();
        engine.arrive(1);
        assertNull(queue.poll(), "its commit is the conductor's");
        assertSame(pull, queue.poll(TestNodes.LONG));
        assertEquals(State.COMPLETED, pull.state());
        assertEquals(Kind.INVALID_ARGUMENT, assertThrows(MooncakeException.class,
                () -> manual.source.store().prepare(List.of(), polled)).kind());
    }
}
