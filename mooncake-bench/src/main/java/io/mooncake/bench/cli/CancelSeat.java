package io.mooncake.bench.cli;

import io.mooncake.core.Destination;
import io.mooncake.core.Node;
import io.mooncake.core.Piece;
import io.mooncake.core.TransferOptions;
import io.mooncake.core.base.Memory;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Lock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One pull in flight, and the memory that earlier ones at this place gave up, filled by another owner and watched since. One thread.
 *
 * <pre>
 *   pull ─▶ cancel ─▶ reuse: allocated again ─▶ filled ─▶ watched ─ ... ─▶ checked, given back ─▶ the next pull's
 * </pre>
 *
 * <p>All memory but the pull's own is watched, so that what is allocated after a cancel is what the cancel gave back.
 */
abstract sealed class CancelSeat implements AutoCloseable {
    private static final TransferOptions OPTIONS = TransferOptions.DEFAULT.withTimeout(Duration.ofMinutes(1));

    /** What is filled or checked between two looks whether a cancel is to be measured. */
    private static final long PIECE_BYTES = 128 << 10;

    final Node node;
    private final Lock calm;
    private final List<BlockRef> sources;
    private final SplittableRandom random;
    private final ArrayDeque<Watched> watched = new ArrayDeque<>();
    private @Nullable Transfer transfer;
    private @Nullable BlockRef source;

    /**
     * A place.
     *
     * @param node pulls
     * @param calm held for each piece of memory that is filled or checked, so that nobody does while others hold it
     * @param sources what it pulls
     * @param random chooses
     */
    CancelSeat(Node node, Lock calm, List<BlockRef> sources, SplittableRandom random) {
        this.node = node;
        this.calm = calm;
        this.sources = sources;
        this.random = random;
    }

    /** Memory in the hands of another owner. */
    interface Reused {
        MemorySegment bytes();

        void giveBack();
    }

    /** Filled memory, and what filled it. */
    private record Watched(Reused memory, long filling, String after) {}

    /** What it pulls into. */
    abstract String into();

    /** The piece of the next pull, into memory that is not watched. */
    abstract Piece piece(BlockRef from);

    /** Gets memory that is not watched as another owner, as soon as it can be had. */
    abstract Reused reuse(long length);

    /** Makes the pull's memory free to be reused: canceled as soon as may be, or come to its end too. */
    abstract void free();

    /** Begins the next pull, of a random source. */
    void submit() {
        BlockRef from = sources.get(random.nextInt(sources.size()));
        source = from;
        transfer = node.store().prepare(List.of(piece(from)), OPTIONS).submit();
    }

    /** What is random here comes from there. */
    SplittableRandom random() {
        return random;
    }

    Transfer transfer() {
        return Objects.requireNonNull(transfer);
    }

    BlockRef source() {
        return Objects.requireNonNull(source);
    }

    /** Fills memory as its new owner and watches it from now on; the one that was watched longest is checked and given back. */
    void fill(Reused memory, long filling, String after, Consumer<String> violation) {
        for (long at = 0; at >= 0; at = next(memory.bytes(), at)) {
            calm.lock();
            try {
                Content.fill(piece(memory.bytes(), at), at, filling);
            } finally {
                calm.unlock();
            }
        }
        watched.add(new Watched(memory, filling, after));
        if (watched.size() > CancelSettings.WATCHED) {
            check(watched.remove(), violation);
        }
    }

    /** Checks all that is watched and gives it back. */
    void checkAll(Consumer<String> violation) {
        while (!watched.isEmpty()) {
            check(watched.remove(), violation);
        }
    }

    private void check(Watched memory, Consumer<String> violation) {
        long wrong = firstWrongByte(memory.memory.bytes(), memory.filling);
        if (wrong >= 0) {
            violation.accept("byte " + wrong + " of " + memory.memory.bytes().byteSize() + " of " + into()
                    + " memory is not what its owner wrote, who got it after " + memory.after);
        }
        memory.memory.giveBack();
    }

    private long firstWrongByte(MemorySegment bytes, long filling) {
        for (long at = 0; at >= 0; at = next(bytes, at)) {
            calm.lock();
            try {
                long wrong = Content.firstWrongByte(piece(bytes, at), at, filling);
                if (wrong >= 0) {
                    return at + wrong;
                }
            } finally {
                calm.unlock();
            }
        }
        return -1;
    }

    /** The part of some memory that begins there; the last one is longer than the others. */
    private static MemorySegment piece(MemorySegment bytes, long at) {
        long next = next(bytes, at);
        return bytes.asSlice(at, (next < 0 ? bytes.byteSize() : next) - at);
    }

    /** Where the part behind it begins; negative when there is none. */
    private static long next(MemorySegment bytes, long at) {
        return bytes.byteSize() - at >= 2 * PIECE_BYTES ? at + PIECE_BYTES : -1;
    }

    @Override
    public void close() {}

    /** Pulls into the node's own pool; the next owner is a writer. */
    static final class Pool extends CancelSeat {
        private static final AtomicLong ALLOCATED = new AtomicLong();

        Pool(Node node, Lock calm, List<BlockRef> sources, SplittableRandom random) {
            super(node, calm, sources, random);
        }

        @Override
        String into() {
            return "pool";
        }

        @Override
        Piece piece(BlockRef from) {
            return Piece.of(from, 0, Piece.WHOLE, Destination.replica());
        }

        @Override
        void free() {
            // The pool knows when a canceled one's is: allocate waits for it.
            if (transfer().state() == Transfer.State.COMPLETED) {
                node.store().evict(List.of(source().id()));
            }
        }

        @Override
        Reused reuse(long length) {
            BlockWriter writer = node.store().allocate(BlockId.of("owner-" + ALLOCATED.getAndIncrement()), length);
            return new Reused() {
                @Override
                public MemorySegment bytes() {
                    return writer.segment();
                }

                @Override
                public void giveBack() {
                    writer.abort();
                }
            };
        }
    }

    /** Pulls into memory of the caller's, which is the caller's again when the transfer is done. */
    static final class Own extends CancelSeat {
        private final Arena arena = Arena.ofShared();
        private final MemorySegment memory;
        private final Region region;
        private final long spot;
        private int next;

        Own(Node node, Lock calm, List<BlockRef> sources, SplittableRandom random, long largest) {
            super(node, calm, sources, random);
            spot = largest;
            memory = arena.allocate((CancelSettings.WATCHED + 1) * spot, 64);
            region = node.register(Memory.of(memory), Access.LOCAL_ONLY);
        }

        @Override
        String into() {
            return "the caller's";
        }

        @Override
        Piece piece(BlockRef from) {
            return Piece.of(from, 0, Piece.WHOLE, Destination.at(region, next * spot));
        }

        @Override
        void free() {
            transfer().join();
        }

        @Override
        Reused reuse(long length) {
            MemorySegment bytes = memory.asSlice(next * spot, length);
            next = (next + 1) % (CancelSettings.WATCHED + 1);
            return new Reused() {
                @Override
                public MemorySegment bytes() {
                    return bytes;
                }

                @Override
                public void giveBack() {
                    // The next pull goes there.
                }
            };
        }

        @Override
        public void close() {
            region.close();
            arena.close();
        }
    }
}
