package io.mooncake.bench.cli;

import io.mooncake.core.Destination;
import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.Piece;
import io.mooncake.core.TransferOptions;
import io.mooncake.core.base.Memory;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.Tier;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/**
 * One node's file tier and a plain file of the same length in the same directory, read and written in the same units, by as many threads.
 * One thread.
 *
 * <p>Reading, the plain file is the tier's own. Random reads are of single units all over the file; random writes of blocks into slots all over it.
 */
final class FileSpeed implements AutoCloseable {
    /** What is read and written at a time, as the tier does it. */
    static final long UNIT = 1 << 20;
    private static final int PAGE = 4096;
    private static final Duration LIMIT = Duration.ofMinutes(10);

    private final int blocks;
    private final long blockBytes;
    private final Random random;
    private final Node node;
    private final PlainFile own;
    private final PlainFile other;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment memory;
    private final Region region;
    /** Offsets in the tier's file of the blocks that are there now. */
    private final long[] offsets;
    private int written;

    /**
     * Where and how.
     *
     * @param directory of both files; empty
     * @param blocks how many
     * @param blockBytes of each, a multiple of {@link #UNIT}
     * @param depth requests that the device has at a time
     * @param direct whether past the page cache
     * @param seed of what is random
     */
    record Settings(Path directory, int blocks, long blockBytes, int depth, boolean direct, long seed) {}

    FileSpeed(Settings settings) throws IOException {
        blocks = settings.blocks();
        blockBytes = settings.blockBytes();
        random = new Random(settings.seed());
        offsets = new long[blocks];
        memory = arena.allocate(blocks * blockBytes, PAGE);
        for (int block = 0; block < blocks; block++) {
            Content.fill(memory.asSlice(block * blockBytes, blockBytes), block, 1);
        }
        node = Node.start(NodeConfig.builder("file-speed")
                .blockSize(blockBytes)
                .poolSize((blocks + 2) * blockBytes)
                .spareSlots(1)
                .evictionPolicy("lru")
                .sharedMemory(NodeConfig.SHARED_MEMORY_OFF)
                .transferTimeout(LIMIT)
                .fileTier(settings.directory(), (2L * blocks + 2) * blockBytes)
                .fileDirect(settings.direct())
                .fileDepth(settings.depth())
                .build());
        region = node.register(Memory.of(memory), Access.LOCAL_ONLY);
        own = new PlainFile(settings.directory().resolve("mooncake.slots"), settings.direct(), settings.depth());
        other = new PlainFile(settings.directory().resolve("plain"), settings.direct(), settings.depth());
        // Its room is taken before anything is measured, as the tier's is.
        other.write(units(order(false)));
    }

    /** What the node says of its file. */
    String describe() {
        return node.store().describe();
    }

    long bytes() {
        return blocks * blockBytes;
    }

    // ---- blocks in order

    private List<Integer> order(boolean shuffled) {
        List<Integer> order = new ArrayList<>();
        for (int block = 0; block < blocks; block++) {
            order.add(block);
        }
        if (shuffled) {
            Collections.shuffle(order, random);
        }
        return order;
    }

    private List<PlainFile.Unit> units(List<Integer> order) {
        List<PlainFile.Unit> units = new ArrayList<>();
        for (int block : order) {
            for (long at = 0; at < blockBytes; at += UNIT) {
                units.add(new PlainFile.Unit(block * blockBytes + at, memory.asSlice(block * blockBytes + at, UNIT)));
            }
        }
        return units;
    }

    private BlockId id(int block) {
        return BlockId.of("speed-" + written + "-" + block);
    }

    // ---- written

    /** Nanoseconds from blocks in memory to all of them durable. */
    long writeTier(boolean shuffled) {
        List<Integer> order = order(shuffled);
        if (written > 0) {
            // The slot that was freed last is taken first.
            node.store().evict(order.reversed().stream().map(this::id).toList());
            settle();
        }
        written++;
        List<Piece> down = new ArrayList<>();
        for (int block : order) {
            try (BlockWriter writer = node.store().allocate(id(block), blockBytes)) {
                writer.segment().copyFrom(memory.asSlice(block * blockBytes, blockBytes));
                writer.commit();
            }
            down.add(Piece.replica(id(block), Tier.SLOW));
        }
        settle();
        return run(node.store().prepare(down, TransferOptions.DEFAULT));
    }

