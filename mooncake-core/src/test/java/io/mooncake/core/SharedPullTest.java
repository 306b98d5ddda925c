package io.mooncake.core;

import static io.mooncake.core.ManualNodes.SLOTS;
import static io.mooncake.core.TestNodes.BLOCK;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Tier;
import io.mooncake.core.pool.BlockPool.Usage;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Transfer;
import io.mooncake.core.transfer.Transfer.State;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Several pieces that want one block pull it once, and none of them suffers from another's end. */
class SharedPullTest {
    private final ManualNodes manual = new ManualNodes();
    private final ManualEngine engine = manual.engine;
    private final BlockRef k = manual.block("k");

    @AfterEach
    void close() {
        manual.close();
    }

    private Transfer pull(Duration timeout) {
        return manual.node.store()
                .prepare(List.of(Piece.replica(k.id())), TransferOptions.DEFAULT.withTimeout(timeout))
                .submit();
    }

    @Test
    void whoeverWaitsForAPullThatEndsInThatMomentIsWoken() throws InterruptedException {
        int rounds = 300_000;
        AtomicInteger woken = new AtomicInteger();
        SharedPulls shared = new SharedPulls(woken::incrementAndGet);
        AtomicReference<SharedPulls.Going> going = new AtomicReference<>();
        AtomicInteger ended = new AtomicInteger();
        Thread ender = Thread.ofPlatform().start(() -> {
            for (SharedPulls.Going last = null; ended.get() < rounds;) {
                SharedPulls.Going next = going.get();
                if (next == null || next.equals(last)) {
                    Thread.yield();
                } else {
                    shared.end(next);
                    last = next;
                    ended.incrementAndGet();
                }
            }
        });
        int lost = 0;
        for (int i = 0; i < rounds; i++) {
            SharedPulls.Going first = new SharedPulls.Going(k, Tier.DRAM);
            SharedPulls.Going second = new SharedPulls.Going(k, Tier.DRAM);
            assertNull(shared.join(first));
            int before = woken.get();
            going.set(first);
            boolean waits = shared.join(second) != null;
            while (ended.get() == i) {
                Thread.yield();
            }
            lost += waits && woken.get() == before ? 1 : 0;
            shared.end(second);
        }
        ender.join();
        assertEquals(0, lost);
    }

    @Test
    void theBlockIsPulledOnceForAllOfThem() {
        List<Transfer> pulls = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            pulls.add(pull(TestNodes.LONG));
        }
        // Two of one transfer, one of them by reference.
        pulls.add(manual.prepare(Piece.replica(k.id()), Piece.of(k, 0, Piece.WHOLE, Destination.replica()))
                .submit());
        manual.run();
        assertEquals(1, engine.reads.size());
        assertEquals(new Usage(1, 0, SLOTS - 1), manual.node.usage());
        engine.arrive(7);
        manual.run();
        for (Transfer pull : pulls) {
            assertEquals(State.COMPLETED, pull.state());
        }
        assertTrue(engine.reads.isEmpty());
        assertEquals(1, manual.node.counters().get(Counter.BLOCKS_REPLICATED));
        assertEquals(BLOCK, manual.node.counters().get(Counter.BYTES_PULLED));
        assertEquals(0, manual.node.counters().get(Counter.PIECE_RETRIES));
    }

    @Test
    void whenThePullerIsCanceledTheNextOneBeginsAtOnce() {
        Transfer first = pull(TestNodes.LONG);
        Transfer second = pull(TestNodes.LONG);
        Transfer third = pull(TestNodes.LONG);
        manual.run();
        GuardedRead given = engine.reads.getFirst();
        assertTrue(first.cancel());
        manual.node.doWork();
        assertEquals(2, engine.reads.size(), "it does not wait until the engine has let go of the first");
        engine.arrive(7);
        assertFalse(engine.reads.contains(given), "the oldest read was the first one's");
        manual.run();
        assertEquals(State.CANCELED, first.state());
        assertFalse(second.isDone(), "what was given up is not the others'");
        engine.arrive(7);
        manual.run();
        assertEquals(List.of(State.COMPLETED, State.COMPLETED), List.of(second.state(), third.state()));
        assertEquals(new Usage(1, 0, SLOTS - 1), manual.node.usage());
    }

    @Test
    void whenThePullerTimesOutAWaiterWithTimeLeftBeginsAnew() {
        Transfer first = pull(Duration.ofSeconds(1));
        Transfer second = pull(Duration.ofSeconds(10));
        manual.run();
        manual.nowNs.addAndGet(Duration.ofSeconds(1).toNanos());
        engine.end(engine.reads.getFirst(), ReadStatus.TIMED_OUT);
        manual.run();
        assertEquals(State.TIMED_OUT, first.state());
        assertFalse(second.isDone());
        engine.arrive(7);
        manual.run();
        assertEquals(State.COMPLETED, second.state());
    }

    @Test
    void aWaiterHasItsOwnDeadlineAndCancel() {
        Transfer puller = pull(TestNodes.LONG);
        Transfer late = pull(Duration.ofSeconds(1));
        Transfer canceled = pull(TestNodes.LONG);
        manual.run();
        assertTrue(canceled.cancel());
        manual.node.doWork();
        assertTrue(canceled.isReleased());
        assertEquals(Outcome.CANCELED, canceled.outcome(0));
        manual.nowNs.addAndGet(Duration.ofSeconds(1).toNanos());
        manual.node.doWork();
        assertEquals(State.TIMED_OUT, late.state());
        assertTrue(late.isReleased());
        engine.arrive(7);
        manual.run();
        assertEquals(State.COMPLETED, puller.state());
    }

    @Test
    void whatEndsThePullOtherwiseIsTriedByEachOfThem() {
        Transfer first = pull(TestNodes.LONG);
        Transfer second = pull(TestNodes.LONG);
        manual.run();
        engine.end(engine.reads.getFirst(), ReadStatus.UNREACHABLE);
        manual.run();
        assertEquals(Outcome.UNREACHABLE, first.outcome(0));
        assertFalse(second.isDone());
        engine.end(engine.reads.getFirst(), ReadStatus.STALE);
        manual.run();
        assertEquals(Outcome.STALE, second.outcome(0));
        assertEquals(new Usage(0, 0, SLOTS), manual.node.usage());
        // Nothing is left behind: the next one pulls.
        Transfer third = pull(TestNodes.LONG);
        engine.arrive(7);
        manual.run();
        assertEquals(State.COMPLETED, third.state());
    }

    @Test
    void anotherVersionIsPulledByItself() {
        Transfer old = pull(TestNodes.LONG);
        BlockRef newer = manual.block("k");
        Transfer current = pull(TestNodes.LONG);
        manual.run();
        assertEquals(2, engine.reads.size());
        engine.arrive(8);
        engine.arrive(9);
        manual.run();
        assertEquals(State.COMPLETED, old.state());
        assertEquals(State.COMPLETED, current.state());
        assertEquals(newer.version(), manual.node.store()
                .locations(k.id())
                .stream()
                .filter(ref -> ref.node().equals(manual.node.id()))
                .findFirst()
                .orElseThrow()
                .version());
    }

    @Test
    void closeEndsWhoeverWaits() {
        Transfer first = pull(TestNodes.LONG);
        Transfer second = pull(TestNodes.LONG);
        manual.run();
        manual.node.close();
        assertEquals(List.of(State.CANCELED, State.CANCELED), List.of(first.state(), second.state()));
        assertTrue(first.isReleased() && second.isReleased());
    }
}
