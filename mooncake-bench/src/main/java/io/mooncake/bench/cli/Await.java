package io.mooncake.bench.cli;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;

/** Looks again and again, where nothing tells: what other nodes know by now, above all. */
final class Await {
    private static final long STEP_NS = TimeUnit.MICROSECONDS.toNanos(50);

    private Await() {}

    /**
     * Until what is seen is enough.
     *
     * @param look what is seen
     * @param enough whether that is enough
     * @param most how long to look
     * @param instead what to say of what was seen last when it was not enough
     * @throws IllegalStateException saying that
     */
    static <T> T until(Supplier<T> look, Predicate<T> enough, Duration most, Function<T, String> instead) {
        long endNs = System.nanoTime() + most.toNanos();
        T seen = look.get();
        while (!enough.test(seen)) {
            if (System.nanoTime() - endNs >= 0) {
                throw new IllegalStateException(instead.apply(seen));
            }
            LockSupport.parkNanos(STEP_NS);
            seen = look.get();
        }
        return seen;
    }
}
