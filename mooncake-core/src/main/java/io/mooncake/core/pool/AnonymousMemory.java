package io.mooncake.core.pool;

import io.mooncake.core.base.ByteSize;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** Memory of this process. The arena fills it with zeros, hence every page is backed before the first block is written. */
final class AnonymousMemory implements MemorySource {
    @Override
    public MemorySegment reserve(long bytes, long alignment, Arena arena) {
        try {
            return arena.allocate(bytes, alignment);
        } catch (OutOfMemoryError e) {
            throw new MooncakeException(Kind.OUT_OF_MEMORY,
                    "cannot reserve " + ByteSize.rounded((double) bytes) + " (" + bytes
                            + " bytes) of host memory: make the pool smaller",
                    e);
        }
    }

    @Override
    public String toString() {
        return "anonymous";
    }
}
