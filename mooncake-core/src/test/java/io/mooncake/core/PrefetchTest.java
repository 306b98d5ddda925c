package io.mooncake.core;

import static io.mooncake.core.TestNodes.BLOCK;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Counters;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Transfer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What is fetched ahead of its use: how much at a time, and what of it was right. On a clock that the test moves. */
@Timeout(120)
final class PrefetchTest {
    private static final long SECOND = 1_000_000_000L;
    private static final int COLD = 40;

    @TempDir
    @SuppressWarnings("NullAway.Init") // by JUnit
    Path directory;

    private final AtomicLong nowNs = new AtomicLong();
    private final TestNodes nodes = new TestNodes();

    @AfterEach
    void close() {
        nodes.close();
    }

    /** Of so many slots, ten blocks a second; and 40 blocks that are only in its file. */
    private Node startCold(int slots) {
        Node node = nodes.start("a", builder -> builder.threading(ThreadingMode.INVOKER)
                .nanoClock(() -> nowNs.addAndGet(1_000))
                .sharedMemory(NodeConfig.SHARED_MEMORY_OFF)
                .evictionPolicy("lru")
                .poolSize(slots * BLOCK)
                .prefetchBandwidth(10 * BLOCK)
                .transferTimeout(Duration.ofSeconds(60))
                .fileTier(directory, 200 * BLOCK));
        for (int i = 0; i < COLD; i++) {
            TestNodes.write(node, id(i), BLOCK, i);
            node.mover().demote(List.of(id(i)), TransferOptions.DEFAULT).join();
        }
        while (node.usage().used() > 0) {
            node.doWork();
        }
        return node;
    }

    private static BlockId id(int number) {
        return BlockId.of("cold " + number);
    }

    private static List<BlockId> ids(int from, int until) {
        return IntStream.range(from, until).mapToObj(PrefetchTest::id).toList();
    }

    /** Long enough for what may be fetched now; the clock hardly moves. */
    private static void run(Node node) {
        for (int i = 0; i < 300; i++) {
            node.doWork();
        }
    }

    private static long arrived(Transfer ahead) {
        return IntStream.range(0, ahead.pieces()).filter(i -> ahead.outcome(i) == Outcome.OK).count();
    }

    @Test
    void shouldFetchAheadAsMuchAsTheBudgetAllowsAndLoadsAtOnce() {
        Node node = startCold(64);
        Transfer ahead = node.mover().prefetch(ids(0, 30));
        run(node);
        long first = arrived(ahead);
        assertTrue(first >= 1 && first <= 3, "at once: " + first);
        nowNs.addAndGet(SECOND / 2);
        run(node);
        assertTrue(arrived(ahead) <= first + 7, "after half a second: " + arrived(ahead));
        // Not behind what waits for the budget, not even the same block.
        Transfer load = node.mover().promote(ids(25, 32), TransferOptions.DEFAULT);
        load.join();
        assertEquals(Transfer.State.COMPLETED, load.state());
        for (int i = 0; i < 40; i++) {
            nowNs.addAndGet(SECOND / 10);
            run(node);
        }
        assertEquals(30, arrived(ahead));
        assertEquals(Transfer.State.COMPLETED, ahead.state());
        assertTrue(node.counters().get(Counter.BLOCKS_PREFETCHED) <= 25);
    }

    @Test
    void shouldFetchNothingMoreForWhatWasCanceled() {
        Node node = startCold(64);
        Transfer ahead = node.mover().prefetch(ids(0, 30));
        run(node);
        ahead.cancel();
        long before = node.counters().get(Counter.BLOCKS_PREFETCHED);
        for (int i = 0; i < 20; i++) {
            nowNs.addAndGet(SECOND);
            run(node);
        }
        assertTrue(ahead.isDone());
        assertEquals(before, node.counters().get(Counter.BLOCKS_PREFETCHED));
    }

    @Test
    void shouldSayThatTheBudgetWasSpent() {
        Node node = startCold(64);
        Transfer ahead = node.mover().prefetch(ids(0, 30));
        run(node);
        nowNs.addAndGet(61 * SECOND);
        run(node);
        assertEquals(Outcome.TIMED_OUT, ahead.outcome(29));
        assertEquals(Kind.BACK_PRESSURE, Objects.requireNonNull(ahead.cause(29)).kind());
        assertTrue(String.valueOf(ahead.cause(29)).contains("prefetch.bandwidth"),
                () -> String.valueOf(ahead.cause(29)));
    }

    @Test
    void shouldCountWhichGuessesWereRight() {
        Node node = startCold(12);
        Transfer ahead = node.mover().prefetch(ids(0, 8));
        while (!ahead.isDone()) {
            nowNs.addAndGet(SECOND / 10);
            run(node);
        }
        assertEquals(8, node.counters().get(Counter.BLOCKS_PREFETCHED));
        node.store().touch(ids(0, 2));
        assertEquals(2, node.counters().get(Counter.PREFETCHES_USED));
        try (BlockView view = node.store().newView()) {
            assertTrue(node.store().acquire(id(2), view));
        }
        assertEquals(0, node.counters().get(Counter.PREFETCHES_WRONG));
        for (int i = 0; i < 24; i++) {
            TestNodes.write(node, BlockId.of("other " + i), BLOCK, i);
        }
        try (BlockView view = node.store().newView()) {
            assertFalse(node.store().acquire(id(0), view));
        }
        assertEquals(5, node.counters().get(Counter.PREFETCHES_WRONG));
        assertEquals(3, node.counters().get(Counter.PREFETCHES_USED));
    }

    @Test
    void shouldAllowLessWhereGuessesWereWrongAndMoreWhenTheyAreRightAgain() {
        Counters counters = new Counters();
        PrefetchBudget budget = new PrefetchBudget(1_000, counters);
        long all = taken(budget, 0);
        assertTrue(all >= 100 && all <= 102, "in ten seconds: " + all);
        for (int i = 0; i < 12; i++) {
            counters.add(Counter.PREFETCHES_WRONG, 16);
            long _ = taken(budget, (10 + 10L * i) * SECOND);
        }
        long few = taken(budget, 1_000 * SECOND);
        assertTrue(few >= 6 && few <= 8, "a sixteenth: " + few);
        for (int i = 0; i < 12; i++) {
            counters.add(Counter.PREFETCHES_USED, 16);
            long _ = taken(budget, (1_010 + 10L * i) * SECOND);
        }
        assertTrue(taken(budget, 2_000 * SECOND) >= 98);
    }

    /** Of a hundred bytes each, asked for a thousand times a second, in ten seconds. */
    private static long taken(PrefetchBudget budget, long fromNs) {
        return IntStream.range(0, 10_000).filter(ms -> budget.take(100, fromNs + ms * 1_000_000L)).count();
    }
}
