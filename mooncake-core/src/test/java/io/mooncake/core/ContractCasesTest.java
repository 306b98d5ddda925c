package io.mooncake.core;

import static io.mooncake.core.TestNodes.BLOCK;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Counters;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.Hold;
import io.mooncake.core.pool.BlockPool.Usage;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import io.mooncake.core.transfer.Transfer.State;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Cases that are about whole nodes: memory, locks, registrations and counters. */
class ContractCasesTest {
    private static final BlockId ID = BlockId.of("k");
    private static final Duration LIMIT = Duration.ofMinutes(2);

    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();

    private interface Step {
        void run() throws Exception;
    }

    private Thread start(Step step) {
        return Thread.ofPlatform().start(() -> {
            try {
                step.run();
            } catch (Exception | AssertionError e) {
                failure.compareAndSet(null, e);
            }
        });
    }

    /** Case C20: cancel, then free the buffer at once. */
    @Test
    void aBufferMayBeFreedRightAfterACanceledTransferIsDone() {
        long size = 1 << 20;
        SplittableRandom random = new SplittableRandom(20);
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a", builder -> builder.blockSize(size).poolSize(4 * size));
            Node b = nodes.start("b");
            BlockRef ref = TestNodes.write(a, ID, size, 5);
            int canceled = 0;
            for (int i = 0; i < 300; i++) {
                try (Arena arena = Arena.ofShared()) {
                    Region region = b.register(Memory.of(arena.allocate(size)), Access.LOCAL_ONLY);
                    Transfer read = TestNodes.prepare(b, Piece.of(ref, 0, size, Destination.at(region, 0)))
                            .submit();
                    for (int spins = random.nextInt(20_000); spins > 0; spins--) {
                        Thread.onSpinWait();
                    }
                    boolean won = read.cancel();
                    assertEquals(won ? State.CANCELED : State.COMPLETED, read.join());
                    canceled += won ? 1 : 0;
                    region.close();
                }
            }
            Counters counters = b.counters();
            assertEquals(canceled, counters.get(Counter.TRANSFERS_CANCELED));
            assertEquals(300 - canceled, counters.get(Counter.TRANSFERS_COMPLETED));
        }
    }

    /** Case C96: a finished transfer is nobody's but the caller's. */
    @Test
    void finishedTransfersAreNotKept() {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            Node b = nodes.start("b");
            BlockRef here = TestNodes.write(b, ID, 1024, 1);
            BlockRef there = TestNodes.write(a, BlockId.of("l"), 1024, 1);
            Region region = nodes.region(b, 1024);
            List<WeakReference<Transfer>> finished = new ArrayList<>();
            for (int i = 0; i < 400; i++) {
                finished.add(new WeakReference<>(finish(b, region, i % 2 == 0 ? here : there, i)));
            }
            assertEquals(0, region.uses());
            assertEquals(0, inFlight(b.counters()));
            assertTrue(TestWaits.until(() -> {
                System.gc();
                // The agents' stacks may still have the last ones.
                return finished.stream().filter(reference -> reference.refersTo(null)).count() >= 390;
            }));
        }
    }

    private static Transfer finish(Node node, Region region, BlockRef ref, int i) {
        Piece piece = i % 100 == 99
                ? Piece.of(BlockId.of("nowhere"), 0, 1, Destination.at(region, 0))
                : Piece.of(ref, 0, 1024, Destination.at(region, 0));
        Transfer transfer = node.store()
                .prepare(List.of(piece), TransferOptions.DEFAULT.withCompletions(node.store().newCompletionQueue()))
                .submit();
        if (i % 10 == 0) {
            transfer.cancel();
        }
        transfer.join();
        transfer.awaitReleased(TestNodes.LONG);
        return transfer;
    }

    private static long inFlight(Counters counters) {
        long ended = counters.get(Counter.TRANSFERS_COMPLETED) + counters.get(Counter.TRANSFERS_FAILED)
                + counters.get(Counter.TRANSFERS_TIMED_OUT) + counters.get(Counter.TRANSFERS_CANCELED);
        return counters.get(Counter.TRANSFERS_SUBMITTED) - ended;
    }

    /** Case C112: writers of one key at once: one at a time has it, and what is read is always one whole fill. */
    @Test
    void writersOfOneKeyAreOneAfterTheOther() throws Exception {
        int writers = 8;
        int rounds = 60;
        AtomicInteger written = new AtomicInteger();
        AtomicBoolean over = new AtomicBoolean();
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            CyclicBarrier barrier = new CyclicBarrier(writers);
            List<Thread> threads = new ArrayList<>();
            for (int i = 1; i <= writers; i++) {
                byte fill = (byte) i;
                threads.add(start(() -> {
                    for (int round = 0; round < rounds; round++) {
                        barrier.await();
                        try (BlockWriter writer = a.store().allocate(ID, BLOCK)) {
                            writer.segment().fill(fill);
                            writer.commit();
                            written.incrementAndGet();
                        } catch (MooncakeException e) {
                            assertEquals(Kind.IN_USE, e.kind());
                        }
                    }
                }));
            }
            Thread reader = start(() -> {
                while (!over.get()) {
                    try (BlockView view = a.store().newView()) {
                        if (a.store().acquire(ID, view)) {
                            int fill = view.segment().get(ValueLayout.JAVA_BYTE, 0);
                            assertTrue(TestNodes.isAll(view.segment(), 0, BLOCK, fill));
                        }
                    }
                }
            });
            for (Thread thread : threads) {
                thread.join();
            }
            over.set(true);
            reader.join();
            assertNull(failure.get());
            assertTrue(written.get() >= rounds, written + " of at least one a round");
            TestNodes.announced(a);
            assertTrue(TestWaits.until(() -> a.usage().used() == 1), "old versions have gone");
        }
    }

    /** Case C116: everything at once, callbacks that call back into the store: nobody waits for a lock that waits for it. */
    @Test
    void nothingLocksUp() throws Exception {
        int steps = 400;
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a", builder -> builder.threading(ThreadingMode.DEDICATED));
            Node b = nodes.start("b");
            AtomicInteger called = new AtomicInteger();
            TransferOptions callingBack = TransferOptions.DEFAULT.withCallback(done -> {
                b.store().locations(ID);
                b.store().match(List.of(ID), Duration.ofMillis(1)).close();
                called.incrementAndGet();
            });
            List<Thread> threads = List.of(
                    start(() -> times(steps, i -> TestNodes.write(a, BlockId.of("k" + i % 20), BLOCK, i))),
                    start(() -> times(steps, i -> a.store().evict(List.of(BlockId.of("k" + i % 20))))),
                    start(() -> times(steps, i -> b.store()
                            .prepare(List.of(Piece.replica(BlockId.of("k" + i % 20))), callingBack)
                            .submit()
                            .join())),
                    start(() -> times(steps, i -> b.register(Memory.of(nodes.memory(64)), Access.READABLE).close())),
                    start(() -> times(steps, i -> {
                        a.counters().snapshot();
                        Hold _ = a.store()
                                .hold(a.store()
                                        .locations(BlockId.of("k" + i % 20))
                                        .stream()
                                        .filter(ref -> ref.node().equals(a.id()))
                                        .toList(), Duration.ofMillis(1));
                    })));
            for (Thread thread : threads) {
                assertTrue(thread.join(LIMIT), () -> "locked up at " + List.of(thread.getStackTrace()));
            }
            assertNull(failure.get());
            assertTrue(TestWaits.until(() -> called.get() == steps));
        }
    }

    private interface Numbered {
        void run(int i);
    }

    private static void times(int count, Numbered step) {
        for (int i = 0; i < count; i++) {
            step.run(i);
        }
    }

    /** Case C118: each region has the access that it was given, whatever is registered and closed meanwhile. */
    @Test
    void registrationsUnderLoadDoNotMix() throws Exception {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            Node b = nodes.start("b");
            BlockRef ref = TestNodes.write(a, ID, BLOCK, 7);
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                Access access = i % 2 == 0 ? Access.LOCAL_ONLY : Access.READABLE;
                threads.add(start(() -> times(200, round -> {
                    Region region = b.register(Memory.of(nodes.memory(BLOCK)), access);
                    assertEquals(access, region.access());
                    assertEquals(Outcome.OK, b.store().read(ref, region, 0));
                    assertTrue(TestNodes.isAll(TestNodes.segment(region), 0, BLOCK, 7));
                    region.close();
                    assertEquals(0, region.uses());
                    assertTrue(region.isClosed());
                })));
            }
            for (Thread thread : threads) {
                thread.join();
            }
            assertNull(failure.get());
            assertEquals(800, b.counters().get(Counter.PIECES_OK));
        }
    }

    /** Case C120: no gauge is ever below zero or above what there is. */
    @Test
    void gaugesStayInTheirBounds() throws Exception {
        long seed = ThreadLocalRandom.current().nextLong();
        SplittableRandom random = new SplittableRandom(seed);
        AtomicBoolean over = new AtomicBoolean();
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            Node b = nodes.start("b");
            int slots = b.usage().used() + b.usage().quarantined() + b.usage().free();
            Thread sampler = start(() -> {
                while (!over.get()) {
                    Usage usage = b.usage();
                    assertTrue(usage.used() >= 0 && usage.quarantined() >= 0 && usage.free() >= 0, usage::toString);
                    assertEquals(slots, usage.used() + usage.quarantined() + usage.free());
                    assertTrue(inFlight(b.counters()) >= 0);
                }
            });
            for (int i = 0; i < 2_000; i++) {
                BlockId id = BlockId.of("k" + random.nextInt(24));
                switch (random.nextInt(4)) {
                    case 0 -> a.store().allocate(id, BLOCK).commit();
                    case 1 -> b.store().evict(List.of(id));
                    case 2 -> b.store().allocate(id, BLOCK).close();
                    default -> {
                        Transfer pull = TestNodes.prepare(b, Piece.replica(id)).submit();
                        if (random.nextBoolean()) {
                            pull.cancel();
                        }
                        assertTrue(pull.awaitReleased(TestNodes.LONG));
                    }
                }
            }
            over.set(true);
            sampler.join();
            assertNull(failure.get(), () -> "seed " + seed + ": " + failure.get());
            assertEquals(0, inFlight(b.counters()), "seed " + seed);
            TestNodes.announced(b);
            int live = 0;
            for (int i = 0; i < 24; i++) {
                live += b.store().evict(List.of(BlockId.of("k" + i)));
            }
            assertTrue(live <= slots);
            assertTrue(TestWaits.until(() -> b.usage().free() == slots), "seed " + seed);
        }
    }

    /** Case C123: every outcome is counted, and they add up to the calls. */
    @Test
    void everyOutcomeIsCounted() {
        try (ManualNodes manual = new ManualNodes()) {
            BlockRef k = manual.block("k");
            Region region = manual.region(1);
            Transfer read = manual.prepare(ManualNodes.into(region, 0, k));
            for (ReadStatus status : List.of(ReadStatus.OK, ReadStatus.OK, ReadStatus.OK, ReadStatus.STALE,
                    ReadStatus.TIMED_OUT, ReadStatus.CANCELED, ReadStatus.CHECKSUM, ReadStatus.UNREACHABLE,
                    ReadStatus.REFUSED)) {
                read.submit();
                manual.engine.end(manual.engine.reads.getFirst(), status);
                manual.run();
                assertTrue(read.isReleased(), status::toString);
            }
            manual.prepare(Piece.replica(BlockId.of("nowhere"))).submit();
            Counters counters = manual.node.counters();
            assertEquals(3, counters.get(Counter.PIECES_OK));
            assertEquals(3 * BLOCK, counters.get(Counter.BYTES_PULLED));
            for (Counter one : List.of(Counter.PIECES_STALE, Counter.PIECES_TIMED_OUT, Counter.PIECES_CANCELED,
                    Counter.PIECES_CHECKSUM, Counter.PIECES_UNREACHABLE, Counter.PIECES_REFUSED,
                    Counter.PIECES_ABSENT, Counter.TRANSFERS_TIMED_OUT, Counter.TRANSFERS_CANCELED)) {
                assertEquals(1, counters.get(one), one::toString);
            }
            assertEquals(10, counters.get(Counter.TRANSFERS_SUBMITTED));
            assertEquals(3, counters.get(Counter.TRANSFERS_COMPLETED));
            assertEquals(5, counters.get(Counter.TRANSFERS_FAILED));
        }
    }
}
