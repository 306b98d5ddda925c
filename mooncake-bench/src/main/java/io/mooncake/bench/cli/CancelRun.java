package io.mooncake.bench.cli;

import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Counters;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.pool.BlockPool.Usage;
import io.mooncake.core.transfer.Transfer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Cancels pulls at random moments, hands their memory to another owner at once, and looks whether any byte of theirs lands there. A
 * thread a {@link CancelSeat}, beside the node's own.
 *
 * <p>A moment is aimed at: when a random part of the pull's bytes should be there, by the measured time that pulls take.
 */
final class CancelRun implements AutoCloseable {
    private static final long CALIBRATE_NS = TimeUnit.MILLISECONDS.toNanos(1500);
    private static final long SETTLE_NS = TimeUnit.SECONDS.toNanos(30);
    private static final Duration LONGEST = Duration.ofMinutes(1);
    /** Below 0 now and then: canceled at once. Beyond the end some come anyhow. */
    private static final double EARLIEST = -0.02;
    private static final double LEARN = 0.05;
    private static final long STEP_NS = TimeUnit.MICROSECONDS.toNanos(20);
    private static final long LONGEST_STEP_NS = TimeUnit.MILLISECONDS.toNanos(5);

    private final CancelSettings settings;
    private final CancelFigures figures;
    private final Served server;
    private final Node node;
    private final List<CancelSeat> seats = new ArrayList<>();
    private final AtomicInteger begun = new AtomicInteger();
    private final AtomicInteger fillings = new AtomicInteger();
    /**
     * For reading while cancels are measured, for writing while a piece is filled or checked: that takes cores, and what is measured are
     * not the fillers.
     */
    private final ReadWriteLock calm = new ReentrantReadWriteLock(true);
    private volatile boolean stopped;
    private volatile double nsPerByte;
    private volatile double lead;

    /**
     * Starts both nodes.
     *
     * @param settings what to do
     * @param figures told everything
     */
    CancelRun(CancelSettings settings, CancelFigures figures) {
        this.settings = settings;
        this.figures = figures;
        SplittableRandom random = new SplittableRandom(settings.seed());
        List<Long> lengths = new ArrayList<>(List.of(settings.smallest(), settings.largest()));
        while (lengths.size() < CancelSettings.SOURCES * settings.window()) {
            lengths.add(settings.size(random));
        }
        server = Served.start(lengths, settings.nodes());
        try {
            node = Node.start(settings.nodes()
                    .applyTo(NodeConfig.builder("client")
                            .registry(server.registry(settings.engine()))
                            .blockSize(settings.largest())
                            .poolSize(slots() * settings.largest())
                            .spareSlots(1))
                    .build());
            server.meet(node);
        } catch (RuntimeException | Error e) {
            server.close();
            throw e;
        }
        for (int i = 0; i < settings.window(); i++) {
            List<BlockRef> sources = new ArrayList<>();
            for (int j = i; j < lengths.size(); j += settings.window()) {
                sources.add(server.blocks().get(j));
            }
            seats.add(i % 2 == 0
                    ? new CancelSeat.Pool(node, calm.writeLock(), sources, random.split())
                    : new CancelSeat.Own(node, calm.writeLock(), sources, random.split(), settings.largest()));
        }
    }

    /** A slot for every pull into the pool and for every owner that is watched, and none besides. */
    private int slots() {
        return settings.poolSeats() * (CancelSettings.WATCHED + 1);
    }

    /**
     * Cancels until as many were canceled as asked for, or a byte landed where it must not.
     *
     * @param progress is told after each
     */
    void run(Progress progress) {
        FirstPull.await(node, server.blocks().getFirst());
        // All that no pull is going to need gets an owner.
        for (int i = 0; i < CancelSettings.WATCHED; i++) {
            seats.forEach(seat -> fill(seat, seat.reuse(settings.smallest()), "nothing"));
        }
        calibrate();
        everywhere(seat -> {
            while (goesOn() && begun.getAndIncrement() < settings.count()) {
                seat.submit();
                cancel(seat, awaitMoment(seat));
                figures.show(progress);
            }
        });
        settle();
    }

    private boolean goesOn() {
        return !stopped && figures.violations().isEmpty();
    }

