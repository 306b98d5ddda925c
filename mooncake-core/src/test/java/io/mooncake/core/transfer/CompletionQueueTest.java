package io.mooncake.core.transfer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What a completion queue returns, and when. */
class CompletionQueueTest {
    private static final int MANY = 64;
    private static final int ROUNDS = 2_000;

    private final Hand hand = new Hand();
    private final CompletionQueue queue = new CompletionQueue(hand);

    private Transfer prepare(boolean poolMemoryOnly) {
        return new Transfer(hand, hand, 1, poolMemoryOnly, 1_000, new Transfer.Told(null, queue));
    }

    private static void finish(Transfer transfer) {
        transfer.end(0, Outcome.OK, null);
    }

    @Test
    void whatIsDoneIsPolledOnceAndInOrder() {
        List<Transfer> transfers = new ArrayList<>();
        for (int i = 0; i < MANY; i++) {
            transfers.add(prepare(false).submit());
        }
        assertNull(queue.poll());
        assertTrue(queue.isEmpty());
        transfers.reversed().forEach(CompletionQueueTest::finish);
        List<Transfer> polled = new ArrayList<>();
        assertEquals(10, queue.drain(polled::add, 10));
        assertSame(transfers.get(MANY - 11), queue.poll());
        assertEquals(MANY - 11, queue.drain(polled::add, MANY));
        assertNull(queue.poll());
        polled.add(10, transfers.get(MANY - 11));
        assertEquals(transfers.reversed(), polled);
        assertEquals(0, hand.dispatched.get(), "nobody asked for a callback");
    }

    @Test
    void whatIsCanceledComesWhenItIsDone() {
        Transfer callers = prepare(false).submit();
        Transfer pools = prepare(true).submit();
        assertTrue(callers.cancel());
        assertTrue(pools.cancel());
        assertSame(pools, queue.poll());
        assertNull(queue.poll(), "the caller's memory is still being written");
        callers.end(0, Outcome.CANCELED, null);
        pools.end(0, Outcome.CANCELED, null);
        assertSame(callers, queue.poll());
        assertNull(queue.poll(), "released is no second end");
    }

    @Test
    void whatIsSubmittedAgainBeforeItWasPolledComesWhenThatIsDone() {
        Transfer again = prepare(false).submit();
        Transfer other = prepare(false).submit();
        finish(again);
        finish(other);
        again.submit();
        assertSame(other, queue.poll());
        assertNull(queue.poll());
        finish(again);
        assertSame(again, queue.poll());
        assertNull(queue.poll());
        // Done twice before anybody looked.
        finish(again.submit());
        finish(again.submit());
        assertSame(again, queue.poll());
        assertNull(queue.poll());
    }

    @Test
    void pollingWithATimeoutWaitsUntilOneIsDone() throws Exception {
        Hand threaded = new Hand() {
            @Override
            public long nowNs() {
                return System.nanoTime();
            }

            @Override
            public boolean pump(BooleanSupplier done, long deadlineNs) {
                return false;
            }
        };
        CompletionQueue waited = new CompletionQueue(threaded);
        Transfer transfer = new Transfer(threaded, threaded, 1, false, 1_000, new Transfer.Told(null, waited));
        assertNull(waited.poll(Duration.ofNanos(1)));
        AtomicReference<@Nullable Transfer> polled = new AtomicReference<>();
        transfer.submit();
        Thread poller = Thread.ofPlatform().start(() -> polled.set(waited.poll(Duration.ofSeconds(20))));
        while (poller.getState() != Thread.State.TIMED_WAITING) {
            Thread.onSpinWait();
        }
        finish(transfer);
        poller.join();
        assertSame(transfer, polled.get());
        Thread interrupted = Thread.ofPlatform().start(() -> {
            Thread.currentThread().interrupt();
            assertNull(waited.poll(Duration.ofSeconds(20)));
            assertTrue(Thread.currentThread().isInterrupted());
        });
        interrupted.join();
    }

    @Test
    void nothingIsLostOrDoubledBetweenManyThreads() throws Exception {
        List<Thread> threads = new ArrayList<>();
        AtomicInteger polled = new AtomicInteger();
        AtomicInteger doubled = new AtomicInteger();
        int[] rounds = new int[MANY];
        for (int i = 0; i < 2; i++) {
            threads.add(Thread.ofPlatform().start(() -> {
                while (polled.get() < MANY * ROUNDS) {
                    queue.drain(transfer -> {
                        polled.incrementAndGet();
                        if (!transfer.isDone()) {
                            doubled.incrementAndGet();
                        }
                        // It is this thread's: whoever polled it submits it again.
                        synchronized (transfer) {
                            if (++rounds[transfer.pieces() - 1] < ROUNDS) {
                                transfer.submit();
                                for (int piece = 0; piece < transfer.pieces(); piece++) {
                                    transfer.end(piece, Outcome.OK, null);
                                }
                            }
                        }
                    }, MANY);
                    Thread.onSpinWait();
                }
            }));
        }
        for (int i = 1; i <= MANY; i++) {
            Transfer transfer = new Transfer(hand, hand, i, false, 1_000, new Transfer.Told(null, queue));
            transfer.submit();
            for (int piece = 0; piece < i; piece++) {
                transfer.end(piece, Outcome.OK, null);
            }
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertEquals(MANY * ROUNDS, polled.get());
        assertEquals(0, doubled.get());
        assertNull(queue.poll());
    }
}
