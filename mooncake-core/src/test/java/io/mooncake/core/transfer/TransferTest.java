package io.mooncake.core.transfer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.Transfer.State;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;

/** A transfer's states, driven by hand: pieces whose end the test decides, callbacks that run when it says so. */
class TransferTest {
    private static final int RACES = 10_000;

    private final Hand hand = new Hand();
    private final Transfer transfer = new Transfer(hand, hand, 1, false, 1_000, Transfer.Told.NOBODY);

    @Test
    void aFutureIsOfTheSubmissionThatItWasAskedFor() {
        CompletableFuture<Transfer> first = transfer.future();
        transfer.submit();
        assertFalse(first.isDone());
        transfer.end(0, Outcome.OK, null);
        assertEquals(1, hand.dispatched.get());
        // Submitted again before the callbacks ran.
        transfer.submit();
        assertTrue(first.isDone());
        CompletableFuture<Transfer> second = transfer.future();
        Hand.runDue(transfer);
        assertFalse(second.isDone(), "the caller's memory is still being written");
        transfer.end(0, Outcome.OK, null);
        Hand.runDue(transfer);
        assertTrue(second.isDone());
        assertTrue(transfer.future().isDone());
    }

    @Test
    void waitingHasSenseOnlyAfterASubmissionAndForAnyTime() {
        assertEquals(Kind.ILLEGAL_STATE, assertThrows(MooncakeException.class, transfer::join).kind());
        assertFalse(transfer.await(ChronoUnit.FOREVER.getDuration()));
        transfer.submit();
        assertFalse(transfer.await(Duration.ofNanos(1)));
        transfer.end(0, Outcome.OK, null);
        assertTrue(transfer.await(ChronoUnit.FOREVER.getDuration()));
        assertEquals(State.COMPLETED, transfer.join());
    }

    @Test
    void whatIsNotReleasedIsNotSubmittedAgain() {
        transfer.submit();
        assertEquals(Kind.ILLEGAL_STATE, assertThrows(MooncakeException.class, transfer::submit).kind());
        assertTrue(transfer.cancel());
        assertEquals(Kind.ILLEGAL_STATE, assertThrows(MooncakeException.class, transfer::submit).kind());
        transfer.end(0, Outcome.CANCELED, null);
        assertEquals(State.QUEUED, transfer.submit().state());
        assertEquals(Outcome.PENDING, transfer.outcome(0));
        transfer.end(0, Outcome.OK, null);
        assertEquals(Kind.ILLEGAL_STATE,
                assertThrows(MooncakeException.class, () -> transfer.end(0, Outcome.OK, null)).kind());
    }

    @Test
    void aCancelThatGoesOnAfterTheNextSubmissionDoesNothingToThat() {
        transfer.submit();
        // Between the decision and the abort: the piece ends, and all of it begins anew.
        hand.onCount = () -> {
            hand.onCount = () -> {};
            transfer.end(0, Outcome.CANCELED, null);
            transfer.submit();
        };
        assertTrue(transfer.cancel());
        assertEquals(0, hand.aborted.get());
        assertEquals(State.QUEUED, transfer.state());
        assertFalse(transfer.isReleased());
        transfer.end(0, Outcome.OK, null);
        assertEquals(State.COMPLETED, transfer.state());
    }

    @Test
    void nothingIsReleasedWhileACancelAborts() {
        Transfer[] canceled = new Transfer[1];
        Hand busy = new Hand() {
            @Override
            public void abort() {
                super.abort();
                canceled[0].end(0, Outcome.CANCELED, null);
                assertFalse(canceled[0].isReleased(), "the next submission could begin within the abort of this one");
            }
        };
        canceled[0] = new Transfer(busy, busy, 1, false, 1_000, Transfer.Told.NOBODY);
        canceled[0].submit();
        assertTrue(canceled[0].cancel());
        assertEquals(1, busy.aborted.get());
        assertTrue(canceled[0].isReleased());
    }

    @Test
    void aPieceThatEndsAfterTheTransferWasGivenUpIsOkOrGivenUpToo() {
        Transfer pool = new Transfer(hand, hand, 3, true, 1_000, Transfer.Told.NOBODY);
        pool.submit();
        pool.end(0, Outcome.STALE, null);
        pool.timeOut();
        assertTrue(pool.isDone());
        assertEquals(Outcome.STALE, pool.outcome(0));
        assertEquals(Outcome.TIMED_OUT, pool.outcome(1));
        assertFalse(pool.cancel());
        assertEquals(Outcome.TIMED_OUT, pool.unlessGivenUp(Outcome.UNREACHABLE));
        assertEquals(Outcome.OK, pool.unlessGivenUp(Outcome.OK));
        pool.end(1, Outcome.TIMED_OUT, null);
        pool.end(2, Outcome.OK, null);
        assertEquals(State.TIMED_OUT, pool.state());
        assertTrue(pool.isReleased());
        assertEquals(0, hand.dispatched.get(), "nobody asked");
    }

