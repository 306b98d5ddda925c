package io.mooncake.testing;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockState;
import io.mooncake.core.pool.BlockPool;
import io.mooncake.core.pool.BlockPool.Usage;
import io.mooncake.core.pool.GuardTable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What every pool keeps to. A subclass opens one of two size classes: 4 slots of 100 bytes and 2 of 4096. */
public abstract class BlockPoolContract {
    private static final long SMALL = 100;
    private static final long LARGE = 4096;

    private final List<BlockPool> opened = new ArrayList<>();

    /** A new pool. */
    protected abstract BlockPool open();

    private BlockPool pool() {
        BlockPool pool = open();
        opened.add(pool);
        return pool;
    }

    @AfterEach
    public void everySlotIsBack() {
        for (BlockPool pool : opened) {
            assertEquals(new Usage(0, 0, pool.slots()), pool.usage());
            pool.close();
            assertDoesNotThrow(pool::close);
        }
    }

    private static Kind kindOf(Runnable call) {
        return assertThrows(MooncakeException.class, call::run).kind();
    }

    @Test
    public void shouldGiveDisjointSlotsThatAreLongEnough() {
        BlockPool pool = pool();
        assertEquals(6, pool.slots());
        assertEquals(LARGE, pool.largestSlotBytes());
        long[][] ranges = new long[6][];
        for (int i = 0; i < 6; i++) {
            int slot = pool.reserve(i < 4 ? SMALL : LARGE);
            assertEquals(i < 4 ? SMALL : LARGE, pool.slotBytes(slot));
            ranges[i] = new long[]{pool.offset(slot), pool.offset(slot) + pool.slotBytes(slot), slot};
            assertEquals(0, pool.offset(slot) % 64);
            assertEquals(new Usage(i + 1, 0, 5 - i), pool.usage());
        }
        Arrays.sort(ranges, (a, b) -> Long.compare(a[0], b[0]));
        for (int i = 1; i < 6; i++) {
            assertTrue(ranges[i][0] >= ranges[i - 1][1]);
        }
        assertTrue(ranges[5][1] <= pool.memory().length());
        assertEquals(BlockPool.NONE, pool.reserve(1));
        Arrays.stream(ranges).forEach(range -> pool.release((int) range[2]));
    }

    @Test
    public void shouldFallBackToTheNextLongerClassAndReuseTheLastReleased() {
        BlockPool pool = pool();
        int[] small = IntStream.range(0, 4).map(i -> pool.reserve(1)).toArray();
        int large = pool.reserve(SMALL);
        assertEquals(LARGE, pool.slotBytes(large));
        pool.release(small[2]);
        pool.release(small[1]);
        assertEquals(small[1], pool.reserve(SMALL));
        assertEquals(small[2], pool.reserve(1));
        int other = pool.reserve(SMALL + 1);
        assertNotEquals(large, other);
        assertEquals(BlockPool.NONE, pool.reserve(LARGE));
        IntStream.concat(Arrays.stream(small), IntStream.of(large, other)).forEach(pool::release);
    }

    @Test
    public void shouldRefuseLengthsAndSlotsThatThereAreNot() {
        BlockPool pool = pool();
        assertEquals(Kind.OUT_OF_BOUNDS, kindOf(() -> pool.reserve(0)));
        assertEquals(Kind.OUT_OF_BOUNDS, kindOf(() -> pool.reserve(-1)));
        assertEquals(Kind.OUT_OF_BOUNDS, kindOf(() -> pool.reserve(LARGE + 1)));
        for (int slot : new int[]{-1, 6, Integer.MAX_VALUE, Integer.MIN_VALUE}) {
            assertEquals(Kind.OUT_OF_BOUNDS, kindOf(() -> pool.release(slot)));
            assertEquals(Kind.OUT_OF_BOUNDS, kindOf(() -> pool.quarantine(slot)));
            assertEquals(Kind.OUT_OF_BOUNDS, kindOf(() -> pool.offset(slot)));
            assertEquals(Kind.OUT_OF_BOUNDS, kindOf(() -> pool.slotBytes(slot)));
        }
    }

    @Test
    public void shouldKeepQuarantinedSlotsFromEverybody() {
        BlockPool pool = pool();
        int a = pool.reserve(LARGE);
        int b = pool.reserve(LARGE);
        pool.quarantine(a);
        assertEquals(new Usage(1, 1, 4), pool.usage());
        assertEquals(6, pool.usage().capacity());
        assertEquals(BlockPool.NONE, pool.reserve(LARGE));
        assertEquals(Kind.ILLEGAL_STATE, kindOf(() -> pool.quarantine(a)));
        pool.release(a);
        assertEquals(Kind.ILLEGAL_STATE, kindOf(() -> pool.quarantine(a)));
        assertEquals(a, pool.reserve(LARGE));
        pool.release(a);
        pool.release(b);
    }

