package io.mooncake.bench.cli;

import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;

/** Holds requests back until the trace's clock, run faster or slower, has come to them. One thread. */
final class Pace {
    private final double speed;
    private final LongSupplier nanoClock;
    private final LongConsumer park;
    private long startNs;

    /**
     * A pace.
     *
     * @param speed how many times faster than the trace; 0 holds nothing back
     * @param nanoClock tells the time
     * @param park waits for about so many nanoseconds
     */
    Pace(double speed, LongSupplier nanoClock, LongConsumer park) {
        this.speed = speed;
        this.nanoClock = nanoClock;
        this.park = park;
    }

    /** The trace's clock starts now. */
    void start() {
        startNs = nanoClock.getAsLong();
    }

    /**
     * Waits for a request's arrival.
     *
     * @param timestampMs in the trace's clock
     */
    void await(long timestampMs) {
        if (speed == 0) {
            return;
        }
        long dueNs = (long) (timestampMs / speed * TimeUnit.MILLISECONDS.toNanos(1));
        for (long left; (left = dueNs - (nanoClock.getAsLong() - startNs)) > 0;) {
            park.accept(left);
        }
    }
}