    long writePlain(boolean shuffled) {
        List<PlainFile.Unit> units = units(order(shuffled));
        long start = System.nanoTime();
        other.write(units);
        return System.nanoTime() - start;
    }

    private void settle() {
        if (!node.store().awaitAnnounced(LIMIT)) {
            throw new IllegalStateException("the node did not announce within " + LIMIT);
        }
    }

    // ---- read

    /** Out of memory with the blocks, so that they are only in the file; and where they are there. */
    void sink() {
        for (int block = 0; block <= blocks; block++) {
            // Pushed out by others.
            try (BlockWriter writer = node.store().allocate(BlockId.of("push-" + block), blockBytes)) {
                writer.segment().fill((byte) block);
                writer.commit();
            }
        }
        settle();
        for (int block = 0; block < blocks; block++) {
            BlockRef ref = node.store().locations(id(block)).getFirst();
            offsets[block] = ref.offset();
        }
    }

    /** Nanoseconds until everything was read and verified; units in random order, or blocks as they stand in the file. */
    long readTier(boolean shuffled) {
        List<Piece> pieces = new ArrayList<>();
        if (shuffled) {
            for (long unit : shuffledUnits()) {
                int block = (int) (unit * UNIT / blockBytes);
                pieces.add(Piece.of(id(block), unit * UNIT % blockBytes, UNIT, Destination.at(region, unit * UNIT)));
            }
        } else {
            for (int block : inFile()) {
                pieces.add(Piece.of(id(block), 0, blockBytes, Destination.at(region, block * blockBytes)));
            }
        }
        return run(node.store().prepare(pieces, TransferOptions.DEFAULT));
    }

    long readPlain(boolean shuffled) {
        List<PlainFile.Unit> units = new ArrayList<>();
        if (shuffled) {
            for (long unit : shuffledUnits()) {
                int block = (int) (unit * UNIT / blockBytes);
                units.add(new PlainFile.Unit(offsets[block] + unit * UNIT % blockBytes,
                        memory.asSlice(unit * UNIT, UNIT)));
            }
        } else {
            for (int block : inFile()) {
                for (long at = 0; at < blockBytes; at += UNIT) {
                    units.add(new PlainFile.Unit(offsets[block] + at, memory.asSlice(block * blockBytes + at, UNIT)));
                }
            }
        }
        long start = System.nanoTime();
        own.read(units);
        return System.nanoTime() - start;
    }

    private List<Long> shuffledUnits() {
        List<Long> units = new ArrayList<>();
        for (long unit = 0; unit * UNIT < bytes(); unit++) {
            units.add(unit);
        }
        Collections.shuffle(units, random);
        return units;
    }

    private List<Integer> inFile() {
        List<Integer> order = order(false);
        order.sort((a, b) -> Long.compare(offsets[a], offsets[b]));
        return order;
    }

    private static long run(Transfer transfer) {
        long start = System.nanoTime();
        transfer.submit().join();
        long ns = System.nanoTime() - start;
        for (int i = 0; i < transfer.pieces(); i++) {
            if (transfer.outcome(i) != Outcome.OK) {
                throw new IllegalStateException("piece " + i + " ended as " + transfer.outcome(i), transfer.cause(i));
            }
        }
        return ns;
    }

    /** Whether the memory that was read into has what was written. */
    boolean isRight() {
        for (int block = 0; block < blocks; block++) {
            if (Content.firstWrongByte(memory.asSlice(block * blockBytes, blockBytes), block, 1) >= 0) {
                return false;
            }
        }
        return true;
    }

    @Override
    public void close() throws IOException {
        own.close();
        other.close();
        region.close();
        node.close();
        arena.close();
    }
}
