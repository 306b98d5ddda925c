package io.mooncake.bench.jmh;

import io.mooncake.core.Destination;
import io.mooncake.core.Piece;
import io.mooncake.core.TransferOptions;
import io.mooncake.core.base.Memory;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** A read of a block that is on this node, by a prepared transfer, and the bare copy of as many bytes. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@SuppressWarnings("NullAway.Init") // by JMH
public class ReadBenchmark {
    /** Bytes. */
    @Param({"64", "65536", "67108864"})
    private long size;

    private Blocks blocks;
    private MemorySegment memory;
    private MemorySegment source;
    private BlockView view;
    private Region region;
    private Transfer transfer;

    /** JMH makes one. */
    public ReadBenchmark() {}

    /** Writes a block and prepares its read. */
    @Setup
    public void start() {
        blocks = new Blocks(1, size);
        memory = Arena.ofAuto().allocate(size, 64);
        BlockRef ref = blocks.refs.get(0);
        view = blocks.node.store().newView();
        if (!blocks.node.store().acquire(ref, view)) {
            throw new IllegalStateException("block " + ref + " is gone");
        }
        source = view.segment();
        region = blocks.node.register(Memory.of(memory), Access.LOCAL_ONLY);
        transfer = blocks.node.store()
                .prepare(List.of(Piece.of(ref, 0, size, Destination.at(region, 0))), TransferOptions.DEFAULT);
    }

    /** Ends the node. */
    @TearDown
    public void stop() {
        view.close();
        region.close();
        blocks.close();
    }

    /**
     * A prepared read, submitted and awaited.
     *
     * @return COMPLETED
     */
    @Benchmark
    public Transfer.State read() {
        Transfer.State state = transfer.submit().join();
        if (state != Transfer.State.COMPLETED) {
            throw new IllegalStateException("a local read ended " + state);
        }
        return state;
    }

    /**
     * As many bytes from the same slot to the same memory, unproven.
     *
     * @return where to
     */
    @Benchmark
    public MemorySegment copy() {
        return memory.copyFrom(source);
    }
}
