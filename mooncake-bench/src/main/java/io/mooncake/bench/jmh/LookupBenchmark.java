package io.mooncake.bench.jmh;

import io.mooncake.core.BlockStore;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import java.util.Collections;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** Finding a block among 1,000,000, in random order. The blocks are small, so that the table is what fills the memory. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(value = 1, jvmArgsAppend = {"-Xms3g", "-Xmx3g"})
@SuppressWarnings("NullAway.Init") // by JMH
public class LookupBenchmark {
    private static final int BLOCKS = 1_000_000;
    private static final int ABSENT = 1 << 16;
    private static final long SEED = 42;

    private Blocks blocks;
    private BlockStore store;
    private BlockView view;
    private BlockId[] present;
    private BlockId[] absent;
    private int next;

    /** JMH makes one. */
    public LookupBenchmark() {}

    /** Writes the blocks. */
    @Setup
    public void start() {
        blocks = new Blocks(BLOCKS, 64);
        Collections.shuffle(blocks.refs, new Random(SEED));
        store = blocks.node.store();
        view = store.newView();
        present = blocks.refs.stream().map(BlockRef::id).toArray(BlockId[]::new);
        absent = new BlockId[ABSENT];
        for (int i = 0; i < ABSENT; i++) {
            absent[i] = BlockId.of("absent-" + i);
        }
    }

    /** Ends the node. */
    @TearDown
    public void stop() {
        blocks.close();
    }

    /**
     * A block that is there: found, pinned and released.
     *
     * @return its address
     */
    @Benchmark
    public long hit() {
        next = next + 1 == BLOCKS ? 0 : next + 1;
        if (!store.acquire(present[next], view)) {
            throw new IllegalStateException("block " + present[next] + " is gone");
        }
        long address = view.address();
        view.close();
        return address;
    }

    /**
     * A block that is not there.
     *
     * @return false
     */
    @Benchmark
    public boolean miss() {
        next = next + 1 & ABSENT - 1;
        return store.acquire(absent[next], view);
    }
}
