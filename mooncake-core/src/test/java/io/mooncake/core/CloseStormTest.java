package io.mooncake.core;

import static io.mooncake.core.TestNodes.BLOCK;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Category;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.RepeatedTest;

/** Nodes are closed while threads write, read, pull, cancel and evict: everything that began ends, once, and nothing is left. */
class CloseStormTest {
    private static final int THREADS = 4;
    private static final int IDS = 24;

    private record Submitted(Transfer transfer, AtomicInteger callbacks) {}

    private final Queue<Submitted> submitted = new ConcurrentLinkedQueue<>();
    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();

    @RepeatedTest(5)
    void everythingEndsOnceWheneverTheNodesAreClosed() throws Exception {
        long seed = ThreadLocalRandom.current().nextLong();
        SplittableRandom random = new SplittableRandom(seed);
        try (TestNodes nodes = new TestNodes()) {
            ThreadingMode mode = random.nextBoolean() ? ThreadingMode.SHARED : ThreadingMode.DEDICATED;
            Node a = nodes.start("a", builder -> builder.threading(mode));
            Node b = nodes.start("b", builder -> builder.threading(mode));
            CyclicBarrier barrier = new CyclicBarrier(THREADS + 1);
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                Node node = i % 2 == 0 ? a : b;
                Region region = nodes.region(node, BLOCK);
                SplittableRandom own = random.split();
                threads.add(Thread.ofPlatform().start(() -> storm(node, region, own, barrier)));
            }
            barrier.await();
            int before = random.nextInt(2_000);
            while (submitted.size() < before && failure.get() == null) {
                Thread.onSpinWait();
            }
            Thread other = Thread.ofPlatform().start(a::close);
            a.close();
            other.join();
            b.close();
            for (Thread thread : threads) {
                thread.join();
            }
            assertNull(failure.get(), () -> "seed " + seed + ": " + failure.get());
            for (Submitted one : submitted) {
                assertTrue(one.transfer.state().isTerminal() && one.transfer.isReleased(),
                        () -> "seed " + seed + ": " + one.transfer);
                assertEquals(1, one.callbacks.get(), () -> "seed " + seed + ": callbacks of " + one.transfer);
            }
            assertEquals(0, a.usage().used() + b.usage().used(), "seed " + seed);
        }
    }

    private void storm(Node node, Region region, SplittableRandom random, CyclicBarrier barrier) {
        try (BlockView view = node.store().newView()) {
            barrier.await();
            for (;;) {
                step(node, region, random, view);
            }
        } catch (MooncakeException e) {
            if (e.kind().category() != Category.CLOSED) {
                failure.compareAndSet(null, e);
            }
        } catch (Exception | AssertionError e) {
            failure.compareAndSet(null, e);
        }
    }

    private void step(Node node, Region region, SplittableRandom random, BlockView view) {
        BlockId id = BlockId.of("k" + random.nextInt(IDS));
        switch (random.nextInt(6)) {
            case 0 -> {
                if (node.store().acquire(id, view)) {
                    view.close();
                }
            }
            case 1 -> node.store().evict(List.of(id));
            case 2, 3 -> write(node, id);
            default -> {
                AtomicInteger callbacks = new AtomicInteger();
                List<Piece> pieces = random.nextBoolean()
                        ? List.of(Piece.replica(id), Piece.replica(BlockId.of("k" + random.nextInt(IDS))))
                        : List.of(Piece.of(id, 0, Piece.WHOLE, Destination.at(region, 0)));
                Transfer transfer = node.store()
                        .prepare(pieces, TransferOptions.DEFAULT.withCallback(done -> callbacks.incrementAndGet()));
                submit(transfer, callbacks);
                if (random.nextInt(3) == 0) {
                    transfer.cancel();
                } else {
                    transfer.join();
                }
            }
        }
    }

    private void submit(Transfer transfer, AtomicInteger callbacks) {
        try {
            transfer.submit();
        } finally {
            if (transfer.state() != Transfer.State.CREATED) {
                submitted.add(new Submitted(transfer, callbacks));
            }
        }
    }

    private static void write(Node node, BlockId id) {
        try (BlockWriter writer = node.store().allocate(id, BLOCK)) {
            writer.commit();
        } catch (MooncakeException e) {
            if (e.kind() != MooncakeException.Kind.IN_USE) {
                throw e;
            }
        }
    }
}
