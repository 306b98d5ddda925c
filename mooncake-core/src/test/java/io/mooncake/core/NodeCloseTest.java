package io.mooncake.core;

import static io.mooncake.core.TestNodes.BLOCK;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.transfer.Region;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Closing a node: by whom, how often, at which moment, and with whatever around it that fails. */
class NodeCloseTest {
    private static final BlockId ID = BlockId.of("k");
    /** What the callbacks' queue holds; and more. */
    private static final int QUEUED = 65_536;
    private static final int MORE_THAN_QUEUED = 70_000;

    /** Makes daemon threads and remembers them. */
    private static final class Threads implements ThreadFactory {
        final Queue<Thread> made = new ConcurrentLinkedQueue<>();
        int refuseFrom = Integer.MAX_VALUE;

        @Override
        public Thread newThread(Runnable task) {
            if (made.size() >= refuseFrom) {
                throw new IllegalStateException("no more threads");
            }
            Thread thread = Thread.ofPlatform().daemon().unstarted(task);
            made.add(thread);
            return thread;
        }

        /** Whether all of them end: one that was told before it began may take a moment. */
        boolean allEnd() throws InterruptedException {
            for (Thread thread : made) {
                if (thread.getState() != Thread.State.NEW && !thread.join(Duration.ofSeconds(20))) {
                    return false;
                }
            }
            return true;
        }
    }

