package io.mooncake.bench.jmh;

import io.mooncake.core.BlockStore;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockView;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Threads;
import org.openjdk.jmh.infra.ThreadParams;

/** Acquire and release of a block, from two threads at once. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Threads(2)
@SuppressWarnings("NullAway.Init") // by JMH
public class PinBenchmark {
    private static final int BLOCKS = 1024;

    private Blocks blocks;
    private BlockStore store;

    /** JMH makes one. */
    public PinBenchmark() {}

    /** Writes the blocks. */
    @Setup
    public void start() {
        blocks = new Blocks(BLOCKS, 4096);
        store = blocks.node.store();
    }

    /** Ends the node. */
    @TearDown
    public void stop() {
        blocks.close();
    }

    /** What a thread works with. */
    @State(Scope.Thread)
    public static class Reader {
        private BlockView view;
        private BlockId own;
        private BlockId shared;

        /** JMH makes one a thread. */
        public Reader() {}

        /**
         * Chooses the blocks.
         *
         * @param benchmark the node
         * @param thread which thread
         */
        @Setup
        public void choose(PinBenchmark benchmark, ThreadParams thread) {
            view = benchmark.store.newView();
            own = benchmark.blocks.refs.get(BLOCKS / 2 * thread.getThreadIndex() + 1).id();
            shared = benchmark.blocks.refs.get(0).id();
        }
    }

    /**
     * Each thread its own block.
     *
     * @param reader the thread's
     * @return the block's address
     */
    @Benchmark
    public long differentBlocks(Reader reader) {
        return pin(reader.own, reader.view);
    }

    /**
     * Both threads the same block.
     *
     * @param reader the thread's
     * @return the block's address
     */
    @Benchmark
    public long oneBlock(Reader reader) {
        return pin(reader.shared, reader.view);
    }

    private long pin(BlockId id, BlockView view) {
        if (!store.acquire(id, view)) {
            throw new IllegalStateException("block " + id + " is gone");
        }
        long address = view.address();
        view.close();
        return address;
    }
}
