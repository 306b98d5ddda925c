package io.mooncake.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Transfer;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;

/** A transfer's states, driven by hand: one piece whose end the test decides, callbacks that run when it says so. */
class ResubmittedTransferTest {
    private final class Hand implements Transfer.Host, Transfer.Work {
        private int dispatched;

        @Override
        public void checkOpen() {}

        @Override
        public long nowNs() {
            return 0;
        }

        @Override
        public boolean pump(BooleanSupplier done, long deadlineNs) {
            return true;
        }

        @Override
        public void dispatch(Transfer transfer) {
            dispatched++;
        }

        @Override
        public void count(Counter counter) {}

        @Override
        public void start(Transfer transfer, long deadlineNs) {}

        @Override
        public void abort() {}

        @Override
        public int stage(int piece) {
            return 0;
        }

        void runDue() {
            for (int due = transfer.takeCallbacksDue(); due > 0; due--) {
                transfer.runCallback();
            }
        }
    }

    private final Hand hand = new Hand();
    private final Transfer transfer = new Transfer(hand, hand, 1, false, 1_000, null);

    @Test
    void aFutureIsOfTheSubmissionThatItWasAskedFor() {
        CompletableFuture<Transfer> first = transfer.future();
        transfer.submit();
        assertFalse(first.isDone());
        transfer.end(0, Outcome.OK, null);
        assertEquals(1, hand.dispatched);
        // Submitted again before the callbacks ran.
        transfer.submit();
        assertTrue(first.isDone());
        CompletableFuture<Transfer> second = transfer.future();
        hand.runDue();
        assertFalse(second.isDone(), "the caller's memory is still being written");
        transfer.end(0, Outcome.OK, null);
        hand.runDue();
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
        assertEquals(Transfer.State.COMPLETED, transfer.join());
    }
}
