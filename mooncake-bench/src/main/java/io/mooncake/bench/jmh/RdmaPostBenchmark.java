package io.mooncake.bench.jmh;

import io.mooncake.rdma.PostedReads;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** What one RDMA READ costs in Java, posted in a batch and polled, over a simulated card that does everything at once. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@OperationsPerInvocation(RdmaPostBenchmark.BATCH)
@SuppressWarnings("NullAway.Init") // by JMH
public class RdmaPostBenchmark {
    /** READs that one doorbell posts. */
    public static final int BATCH = 16;

    private PostedReads reads;

    /** JMH makes one. */
    public RdmaPostBenchmark() {}

    /** Opens a lane. */
    @Setup
    public void open() {
        reads = new PostedReads(BATCH);
    }

    /** Gives it back. */
    @TearDown
    public void close() {
        reads.close();
    }

    /**
     * Posts a batch and polls until all of it has completed.
     *
     * @return how many completed in all
     */
    @Benchmark
    public long post() {
        return reads.round(BATCH);
    }
}
