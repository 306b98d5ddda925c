package io.mooncake.bench.jmh;

import io.mooncake.core.BlockStore;
import io.mooncake.core.Destination;
import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.Piece;
import io.mooncake.core.Reach;
import io.mooncake.core.TransferOptions;
import io.mooncake.core.base.Memory;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
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

/** Another node's block of this host: copied out of its memory, seen there, and the bare copy of as many bytes from there. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@SuppressWarnings("NullAway.Init") // by JMH
public class SharedMemoryBenchmark {
    private static final BlockId ID = BlockId.of("block");
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    /** Bytes. */
    @Param({"67108864"})
    private long size;

    private Node owner;
    private Node reader;
    private BlockStore store;
    private MemorySegment memory;
    private Region region;
    private Transfer transfer;
    private BlockView pinned;
    private MemorySegment source;
    private BlockView view;

    /** JMH makes one. */
    public SharedMemoryBenchmark() {}

    /** Writes a block at one node and has its memory mapped by the other. */
    @Setup
    public void start() {
        LocalRegistry registry = new LocalRegistry();
        owner = node("owner", registry);
        reader = node("reader", registry);
        store = reader.store();
        try (BlockWriter writer = owner.store().allocate(ID, size)) {
            writer.segment().fill((byte) 7);
            writer.commit();
        }
        if (!owner.store().awaitAnnounced(PATIENCE)) {
            throw new IllegalStateException("the block was not announced within " + PATIENCE);
        }
        pinned = store.newView();
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (!store.acquire(ID, pinned, Reach.HOST)) {
            if (System.nanoTime() - deadline >= 0) {
                throw new IllegalStateException(store.explain(ID));
            }
            Thread.onSpinWait();
        }
        source = pinned.segment();
        view = store.newView();
        memory = Arena.ofAuto().allocate(size, 64);
        region = reader.register(Memory.of(memory), Access.LOCAL_ONLY);
        transfer = store.prepare(List.of(Piece.of(ID, 0, size, Destination.at(region, 0))), TransferOptions.DEFAULT);
    }

    private Node node(String name, LocalRegistry registry) {
        return Node.start(NodeConfig.builder(name)
                .registry(registry)
                .sharedMemory("/dev/shm")
                .blockSize(size)
                .poolSize(2 * size)
                .spareSlots(1)
                .build());
    }

    /** Ends the nodes. */
    @TearDown
    public void stop() {
        pinned.close();
        region.close();
        reader.close();
        owner.close();
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
            throw new IllegalStateException("a read by shared memory ended " + state);
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

    /**
     * The block where it is, taken and released.
     *
     * @return its address
     */
    @Benchmark
    public long view() {
        if (!store.acquire(ID, view, Reach.HOST)) {
            throw new IllegalStateException("block " + ID + " is gone");
        }
        long address = view.address();
        view.close();
        return address;
    }
}
