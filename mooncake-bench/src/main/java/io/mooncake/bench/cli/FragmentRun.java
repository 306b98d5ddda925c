package io.mooncake.bench.cli;

import io.mooncake.core.BlockStore;
import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.NodeConfigBuilder;
import io.mooncake.core.Placement;
import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Memory;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.FreeRanges;
import io.mooncake.core.block.Tier;
import io.mooncake.core.pool.SizeClass;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A node whose blocks take as many bytes as they need, in host memory or on a device, fragmented by writing and evicting at random, and left alone
 * then while everything is read, there and, of host memory, by another node. One thread, and those that read.
 */
final class FragmentRun implements AutoCloseable {
    private static final int LEAST_SHARE = 64;

    private final long poolBytes;
    private final long longest;
    private final Placement placement;
    private final SplittableRandom random;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment scratch;
    private final Node node;
    private final Node reader;
    private final Map<Integer, Long> lengths = new HashMap<>();
    private int written;

    private final AtomicBoolean over = new AtomicBoolean();
    private final ConcurrentLinkedQueue<String> faults = new ConcurrentLinkedQueue<>();
    private final AtomicLong reads = new AtomicLong();
    private final AtomicLong stale = new AtomicLong();
    private final List<Thread> readers = new ArrayList<>();

    /**
     * An empty pool.
     *
     * @param poolBytes of it
     * @param longest bytes of the longest block; the shortest has a 64th of that
     * @param seed of what is random
     * @param vram where the pool is; null = in host memory
     */
    FragmentRun(long poolBytes, long longest, long seed, ReplayVram.@Nullable Kind vram) {
        this.poolBytes = poolBytes;
        this.longest = longest;
        placement = vram == null ? Placement.DRAM : Placement.VRAM;
        random = new SplittableRandom(seed);
        scratch = arena.allocate(longest, Long.BYTES);
        LocalRegistry registry = new LocalRegistry();
        NodeConfigBuilder builder = NodeConfig.builder("fragmented").registry(registry).blockSize(longest);
        if (vram == null) {
            builder.leastBlock(longest / LEAST_SHARE).poolSize(poolBytes).checksums(true);
        } else {
            int most = (int) (poolBytes / (longest / LEAST_SHARE));
            vram.setRanges(builder.poolSize(2 * longest), new SizeClass(longest, most), poolBytes);
        }
        node = Node.start(builder.build());
        reader = Node.start(
                NodeConfig.builder("reader").registry(registry).blockSize(longest).poolSize(2 * longest).build());
    }

    private static BlockId id(int block) {
        return BlockId.of("fragment " + block);
    }

    FreeRanges free() {
        return node.freeRanges(placement.tier());
    }

    long moved() {
        return node.counters().get(Counter.BLOCKS_COMPACTED);
    }

    long movedBytes() {
        return node.counters().get(Counter.BYTES_COMPACTED);
    }

    long evictedByPolicy() {
        return node.counters().get(Counter.EVICTIONS_POLICY);
    }

    int blocks() {
        return lengths.size();
    }

    long reads() {
        return reads.get();
    }

    /** Reads of another node that met a block that was somewhere else by then, and would not be found in time. */
    long stale() {
        return stale.get();
    }

    List<String> faults() {
        return List.copyOf(faults);
    }

    /** Writes while there is a range for it, and evicts where there is none, until much is free and little of it in one piece. */
    int fragment(int least) {
        int steps = 0;
        FreeRanges free = free();
        while (steps < least || free.longest() >= free.bytes() / 2 || free.bytes() < poolBytes / 4) {
            long length = Math.max(Content.MIN_BYTES,
                    Math.round(
                            Math.exp(random.nextDouble(Math.log((double) longest / LEAST_SHARE),
                                    Math.log((double) longest)))));
            boolean fits = free.longest() >= length;
            // Full at first, then a third of it free.
            if (fits && (steps < least / 2 || free.bytes() > poolBytes / 3 || random.nextInt(3) == 0)) {
                write(length);
            } else if (!lengths.isEmpty()) {
                evictAny();
            }
            steps++;
            free = free();
        }
        return steps;
    }

