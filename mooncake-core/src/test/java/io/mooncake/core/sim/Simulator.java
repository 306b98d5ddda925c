package io.mooncake.core.sim;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/** Runs worlds: each in one thread, several at a time. */
public final class Simulator {
    /** Transfers of one seed at least. */
    public static final int TRANSFERS = 400;

    private static final long BANK_BYTES = 64L << 20;

    /**
     * What became of one seed.
     *
     * @param seed which
     * @param tally what it met
     * @param failure the violation, or what was thrown; null when all went well
     */
    public record Result(long seed, Tally tally, @Nullable Throwable failure) {
        /** The invariant that does not hold; 0 when all do, or something else was thrown. */
        public int invariant() {
            return failure instanceof Violation violation ? violation.invariant() : 0;
        }
    }

    /**
     * What became of many seeds.
     *
     * @param seeds how many were run
     * @param tally what they met together
     * @param failures those that did not go well
     */
    public record Summary(long seeds, Tally tally, List<Result> failures) {}

    private final int transfers;

    /** Worlds of the usual size. */
    public Simulator() {
        this(TRANSFERS);
    }

    /** Worlds of so many transfers at least. */
    public Simulator(int transfers) {
        this.transfers = transfers;
    }

    /** Runs one seed, telling what happens line by line where a trace is given. */
    public Result run(long seed, @Nullable Consumer<String> trace) {
        try (Arena arena = Arena.ofShared()) {
            return run(seed, arena.allocate(BANK_BYTES, 4096), trace);
        }
    }

    private Result run(long seed, MemorySegment bank, @Nullable Consumer<String> trace) {
        World world = new World(seed, transfers, bank, trace);
        try {
            world.run();
            return new Result(seed, world.tally, null);
        } catch (RuntimeException | AssertionError e) {
            return new Result(seed, world.tally, e);
        }
    }

    /**
     * Runs seeds until one fails, or all of them have gone well.
     *
     * @param from the first
     * @param seeds how many
     * @param threads how many at a time
     * @param progress told how many are over
     */
    public Summary runAll(long from, long seeds, int threads, LongConsumer progress) {
        Tally tally = new Tally();
        List<Result> failures = new ArrayList<>();
        AtomicLong next = new AtomicLong();
        AtomicLong over = new AtomicLong();
        try (ExecutorService executor = Executors.newFixedThreadPool(threads)) {
            List<Future<?>> workers = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                workers.add(executor.submit(() -> {
                    try (Arena arena = Arena.ofShared()) {
                        MemorySegment bank = arena.allocate(BANK_BYTES, 4096);
                        for (long n; (n = next.getAndIncrement()) < seeds;) {
                            Result result = run(from + n, bank, null);
                            synchronized (tally) {
                                tally.add(result.tally);
                                if (result.failure != null) {
                                    failures.add(result);
                                    next.set(seeds);
                                }
                            }
                            progress.accept(over.incrementAndGet());
                        }
                    }
                }));
            }
            for (Future<?> worker : workers) {
                worker.get();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        } catch (ExecutionException e) {
            throw new IllegalStateException("a simulation's thread failed", e);
        }
        return new Summary(over.get(), tally, failures);
    }
}