    /** Case C21, the race. */
    @Test
    void cancelAndCompletionAtOnceGiveOneEndAndOneCallback() throws Exception {
        AtomicInteger callbacks = new AtomicInteger();
        Transfer raced = new Transfer(hand, hand, 1, false, 1_000,
                new Transfer.Told(done -> callbacks.incrementAndGet(), null));
        int canceled = 0;
        try (Racer racer = new Racer()) {
            for (int i = 1; i <= RACES; i++) {
                raced.submit();
                boolean[] won = new boolean[1];
                racer.race(() -> won[0] = raced.cancel(), () -> raced.end(0, raced.unlessGivenUp(Outcome.OK), null));
                assertTrue(raced.isDone() && raced.isReleased());
                assertEquals(won[0] ? State.CANCELED : State.COMPLETED, raced.state());
                assertEquals(Outcome.OK, raced.outcome(0));
                assertFalse(raced.cancel(), "done already");
                canceled += won[0] ? 1 : 0;
                Hand.runDue(raced);
                assertEquals(i, callbacks.get());
            }
        }
        assertTrue(hand.aborted.get() <= canceled, "released before the abort, there is nothing to abort");
    }

    /** Case C115: two halves finish at once. */
    @Test
    void twoHalvesThatEndAtOnceEndItOnce() throws Exception {
        AtomicInteger callbacks = new AtomicInteger();
        Transfer raced = new Transfer(hand, hand, 2, false, 1_000,
                new Transfer.Told(done -> callbacks.incrementAndGet(), null));
        try (Racer racer = new Racer()) {
            for (int i = 1; i <= RACES; i++) {
                raced.submit();
                CompletableFuture<Transfer> future = raced.future();
                racer.race(() -> raced.end(0, Outcome.OK, null), () -> raced.end(1, Outcome.OK, null));
                assertEquals(State.COMPLETED, raced.state());
                Hand.runDue(raced);
                assertEquals(raced, future.getNow(null));
                assertEquals(i, callbacks.get());
            }
        }
    }

    @Test
    void stagesAreReachedInTheirOrder() {
        Transfer staged = new Transfer(hand, hand, 3, false, 1_000, Transfer.Told.NOBODY);
        staged.submit();
        staged.end(1, Outcome.OK, null);
        assertEquals(-1, staged.stage());
        assertFalse(staged.awaitStage(0, Duration.ofNanos(1)));
        staged.end(0, Outcome.OK, null);
        assertEquals(1, staged.stage());
        assertTrue(staged.awaitStage(1, ChronoUnit.FOREVER.getDuration()));
        assertNull(staged.cause(2));
        staged.end(2, Outcome.STALE, null);
        assertEquals(1, staged.stage());
        assertFalse(staged.awaitStage(2, ChronoUnit.FOREVER.getDuration()), "it is done, and that stage is not there");
        assertEquals(State.FAILED, staged.state());
    }

    @Test
    void aPieceCanBeUsedBeforeThoseThatStillCome() {
        AtomicInteger waits = new AtomicInteger();
        Hand waited = new Hand() {
            @Override
            public boolean pump(BooleanSupplier done, long deadlineNs) {
                waits.incrementAndGet();
                return true;
            }
        };
        Transfer some = new Transfer(waited, waited, 3, true, 1_000, Transfer.Told.NOBODY);
        some.submit();
        some.end(1, Outcome.OK, null);
        assertEquals(Outcome.PENDING, some.awaitOutcome(0, Duration.ofNanos(1)));
        // Neither the one before it nor the one after it is there.
        assertEquals(Outcome.OK, some.awaitOutcome(1, ChronoUnit.FOREVER.getDuration()));
        some.end(0, Outcome.STALE, null);
        assertEquals(Outcome.STALE, some.awaitOutcome(0, ChronoUnit.FOREVER.getDuration()));
        assertFalse(some.isDone());
        some.cancel();
        assertEquals(Outcome.CANCELED, some.awaitOutcome(2, ChronoUnit.FOREVER.getDuration()));
        assertEquals(1, waits.get(), "waits only for a piece whose end is not known");
        some.end(2, Outcome.CANCELED, null);
    }

    @Test
    void nobodyWaitsForThePiecesAfterTheOneThatIsNeeded() {
        AtomicInteger came = new AtomicInteger();
        List<Transfer> all = new ArrayList<>();
        Hand oneByOne = new Hand() {
            @Override
            public boolean pump(BooleanSupplier done, long deadlineNs) {
                while (!done.getAsBoolean()) {
                    all.getFirst().end(came.getAndIncrement(), Outcome.OK, null);
                }
                return true;
            }
        };
        all.add(new Transfer(oneByOne, oneByOne, 3, true, 1_000, Transfer.Told.NOBODY).submit());
        for (int piece = 0; piece < 3; piece++) {
            assertEquals(Outcome.OK, all.getFirst().awaitOutcome(piece, ChronoUnit.FOREVER.getDuration()));
            assertEquals(piece + 1, came.get());
        }
    }

    /** Two threads that begin as nearly together as can be. */
    private static final class Racer implements AutoCloseable {
        private final ExecutorService other = Executors.newSingleThreadExecutor();
        private final CyclicBarrier barrier = new CyclicBarrier(2);

        void race(Runnable here, Runnable there) throws Exception {
            Future<?> done = other.submit(() -> {
                barrier.await();
                there.run();
                return null;
            });
            barrier.await();
            here.run();
            done.get();
        }

        @Override
        public void close() {
            other.close();
        }
    }
}