    /** Does it for every seat at the same time, in a thread each; throws what the first of them threw. */
    private void everywhere(Consumer<CancelSeat> what) {
        try (ExecutorService threads = Executors
                .newThreadPerTaskExecutor(Thread.ofPlatform().name("seat-", 0).factory())) {
            List<Callable<Void>> tasks = new ArrayList<>();
            for (CancelSeat seat : seats) {
                tasks.add(() -> {
                    try {
                        what.accept(seat);
                        return null;
                    } catch (RuntimeException | Error e) {
                        stopped = true;
                        throw e;
                    }
                });
            }
            for (Future<Void> task : threads.invokeAll(tasks)) {
                task.get();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        } catch (ExecutionException e) {
            throw new IllegalStateException("a thread that canceled pulls failed", e.getCause());
        }
    }

    /** Pulls that nobody cancels: how fast they are, and the JVM compiles. */
    private void calibrate() {
        long from = System.nanoTime() + CALIBRATE_NS / 2;
        long end = from + CALIBRATE_NS / 2;
        everywhere(seat -> {
            for (long now = 0; now - end < 0 || now == 0;) {
                seat.submit();
                seat.transfer().join();
                now = System.nanoTime();
                if (now - from >= 0) {
                    figures.pulled(seat.source().length());
                }
                free(seat);
            }
        });
        figures.pullsTook(System.nanoTime() - from);
        nsPerByte = settings.window() / figures.bytesPerNs();
    }

    /**
     * Until about a random part of the bytes is there, or all are: a third of what is left to wait at a time, at the pull's own pace,
     * and as many bytes ahead as came in the meantime on average before.
     */
    private double awaitMoment(CancelSeat seat) {
        Transfer transfer = seat.transfer();
        double wanted = seat.random().nextDouble(EARLIEST, 1) * seat.source().length();
        double enough = wanted - lead;
        long start = System.nanoTime();
        long received = 0;
        while (wanted > 0 && (received == 0 || received < enough) && !transfer.isDone()) {
            double pace = received == 0 ? nsPerByte : (double) (System.nanoTime() - start) / received;
            LockSupport.parkNanos(Math.clamp((long) ((enough - received) * pace / 3), STEP_NS, LONGEST_STEP_NS));
            received = transfer.received();
        }
        return wanted;
    }

    /** Cancels a pull of which so many bytes were to be there, and measures when its memory is another owner's. */
    private void cancel(CancelSeat seat, double wanted) {
        Transfer transfer = seat.transfer();
        long size = seat.source().length();
        CancelSeat.Reused memory;
        long received;
        calm.readLock().lock();
        try {
            received = transfer.received();
            lead = Math.max(0, lead + LEARN * (received - wanted));
            long start = System.nanoTime();
            boolean inTime = transfer.cancel();
            free(seat);
            memory = seat.reuse(size);
            figures.canceled(size, received, inTime, System.nanoTime() - start);
        } finally {
            calm.readLock().unlock();
        }
        fill(seat, memory, "a pull that was canceled with %d of %d bytes there".formatted(received, size));
        Usage usage = node.usage();
        if (usage.capacity() != slots()) {
            figures.unbalanced("pool of " + slots() + " slots: " + usage);
        }
    }

    /** The pull has ended or was canceled: its memory may be reused. */
    private static void free(CancelSeat seat) {
        Transfer transfer = seat.transfer();
        if (transfer.state() != Transfer.State.COMPLETED && transfer.state() != Transfer.State.CANCELED) {
            @Nullable
            Throwable cause = transfer.cause(0);
            throw new IllegalStateException("a pull ended " + transfer + ", its piece " + transfer.outcome(0), cause);
        }
        seat.free();
    }

    private void fill(CancelSeat seat, CancelSeat.Reused memory, String after) {
        seat.fill(memory, fillings.getAndIncrement(), after, figures::violation);
    }

    /** Gives everything back, and looks whether everything is there. */
    private void settle() {
        for (CancelSeat seat : seats) {
            if (!seat.transfer().awaitReleased(LONGEST)) {
                figures.unbalanced(seat.transfer() + " is not released within " + LONGEST.toSeconds() + " s");
            }
            seat.checkAll(figures::violation);
        }
        long deadline = System.nanoTime() + SETTLE_NS;
        while (node.usage().free() != slots() && System.nanoTime() - deadline < 0) {
            LockSupport.parkNanos(100_000);
        }
        if (node.usage().free() != slots()) {
            figures.unbalanced("every pull and every owner is gone, but the pool of " + slots() + " slots has "
                    + node.usage());
        }
        Counters counters = node.counters();
        long ended = counters.get(Counter.TRANSFERS_COMPLETED) + counters.get(Counter.TRANSFERS_FAILED)
                + counters.get(Counter.TRANSFERS_CANCELED) + counters.get(Counter.TRANSFERS_TIMED_OUT);
        if (counters.get(Counter.TRANSFERS_SUBMITTED) != ended) {
            figures.unbalanced(counters.get(Counter.TRANSFERS_SUBMITTED) + " transfers submitted, " + ended + " ended");
        }
    }

    /** Ends both nodes; what is pinned still, on either side, is said. */
    @Override
    public void close() {
        try {
            seats.forEach(CancelSeat::close);
            node.close();
        } finally {
            int code = server.end();
            if (code != 0) {
                figures.unbalanced("the serving process ended with code " + code + "; see its error above");
            }
        }
    }
}
