package io.mooncake.bench.jmh;

import io.mooncake.core.Destination;
import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.Piece;
import io.mooncake.core.ThreadingMode;
import io.mooncake.core.TransferOptions;
import io.mooncake.core.base.Memory;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * What submitting a prepared pull from another node costs its caller: from the call until it stands in the engine's queue. What comes
 * of it is awaited outside the measured time.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@OperationsPerInvocation(SubmitBenchmark.BATCH)
@SuppressWarnings("NullAway.Init") // by JMH
public class SubmitBenchmark {
    /** Pulls submitted one after the other; less than an engine's queue holds. */
    public static final int BATCH = 1024;

    private static final long BYTES = 64;

    private final Transfer[] transfers = new Transfer[BATCH];
    private Blocks blocks;
    private Node reader;
    private Region region;

    /** JMH makes one. */
    public SubmitBenchmark() {}

    /** Writes a block on one node and prepares another one's pulls. */
    @Setup
    public void start() {
        blocks = new Blocks(1, BYTES);
        BlockRef ref = blocks.refs.getFirst();
        reader = Node.start(NodeConfig.builder("reader")
                .registry(new LocalRegistry().withAddress(ref.node().name(), "tcp",
                        blocks.node.endpoint().orElseThrow().toString()))
                .threading(ThreadingMode.INVOKER) // so that nobody takes from the queue, or the core, while it is filled
                .blockSize(1 << 20)
                .poolSize(2 << 20)
                .build());
        region = reader.register(Memory.of(Arena.ofAuto().allocate(BYTES, 64)), Access.LOCAL_ONLY);
        for (int i = 0; i < BATCH; i++) {
            transfers[i] = reader.store()
                    .prepare(List.of(Piece.of(ref, 0, BYTES, Destination.at(region, 0))), TransferOptions.DEFAULT);
        }
    }

    /** Awaits what was submitted. */
    @TearDown(Level.Invocation)
    public void await() {
        for (Transfer transfer : transfers) {
            if (transfer.join() != Transfer.State.COMPLETED) {
                throw new IllegalStateException("a pull ended " + transfer, transfer.cause(0));
            }
        }
    }

    /** Ends the nodes. */
    @TearDown
    public void stop() {
        region.close();
        reader.close();
        blocks.close();
    }

    /**
     * Submits.
     *
     * @return the pulls
     */
    @Benchmark
    public Transfer[] submit() {
        for (Transfer transfer : transfers) {
            transfer.submit();
        }
        return transfers;
    }
}
