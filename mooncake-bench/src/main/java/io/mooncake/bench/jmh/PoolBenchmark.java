package io.mooncake.bench.jmh;

import io.mooncake.core.pool.DramPool;
import io.mooncake.core.pool.MemorySource;
import io.mooncake.core.pool.SizeClass;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** The space of a tier. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@SuppressWarnings("NullAway.Init") // by JMH
public class PoolBenchmark {
    private static final long BLOCK = 4096;

    private DramPool pool;

    /** JMH makes one. */
    public PoolBenchmark() {}

    /** Reserves the memory. */
    @Setup
    public void start() {
        pool = new DramPool("bench", List.of(new SizeClass(BLOCK, 1024)), MemorySource.anonymous());
    }

    /** Gives it back. */
    @TearDown
    public void stop() {
        pool.close();
    }

    /**
     * A slot taken and given back.
     *
     * @return the slot
     */
    @Benchmark
    public int reserveRelease() {
        int slot = pool.reserve(BLOCK);
        pool.release(slot);
        return slot;
    }
}