    private void write(long length) {
        int block = written++;
        MemorySegment bytes = scratch.asSlice(0, length);
        Content.fill(bytes, block, block);
        try (BlockWriter writer = node.store().allocate(id(block), length, placement)) {
            writer.write(0, Memory.of(bytes));
            writer.commit();
        }
        lengths.put(block, length);
    }

    private void evictAny() {
        int any = lengths.keySet().stream().skip(random.nextInt(lengths.size())).findFirst().orElseThrow();
        lengths.remove(any);
        node.store().evict(List.of(id(any)));
        // The room is there when the conductor has looked.
        node.store().awaitAnnounced(Duration.ofSeconds(30));
    }

    /**
     * From now on all blocks are read, again and again, by so many threads here, in place or copied from the device, and one at another node, where it
     * would not have them brought into host memory first; and compared to the byte.
     */
    void beginReading(int threads) {
        List<Integer> blocks = List.copyOf(lengths.keySet());
        node.store().awaitAnnounced(Duration.ofSeconds(30));
        for (int i = 0; i < threads; i++) {
            SplittableRandom own = random.split();
            readers.add(Thread.ofPlatform()
                    .start(() -> {
                        if (placement.tier() == Tier.VRAM) {
                            copy(node, blocks, own);
                        } else {
                            readHere(blocks, own);
                        }
                    }));
        }
        if (placement.tier() == Tier.DRAM) {
            SplittableRandom own = random.split();
            readers.add(Thread.ofPlatform().start(() -> copy(reader, blocks, own)));
        }
    }

    private void readHere(List<Integer> blocks, SplittableRandom own) {
        try {
            while (!over.get()) {
                int block = blocks.get(own.nextInt(blocks.size()));
                try (BlockView view = node.store().newView()) {
                    if (node.store().acquire(id(block), view)) {
                        check(block, view.segment());
                    } else {
                        faults.add("block " + block + " is not here");
                    }
                }
            }
        } catch (RuntimeException e) {
            faults.add("reading here: " + e);
        }
    }

    private void copy(Node by, List<Integer> blocks, SplittableRandom own) {
        BlockStore store = by.store();
        try (Arena arena = Arena.ofShared()) {
            MemorySegment memory = arena.allocate(longest, 64);
            try (Region region = by.register(Memory.of(memory), Access.LOCAL_ONLY)) {
                while (!over.get()) {
                    int block = blocks.get(own.nextInt(blocks.size()));
                    List<BlockRef> there = store.locations(id(block));
                    Outcome outcome = there.isEmpty() ? Outcome.ABSENT : store.read(there.getFirst(), region, 0);
                    if (outcome == Outcome.OK) {
                        check(block, memory.asSlice(0, there.getFirst().length()));
                    } else if (outcome == Outcome.STALE) {
                        stale.incrementAndGet();
                    } else {
                        faults.add("block " + block + " read by " + by.id() + ": " + outcome);
                    }
                }
            }
        } catch (RuntimeException e) {
            faults.add("reading by " + by.id() + ": " + e);
        }
    }

    private void check(int block, MemorySegment bytes) {
        long wrong = Content.firstWrongByte(bytes, block, block);
        if (wrong >= 0) {
            faults.add("block " + block + ": byte " + wrong + " of " + bytes.byteSize() + " is wrong");
        }
        reads.incrementAndGet();
    }

    /** Nothing is written or evicted; until so much of what is free is one range, or that long has passed. */
    FreeRanges awaitIdleCompaction(FreeRanges before, double share, Duration atMost) {
        long endNs = System.nanoTime() + atMost.toNanos();
        FreeRanges free = free();
        // A move that is under way takes room twice.
        while ((free.longest() < share * free.bytes() || free.bytes() < before.bytes()) && System.nanoTime() - endNs < 0
                && faults.isEmpty()) {
            LockSupport.parkNanos(1_000_000);
            free = free();
        }
        return free;
    }

    void endReading() throws InterruptedException {
        over.set(true);
        for (Thread thread : readers) {
            thread.join();
        }
        readers.clear();
    }

    @Override
    public void close() {
        over.set(true);
        reader.close();
        node.close();
        arena.close();
    }
}
