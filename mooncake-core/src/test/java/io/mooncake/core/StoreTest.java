package io.mooncake.core;

import static io.mooncake.core.TestNodes.BLOCK;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.Hold;
import io.mooncake.core.block.Tier;
import io.mooncake.core.pool.BlockPool;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class StoreTest {
    private static final BlockId ID = BlockId.of("k");

    @Test
    void aReplacedBlockIsKnownAllTheWhile() {
        HookedRegistry registry = new HookedRegistry();
        List<String> said = new ArrayList<>();
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a", builder -> builder.threading(ThreadingMode.INVOKER).registry(registry));
            TestNodes.write(a, ID, BLOCK, 1);
            registry.onAnnounce = () -> said.add("known " + registry.locations(ID).size());
            // Both slots are marked before the conductor looks.
            TestNodes.write(a, ID, BLOCK, 2);
            assertEquals(List.of("known 1", "known 1"), said, "the new version is announced before the old one goes");
            assertEquals(2, registry.highestCounter(ID));
        }
    }

    @Test
    void aMatchHoldsTheLeadingRunAndSaysWhatIsKnown() {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a", builder -> builder.poolSize(4 * BLOCK).spareSlots(2));
            Node b = nodes.start("b");
            BlockId there = BlockId.of("there");
            TestNodes.write(a, ID, 100, 1);
            TestNodes.write(b, there, BLOCK, 1);
            try (PrefixMatch match = a.store().match(List.of(ID, there, BlockId.of("none"), ID), TestNodes.LONG)) {
                assertEquals(2, match.hits());
                assertEquals(PrefixMatch.Status.READY, match.status(3));
                assertEquals(PrefixMatch.Status.ABSENT, match.status(2));
                assertNull(match.ref(2));
                assertEquals(List.of(Tier.DRAM, Tier.SLOW), List.of(match.tier(0), match.tier(1)));
                assertEquals(List.of(0L, -1L), List.of(match.cost(0), match.cost(2)));
                assertTrue(match.cost(1) > 0);
                assertEquals(100, match.validBytes(0));
                // What is held is no victim, however many come after.
                for (int i = 0; i < 6; i++) {
                    TestNodes.write(a, BlockId.of("fill-" + i), BLOCK, 2);
                }
                try (BlockView view = a.store().newView()) {
                    assertTrue(a.store().acquire(ID, view));
                }
            }
            try (PrefixMatch empty = a.store().match(List.of(), TestNodes.LONG)) {
                assertEquals(0, empty.hits());
            }
        }
    }

    @Test
    void aBlockCommittedDuringAMatchIsReadyAndNotAbsent() {
        AtomicReference<Runnable> meanwhile = new AtomicReference<>(() -> {});
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a", builder -> builder.scheduler((holders, bytes, view) -> {
                // Asked after the block was looked for here.
                meanwhile.getAndSet(() -> {}).run();
                return null;
            }));
            try (BlockWriter writer = a.store().allocate(ID, BLOCK)) {
                meanwhile.set(writer::commit);
                try (PrefixMatch match = a.store().match(List.of(ID), TestNodes.LONG)) {
                    assertEquals(PrefixMatch.Status.READY, match.status(0));
                    assertEquals(1, match.hits());
                    assertEquals(Tier.DRAM, match.tier(0));
                }
            }
        }
    }

    @Test
    void aHoldTakenByCommitEndsOnceByCloseOrTime() {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            Hold hold;
            try (BlockWriter writer = a.store().allocate(ID, BLOCK)) {
                hold = writer.commitAndHold(BLOCK, Duration.ofHours(1));
            }
            BlockRef ref = hold.refs().getFirst();
            TestNodes.announced(a);
            try (Hold brief = a.store().hold(List.of(ref), Duration.ofNanos(1))) {
                assertTrue(TestWaits.until(() -> !brief.isOpen()));
            }
            assertTrue(hold.isOpen());
            a.store().evict(List.of(ID));
            TestNodes.announced(a);
            assertEquals(1, a.usage().used(), "held memory is not reused");
            hold.close();
            hold.close();
            assertTrue(TestWaits.until(() -> a.usage().used() == 0));
        }
    }

    @Test
    void callbacksRunOncePerSubmissionAndNeverOnAnAgent() throws Exception {
        LinkedBlockingQueue<String> ran = new LinkedBlockingQueue<>();
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            TestNodes.write(a, ID, BLOCK, 1);
            Region region = nodes.region(a, BLOCK);
            Transfer transfer = a.store()
                    .prepare(List.of(Piece.of(ID, 0, BLOCK, Destination.at(region, 0))),
                            TransferOptions.DEFAULT.withCallback(done -> ran.add(Thread.currentThread().getName())));
            for (int i = 0; i < 1_000; i++) {
                transfer.submit().join();
            }
            for (int i = 0; i < 1_000; i++) {
                assertEquals("mooncake-a-callbacks", ran.poll(20, TimeUnit.SECONDS));
            }
            CompletableFuture<Transfer> future = transfer.submit().future();
            assertSame(transfer, future.get(20, TimeUnit.SECONDS));
            assertEquals("mooncake-a-callbacks", ran.poll(20, TimeUnit.SECONDS));
            assertNull(ran.poll());
        }
    }

    @Test
    void aCallbackThatThrowsIsCountedAndARejectedOneRunsAllTheSame() throws Exception {
        CountDownLatch ran = new CountDownLatch(2);
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a", builder -> builder.callbackExecutor(task -> {
                throw new RejectedExecutionException("full");
            }));
            TestNodes.write(a, ID, BLOCK, 1);
            Region region = nodes.region(a, BLOCK);
            Transfer transfer = a.store()
                    .prepare(List.of(Piece.of(ID, 0, BLOCK, Destination.at(region, 0))),
                            TransferOptions.DEFAULT.withCallback(done -> {
                                ran.countDown();
                                throw new AssertionError("a callback's own fault");
                            }));
            assertEquals(Transfer.State.COMPLETED, transfer.submit().join());
            assertEquals(Transfer.State.COMPLETED, transfer.submit().join());
            assertTrue(ran.await(20, TimeUnit.SECONDS));
            assertTrue(TestWaits.until(() -> a.counters().get(Counter.CALLBACKS_FAILED) == 2));
        }
    }

    @Test
    void eventsAreNumberedAndWrittenPrecedesEvicted() throws Exception {
        LinkedBlockingQueue<BlockEvent> events = new LinkedBlockingQueue<>();
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a", builder -> builder.poolSize(4 * BLOCK).spareSlots(2));
            BlockStore.Subscription subscription = a.store().events(events::add);
            for (int i = 0; i < 4; i++) {
                TestNodes.write(a, BlockId.of("k" + i), BLOCK, i);
            }
            List<String> seen = new ArrayList<>();
            for (int i = 0; i < 6; i++) {
                BlockEvent event = events.poll(20, TimeUnit.SECONDS);
                assertEquals(i + 1, event.number());
                seen.add(event.kind() + " " + event.ref().id());
            }
            assertTrue(seen.indexOf("WRITTEN k0") < seen.indexOf("EVICTED k0"), seen::toString);
            assertTrue(seen.indexOf("EVICTED k0") < seen.indexOf("EVICTED k1"), "least recently used first: " + seen);
            subscription.close();
            TestNodes.write(a, BlockId.of("unheard"), BLOCK, 1);
            assertNull(events.poll());
        }
    }

    @Test
    void touchDecidesWhoGoesFirst() {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a", builder -> builder.poolSize(4 * BLOCK).spareSlots(1));
            List<BlockId> ids = List.of(BlockId.of("1"), BlockId.of("2"), BlockId.of("3"));
            ids.forEach(id -> TestNodes.write(a, id, BLOCK, 1));
            a.store().touch(List.of(ids.get(1), ids.get(0)));
            TestNodes.write(a, BlockId.of("4"), BLOCK, 1);
            try (BlockView view = a.store().newView()) {
                assertFalse(a.store().acquire(ids.get(2), view));
                assertTrue(a.store().acquire(ids.get(1), view));
            }
        }
    }

    @Test
    void aSubmittedTransferIsNotSubmittedAgainBeforeItIsReleased() {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            Node b = nodes.start("b", builder -> builder.threading(ThreadingMode.INVOKER));
            TestNodes.write(a, ID, BLOCK, 1);
            Region region = nodes.region(b, BLOCK);
            Transfer transfer = TestNodes.prepare(b, Piece.of(ID, 0, BLOCK, Destination.at(region, 0)))
                    .submit();
            assertEquals(Kind.ILLEGAL_STATE, assertThrows(MooncakeException.class, transfer::submit).kind());
            assertTrue(transfer.cancel());
            assertFalse(transfer.cancel());
            assertEquals(Transfer.State.CANCELED, transfer.state());
            assertFalse(transfer.isDone(), "the caller's memory is not the caller's before released");
            assertEquals(Transfer.State.CANCELED, transfer.join());
            assertTrue(transfer.isReleased());
            assertEquals(Transfer.State.COMPLETED, transfer.submit().join());
            assertEquals(0, region.uses());
        }
    }

    @Test
    void virtualThreadsReadAndWaitLikeOthers() throws Exception {
        AtomicInteger ok = new AtomicInteger();
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            Node b = nodes.start("b");
            TestNodes.write(a, ID, BLOCK, 1);
            Region region = nodes.region(b, 64 * BLOCK);
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < 64; i++) {
                long offset = i * BLOCK;
                threads.add(Thread.ofVirtual().start(() -> {
                    Transfer transfer = TestNodes.prepare(b, Piece.of(ID, 0, BLOCK, Destination.at(region, offset)))
                            .submit();
                    ok.addAndGet(transfer.join() == Transfer.State.COMPLETED ? 1 : 0);
                }));
            }
            for (Thread thread : threads) {
                thread.join();
            }
            assertEquals(64, ok.get());
            assertTrue(TestNodes.isAll(TestNodes.segment(region), 0, 64 * BLOCK, 1));
        }
    }

    @Test
    void anExecutorThatThrowsLosesNoCallback() throws Exception {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a", builder -> builder.callbackExecutor(task -> {
                throw new IllegalStateException("broken");
            }));
            for (int i = 0; i < 2; i++) {
                CountDownLatch done = new CountDownLatch(1);
                a.store()
                        .prepare(List.of(), TransferOptions.DEFAULT.withCallback(transfer -> done.countDown()))
                        .submit();
                assertTrue(done.await(20, TimeUnit.SECONDS));
            }
        }
    }

    @Test
    void whatWasWrittenIsAnnouncedHoweverMuchIsWrittenMeanwhile() {
        AtomicReference<Runnable> meanwhile = new AtomicReference<>(() -> {});
        AtomicLong clock = new AtomicLong();
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a", builder -> builder.threading(ThreadingMode.INVOKER).nanoClock(() -> {
                meanwhile.getAndSet(() -> {}).run();
                return clock.addAndGet(1_000);
            }));
            AtomicInteger written = new AtomicInteger();
            meanwhile.set(new Runnable() {
                @Override
                public void run() {
                    try (BlockWriter writer = a.store().allocate(BlockId.of("k" + written.getAndIncrement()), 1)) {
                        writer.commit();
                    }
                    meanwhile.set(this);
                }
            });
            assertTrue(a.store().awaitAnnounced(Duration.ofMillis(10)));
            meanwhile.set(() -> {});
            assertTrue(written.get() > 0);
        }
    }

    @Test
    void aPieceIsOfTheBlockThatItsReferenceNames() {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            BlockRef ref = TestNodes.write(a, ID, 1, 1);
            assertEquals(Kind.INVALID_ARGUMENT, assertThrows(MooncakeException.class,
                    () -> new Piece(BlockId.of("other"), ref, 0, 1, Destination.replica(), 0)).kind());
        }
    }

    @Test
    void eventsAreInOrderAlsoOnAnExecutorOfManyThreads() throws Exception {
        List<Long> numbers = new CopyOnWriteArrayList<>();
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger overlaps = new AtomicInteger();
        try (ExecutorService pool = Executors.newFixedThreadPool(4); TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a", builder -> builder.callbackExecutor(pool));
            a.store().events(event -> {
                overlaps.addAndGet(inside.getAndIncrement());
                numbers.add(event.number());
                Thread.yield();
                inside.decrementAndGet();
            });
            for (int i = 0; i < 200; i++) {
                TestNodes.write(a, BlockId.of("k" + i % 8), BLOCK, i);
            }
            long last = 200 + a.counters().get(Counter.EVICTIONS_REPLACED);
            assertTrue(TestWaits.until(() -> numbers.size() == last));
        }
        assertEquals(0, overlaps.get(), "one event at a time");
        assertEquals(numbers.stream().sorted().toList(), numbers);
    }

    @Test
    void waitingRunsTheCallbacksOfAnInvokedNode() {
        AtomicInteger ran = new AtomicInteger();
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a", builder -> builder.threading(ThreadingMode.INVOKER));
            TestNodes.write(a, ID, BLOCK, 1);
            Region region = nodes.region(a, BLOCK);
            Transfer transfer = a.store()
                    .prepare(List.of(Piece.of(ID, 0, BLOCK, Destination.at(region, 0))),
                            TransferOptions.DEFAULT.withCallback(done -> ran.incrementAndGet()));
            transfer.submit().join();
            transfer.submit().join();
            TestNodes.announced(a);
            assertEquals(2, ran.get());
        }
    }

    /** The registry hears of it a moment later, and the slot is withdrawn a moment later, too. */
    @Test
    void whatWasEvictedIsNotHereAnyMoreAtOnce() {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a", builder -> builder.threading(ThreadingMode.INVOKER));
            Node b = nodes.start("b");
            TestNodes.write(a, ID, BLOCK, 1);
            TestNodes.announced(a);
            assertEquals(1, a.store().evict(List.of(ID)));
            assertEquals(1, a.store().locations(ID).size(), "the registry has not heard yet");
            try (PrefixMatch match = a.store().match(List.of(ID), TestNodes.LONG)) {
                assertEquals(PrefixMatch.Status.ABSENT, match.status(0));
            }
            TestNodes.write(b, ID, BLOCK, 1);
            TestNodes.announced(b);
            try (PrefixMatch match = a.store().match(List.of(ID), TestNodes.LONG)) {
                assertEquals(Tier.SLOW, match.tier(0), "with another node");
            }
        }
    }

    @Test
    void aCanceledReplicaIsReleasedLaterThanDone() {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            Node b = nodes.start("b", builder -> builder.threading(ThreadingMode.INVOKER));
            TestNodes.write(a, ID, BLOCK, 1);
            Transfer pull = TestNodes.prepare(b, Piece.replica(ID)).submit();
            assertTrue(pull.cancel());
            assertTrue(pull.isDone(), "the pool's memory is not the caller's");
            assertFalse(pull.isReleased());
            assertEquals(new BlockPool.Usage(0, 1, 15), b.usage());
            assertTrue(pull.awaitReleased(TestNodes.LONG));
            assertEquals(new BlockPool.Usage(0, 0, 16), b.usage());
            assertEquals(Transfer.State.COMPLETED, pull.submit().join());
        }
    }

    @Test
    void anInterruptedReadIsCanceledAndWritesNothingAfterIt() {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            Node b = nodes.start("b");
            TestNodes.write(a, ID, BLOCK, 1);
            Region region = nodes.region(b, BLOCK);
            Thread.currentThread().interrupt();
            Outcome outcome = b.store().read(ID, 0, BLOCK, region, 0);
            assertTrue(Thread.interrupted(), "the flag stays set");
            assertTrue(outcome == Outcome.CANCELED || outcome == Outcome.OK, outcome::toString);
            assertEquals(0, region.uses());
            assertEquals(Outcome.OK, b.store().read(ID, 0, BLOCK, region, 0));
        }
    }

    @Test
    void memoryFreedBeforeItsRegionEndsOnlyThatRead() {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            Node b = nodes.start("b");
            TestNodes.write(a, ID, BLOCK, 1);
            Region good = nodes.region(b, BLOCK);
            assertEquals(Outcome.OK, b.store().read(ID, 0, BLOCK, good, 0));
            Region freed;
            try (Arena arena = Arena.ofShared()) {
                freed = b.register(Memory.of(arena.allocate(BLOCK, 64)), Access.LOCAL_ONLY);
            }
            Transfer transfer = TestNodes.prepare(b, Piece.of(ID, 0, BLOCK, Destination.at(freed, 0)),
                    Piece.of(ID, 0, 8, Destination.at(freed, 0)),
                    Piece.of(ID, 0, BLOCK, Destination.at(good, 0)))
                    .submit();
            transfer.join();
            assertEquals(List.of(Outcome.REFUSED, Outcome.REFUSED, Outcome.OK),
                    List.of(transfer.outcome(0), transfer.outcome(1), transfer.outcome(2)));
            assertTrue(Objects.requireNonNull(transfer.cause(0)).getMessage().contains(freed.toString()));
            assertEquals(0, b.counters().get(Counter.LANES_LOST));
            assertEquals(0, freed.uses());
        }
    }

    @Test
    void memoryOfAnotherNodeIsRefusedByName() {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            Node b = nodes.start("b");
            Region ofB = nodes.region(b, BLOCK);
            MooncakeException e = assertThrows(MooncakeException.class, () -> a.store().read(ID, 0, 8, ofB, 0));
            assertEquals(Kind.INVALID_ARGUMENT, e.kind());
            assertTrue(e.getMessage().contains(a.id().toString()) && e.getMessage().contains(ofB.toString()),
                    e.getMessage());
        }
    }

    @Test
    @SuppressWarnings("NullAway") // what a caller without null checks would pass
    void aHoldThatCannotBeTakenPinsNothing() {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            BlockRef ref = TestNodes.write(a, ID, BLOCK, 1);
            assertThrows(NullPointerException.class, () -> a.store().hold(Arrays.asList(ref, null), TestNodes.LONG));
            a.store().evict(List.of(ID));
            assertTrue(TestWaits.until(() -> a.usage().used() == 0));
        }
    }

    @Test
    void agentThreadsCarryTheNodesName() {
        try (TestNodes nodes = new TestNodes()) {
            List<Thread> made = new CopyOnWriteArrayList<>();
            nodes.start("a", builder -> builder.threading(ThreadingMode.DEDICATED).threads(task -> {
                Thread thread = Thread.ofPlatform().daemon().unstarted(task);
                made.add(thread);
                return thread;
            }));
            List<String> expected = List.of("mooncake-a-callbacks", "mooncake-a-conductor", "mooncake-a-local",
                    "mooncake-a-shm", "mooncake-a-tcp");
            assertTrue(TestWaits.until(() -> made.stream().map(Thread::getName).sorted().toList().equals(expected)),
                    made::toString);
        }
    }
}