    @Test
    void whoClosesSecondWaitsUntilTheAgentsHaveEnded() throws Exception {
        HookedRegistry registry = new HookedRegistry();
        CountDownLatch leaving = new CountDownLatch(1);
        CountDownLatch leave = new CountDownLatch(1);
        registry.onLeave = () -> {
            leaving.countDown();
            await(leave);
        };
        try (TestNodes nodes = new TestNodes()) {
            Node node = nodes.start("a", builder -> builder.registry(registry));
            Thread first = Thread.ofPlatform().start(node::close);
            await(leaving);
            Thread second = Thread.ofPlatform().start(node::close);
            while (second.getState() != Thread.State.BLOCKED) {
                assertNotEquals(Thread.State.TERMINATED, second.getState(),
                        "closed the store while the conductor was at work in it");
                Thread.onSpinWait();
            }
            leave.countDown();
            first.join();
            second.join();
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            assertTrue(latch.await(20, TimeUnit.SECONDS));
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void aRegistryThatThrowsKeepsNothingOpen() throws Exception {
        HookedRegistry registry = new HookedRegistry();
        Threads threads = new Threads();
        try (TestNodes nodes = new TestNodes()) {
            Node node = nodes.start("a", builder -> builder.registry(registry).threads(threads));
            registry.onAnnounce = () -> {
                throw new IllegalStateException("no network");
            };
            registry.onLeave = registry.onAnnounce;
            for (int i = 0; i < 40; i++) {
                TestNodes.write(node, ID, BLOCK, i);
                assertEquals(1, node.store().evict(List.of(ID)));
                TestNodes.announced(node);
            }
            TestNodes.write(node, ID, BLOCK, 1);
            node.close();
            assertEquals(0, node.usage().used());
            assertTrue(threads.allEnd());
        }
    }

    @Test
    void onlyTheOwnerClosesAnInvokedNode() throws Exception {
        try (TestNodes nodes = new TestNodes()) {
            Node node = nodes.start("a", builder -> builder.threading(ThreadingMode.INVOKER));
            AtomicReference<MooncakeException> refused = new AtomicReference<>();
            Thread.ofPlatform().start(() -> refused.set(assertThrows(MooncakeException.class, node::close))).join();
            assertEquals(Kind.ILLEGAL_STATE, refused.get().kind());
            // Nothing was done by that.
            TestNodes.write(node, ID, BLOCK, 1);
        }
        try (TestNodes nodes = new TestNodes()) {
            AtomicReference<Node> orphan = new AtomicReference<>();
            Thread.ofPlatform()
                    .start(() -> orphan.set(nodes.start("a", builder -> builder.threading(ThreadingMode.INVOKER))))
                    .join();
            orphan.get().close();
        }
    }

    @Test
    void listenersHearOfTheLastEvictionsInTheirOwnThread() throws Exception {
        LinkedBlockingQueue<Thread> evicted = new LinkedBlockingQueue<>();
        try (TestNodes nodes = new TestNodes()) {
            Node node = nodes.start("a");
            TestNodes.write(node, ID, BLOCK, 1);
            BlockStore.Subscription listening = node.store().events(event -> {
                if (event.kind() == BlockEvent.Kind.EVICTED) {
                    evicted.add(Thread.currentThread());
                }
            });
            node.close();
            assertNotEquals(Thread.currentThread(), evicted.poll(20, TimeUnit.SECONDS));
            listening.close();
        }
    }

    /** More than the callbacks' queue holds, while the one before is still at work. */
    @Test
    void listenersHearOfEveryEvictionOfTheClose() throws Exception {
        CountDownLatch goOn = new CountDownLatch(1);
        try (TestNodes nodes = new TestNodes()) {
            Node node = nodes.start("a",
                    builder -> builder.blockSize(64).poolSize(64L * MORE_THAN_QUEUED));
            for (int i = 0; i < MORE_THAN_QUEUED; i++) {
                try (BlockWriter writer = node.store().allocate(BlockId.of("k" + i), 64)) {
                    BlockRef _ = writer.commit();
                }
            }
            TestNodes.announced(node);
            // All but the spare ones.
            int blocks = node.usage().used();
            assertTrue(blocks > QUEUED, () -> node.usage().toString());
            CountDownLatch heard = new CountDownLatch(blocks);
            BlockStore.Subscription listening = node.store().events(event -> {
                await(goOn);
                if (event.kind() == BlockEvent.Kind.EVICTED) {
                    heard.countDown();
                }
            });
            node.close();
            goOn.countDown();
            await(heard);
            listening.close();
        }
    }

    @Test
    void everyCallbackIsCalledOnceHoweverManyWaitAtTheClose() throws Exception {
        CountDownLatch goOn = new CountDownLatch(1);
        CountDownLatch called = new CountDownLatch(MORE_THAN_QUEUED);
        AtomicIntegerArray calls = new AtomicIntegerArray(MORE_THAN_QUEUED);
        try (TestNodes nodes = new TestNodes()) {
            Node node = nodes.start("a");
            for (int i = 0; i < MORE_THAN_QUEUED; i++) {
                int number = i;
                // Nobody has the block, so each is done at once.
                node.store().prepare(List.of(Piece.replica(ID)), TransferOptions.DEFAULT.withCallback(transfer -> {
                    await(goOn);
                    if (calls.incrementAndGet(number) == 1) {
                        called.countDown();
                    }
                })).submit();
            }
            node.close();
            goOn.countDown();
            await(called);
            for (int i = 0; i < MORE_THAN_QUEUED; i++) {
                assertEquals(1, calls.get(i), "callback of transfer " + i);
            }
        }
    }

    @Test
    void aCallbackMayCloseTheNode() throws Exception {
        for (ThreadingMode mode : ThreadingMode.values()) {
            CountDownLatch closed = new CountDownLatch(1);
            try (TestNodes nodes = new TestNodes()) {
                Node node = nodes.start("a", builder -> builder.threading(mode));
                TestNodes.write(node, ID, BLOCK, 1);
                Region region = nodes.region(node, BLOCK);
                Piece piece = Piece.of(ID, 0, Piece.WHOLE, Destination.at(region, 0));
                node.store().prepare(List.of(piece), TransferOptions.DEFAULT.withCallback(transfer -> {
                    node.close();
                    closed.countDown();
                })).submit();
                while (mode == ThreadingMode.INVOKER && closed.getCount() > 0) {
                    node.doWork();
                }
                await(closed);
                assertEquals(0, node.usage().used());
            }
        }
    }

    @Test
    void aStartThatGetsTooFewThreadsLeavesNone() throws Exception {
        try (TestNodes nodes = new TestNodes()) {
            for (int few = 0; few < 4; few++) {
                Threads threads = new Threads();
                threads.refuseFrom = few;
                assertThrows(IllegalStateException.class,
                        () -> nodes.start("a", builder -> builder.threading(ThreadingMode.DEDICATED)
                                .threads(threads)));
                assertTrue(threads.allEnd(), few + " threads");
                assertFalse(nodes.registry.nodes().stream().anyMatch(peer -> peer.id().name().equals("a")));
            }
        }
    }

    @Test
    void anErrorDoesNotEndTheAgents() {
        HookedRegistry registry = new HookedRegistry();
        try (TestNodes nodes = new TestNodes()) {
            Node node = nodes.start("a", builder -> builder.registry(registry));
            AtomicInteger errors = new AtomicInteger();
            registry.onAnnounce = () -> {
                if (errors.incrementAndGet() == 1) {
                    throw new AssertionError("once");
                }
            };
            TestNodes.write(node, ID, BLOCK, 1);
            BlockId other = BlockId.of("other");
            TestNodes.write(node, other, BLOCK, 1);
            assertEquals(1, node.store().locations(other).size());
            node.close();
            assertEquals(0, node.usage().used());
        }
    }
}
