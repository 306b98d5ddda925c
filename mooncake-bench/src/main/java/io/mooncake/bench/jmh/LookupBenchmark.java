package io.mooncake.bench.jmh;

import io.mooncake.core.BlockStore;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * Finding a block among 1,000,000, at random, where every step to the block misses the caches; pinning it too, at random and in runs, as
 * a request does with blocks that an earlier one wrote one after another. A pin is a CAS, behind which the processor cannot start
 * the next look-up. The blocks are small, so that the tables are what fills the memory.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(value = 1, jvmArgsAppend = {"-Xms3g", "-Xmx3g"})
@SuppressWarnings("NullAway.Init") // by JMH
public class LookupBenchmark {
    private static final int BLOCKS = 1_000_000;
    private static final int RUN = 32;
    private static final int ABSENT = 1 << 16;
    private static final long SEED = 42;

    private Blocks blocks;
    private BlockStore store;
    private BlockView view;
    private BlockId[] inRuns;
    private BlockId[] atRandom;
    private BlockId[] absent;
    private int next;

    /** JMH makes one. */
    public LookupBenchmark() {}

    /** Writes the blocks. */
    @Setup
    public void start() {
        blocks = new Blocks(BLOCKS, 64);
        store = blocks.node.store();
        view = store.newView();
        Random random = new Random(SEED);
        BlockId[] written = blocks.refs.stream().map(BlockRef::id).toArray(BlockId[]::new);
        List<Integer> runs = new ArrayList<>(IntStream.range(0, BLOCKS / RUN).boxed().toList());
        Collections.shuffle(runs, random);
        inRuns = new BlockId[BLOCKS];
        for (int i = 0; i < BLOCKS; i++) {
            inRuns[i] = written[runs.get(i / RUN) * RUN + i % RUN];
        }
        atRandom = written.clone();
        Collections.shuffle(Arrays.asList(atRandom), random);
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
     * Blocks that are there, found, pinned and released in the order in which they were written.
     *
     * @return the address of one
     */
    @Benchmark
    public long run() {
        return pin(inRuns);
    }

    /**
     * Blocks that are there, found, pinned and released in no order.
     *
     * @return the address of one
     */
    @Benchmark
    public long random() {
        return pin(atRandom);
    }

    private long pin(BlockId[] ids) {
        next = next + 1 == BLOCKS ? 0 : next + 1;
        if (!store.acquire(ids[next], view)) {
            throw new IllegalStateException("block " + ids[next] + " is gone");
        }
        long address = view.address();
        view.close();
        return address;
    }

    /**
     * Where a block is, looked up and not pinned, in no order.
     *
     * @return who holds it
     */
    @Benchmark
    public List<BlockRef> found() {
        next = next + 1 == BLOCKS ? 0 : next + 1;
        return store.locations(atRandom[next]);
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