    @Test
    public void shouldNameTheSlotsThatKeepItOpen() {
        BlockPool pool = pool();
        int used = pool.reserve(1);
        int quarantined = pool.reserve(LARGE);
        pool.quarantine(quarantined);
        MooncakeException e = assertThrows(MooncakeException.class, pool::close);
        assertEquals(Kind.IN_USE, e.kind());
        assertTrue(String.valueOf(e.getMessage())
                .contains("used slots [" + used + "], quarantined slots [" + quarantined
                        + "]"),
                e::getMessage);
        assertEquals(Kind.CLOSED, kindOf(() -> pool.reserve(1)));
        assertEquals(new Usage(1, 1, 4), pool.usage());
        pool.release(used);
        pool.release(quarantined);
    }

    @Test
    public void shouldStartAboveTheGuardsOfAPoolClosedBefore() {
        BlockPool first = pool();
        int slot = first.reserve(LARGE);
        for (int i = 0; i < 10; i++) {
            first.guards().freed(slot, first.guards().allocated(slot));
        }
        first.release(slot);
        long last = first.guards().read(slot);
        first.close();
        BlockPool second = pool();
        for (int i = 0; i < second.slots(); i++) {
            assertTrue(second.guards().read(i) > last);
            assertEquals(BlockState.FREE, GuardTable.state(second.guards().read(i)));
        }
    }

    @Test
    public void C54_shouldRefuseASecondFree() {
        BlockPool pool = pool();
        int slot = pool.reserve(LARGE);
        pool.release(slot);
        assertEquals(Kind.ILLEGAL_STATE, kindOf(() -> pool.release(slot)));
        assertEquals(new Usage(0, 0, 6), pool.usage());
        int x = pool.reserve(LARGE);
        int y = pool.reserve(LARGE);
        assertNotEquals(x, y);
        pool.release(x);
        pool.release(y);
    }

    @Test
    public void C54_shouldFreeOnceWhenTwoThreadsFree() throws InterruptedException {
        freeByTwo(2_000);
    }

    @Test
    @Tag("full")
    public void C54_shouldFreeOnceWhenTwoThreadsFreeInFull() throws InterruptedException {
        freeByTwo(100_000);
    }

    private void freeByTwo(int rounds) throws InterruptedException {
        BlockPool pool = pool();
        AtomicInteger slot = new AtomicInteger();
        AtomicInteger refused = new AtomicInteger();
        CyclicBarrier both = new CyclicBarrier(2);
        int[] taken = new int[6];
        inTwoThreads(first -> {
            for (int i = 0; i < rounds; i++) {
                if (first) {
                    slot.set(pool.reserve(LARGE));
                }
                both.await();
                try {
                    pool.release(slot.get());
                } catch (MooncakeException e) {
                    assertEquals(Kind.ILLEGAL_STATE, e.kind());
                    refused.incrementAndGet();
                }
                both.await();
                if (first) {
                    assertEquals(new Usage(0, 0, 6), pool.usage());
                    Arrays.setAll(taken, n -> pool.reserve(1));
                    assertArrayEquals(new int[]{0, 1, 2, 3, 4, 5}, Arrays.stream(taken).sorted().toArray());
                    Arrays.stream(taken).forEach(pool::release);
                }
            }
        });
        assertEquals(rounds, refused.get());
    }

    @Test
    public void shouldNeverGiveASlotToTwoThreads() throws InterruptedException {
        BlockPool pool = pool();
        AtomicIntegerArray owners = new AtomicIntegerArray(pool.slots());
        inTwoThreads(first -> {
            SplittableRandom random = new SplittableRandom(first ? 1 : 2);
            int[] mine = new int[8];
            int count = 0;
            for (int i = 0; i < 50_000; i++) {
                if (count < mine.length && random.nextBoolean()) {
                    int slot = pool.reserve(random.nextBoolean() ? SMALL : LARGE);
                    if (slot != BlockPool.NONE) {
                        assertEquals(0, owners.getAndIncrement(slot), "slot " + slot + " has two owners");
                        mine[count++] = slot;
                    }
                } else if (count > 0) {
                    int slot = mine[--count];
                    if (random.nextInt(4) == 0) {
                        pool.quarantine(slot);
                    }
                    owners.decrementAndGet(slot);
                    pool.release(slot);
                }
                Usage usage = pool.usage();
                assertTrue(usage.used() >= 0 && usage.quarantined() >= 0 && usage.free() >= 0, usage::toString);
            }
            while (count > 0) {
                owners.decrementAndGet(mine[--count]);
                pool.release(mine[count]);
            }
        });
    }

    /** Work of one of two threads. */
    private interface Work {
        void run(boolean first) throws Exception;
    }

    private static void inTwoThreads(Work work) throws InterruptedException {
        AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
        CountDownLatch done = new CountDownLatch(2);
        Thread[] threads = new Thread[2];
        for (int i = 0; i < 2; i++) {
            boolean first = i == 0;
            threads[i] = Thread.ofPlatform().start(() -> {
                try {
                    work.run(first);
                } catch (Throwable e) {
                    if (failure.compareAndSet(null, e)) {
                        // The other one may be waiting for this one.
                        threads[first ? 1 : 0].interrupt();
                    }
                } finally {
                    done.countDown();
                }
            });
        }
        done.await();
        if (failure.get() != null) {
            throw new AssertionError(failure.get());
        }
    }
}
