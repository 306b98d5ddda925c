package io.mooncake.core.base;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/** One node's {@link Counter counters}. Any thread; adding allocates nothing. */
public final class Counters {
    private final LongAdder[] values = new LongAdder[Counter.values().length];

    /** All zero. */
    public Counters() {
        for (int i = 0; i < values.length; i++) {
            values[i] = new LongAdder();
        }
    }

    /**
     * Counts one.
     *
     * @param counter which
     */
    public void increment(Counter counter) {
        values[counter.ordinal()].increment();
    }

    /**
     * Counts several.
     *
     * @param counter which
     * @param amount not negative
     */
    public void add(Counter counter, long amount) {
        values[counter.ordinal()].add(amount);
    }

    /**
     * Reads one.
     *
     * @param counter which
     * @return its value so far
     */
    public long get(Counter counter) {
        return values[counter.ordinal()].sum();
    }

    /**
     * Reads all.
     *
     * @return a copy
     */
    public Map<Counter, Long> snapshot() {
        Map<Counter, Long> snapshot = new EnumMap<>(Counter.class);
        for (Counter counter : Counter.values()) {
            snapshot.put(counter, get(counter));
        }
        return snapshot;
    }

    @Override
    public String toString() {
        return snapshot().toString();
    }
}
