package io.mooncake.rdma;

import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;

/** Slow calls that need not wait for each other: registering pins every page, one after the other, on the calling thread. */
final class InParallel {
    private InParallel() {}

    /**
     * Runs a task for each number, on as many threads as there are processors at most; on this one where there is one number.
     *
     * @param count of the numbers, which begin with 0
     * @param task safe for several threads
     * @throws RuntimeException what the first of those that failed threw; all have ended then
     */
    static void run(int count, IntConsumer task) {
        int threads = Math.min(count, Runtime.getRuntime().availableProcessors());
        if (threads <= 1) {
            IntStream.range(0, count).forEach(task);
            return;
        }
        List<Future<?>> all;
        try (ExecutorService pool = Executors.newFixedThreadPool(threads,
                Thread.ofPlatform().daemon().name("mooncake-rdma-register").factory())) {
            all = IntStream.range(0, count).<Future<?>>mapToObj(i -> pool.submit(() -> task.accept(i))).toList();
        }
        for (Future<?> one : all) {
            if (one.state() == Future.State.FAILED) {
                throw one.exceptionNow() instanceof RuntimeException e
                        ? e
                        : new IllegalStateException(one.exceptionNow());
            }
        }
    }
}
