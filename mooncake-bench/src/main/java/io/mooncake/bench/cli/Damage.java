package io.mooncake.bench.cli;

import io.mooncake.core.Node;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.pool.MemorySource;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The memory of a node's pool, such that a bit in it can be damaged past the store, as by a fault of the machine. One thread. */
final class Damage implements MemorySource {
    private static final int BIT = 0x10;
    /** Of a number of four bytes, and of the second one of two: there the bit is the exponent's, so that no tolerance hides it. */
    private static final int TOP_BYTE = 3;

    private final MemorySource source = MemorySource.anonymous();
    /** The largest that was asked for; null = the pool lies elsewhere. */
    private @Nullable MemorySegment pool;

    @Override
    public MemorySegment reserve(long bytes, long alignment, Arena arena) {
        MemorySegment reserved = source.reserve(bytes, alignment, arena);
        if (pool == null || pool.byteSize() < bytes) {
            pool = reserved;
        }
        return reserved;
    }

    /** Turns one bit of a block in the middle of it over; how many blocks it found: 0 or 1. */
    int flip(Node node, BlockId id) {
        MemorySegment memory = pool;
        Optional<BlockRef> here = node.store()
                .locations(id)
                .stream()
                .filter(ref -> ref.node().equals(node.id()))
                .findFirst();
        if (memory == null || here.isEmpty()) {
            return 0;
        }
        long at = here.get().offset() + here.get().length() / 2 + TOP_BYTE;
        memory.set(ValueLayout.JAVA_BYTE, at, (byte) (memory.get(ValueLayout.JAVA_BYTE, at) ^ BIT));
        return 1;
    }
}
