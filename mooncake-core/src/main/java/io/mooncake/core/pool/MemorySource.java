package io.mooncake.core.pool;

import io.mooncake.core.base.MooncakeException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** Where a pool's one reservation comes from. */
@FunctionalInterface
public interface MemorySource {
    /**
     * Reserves memory whose life is the arena's.
     *
     * @param bytes more than 0
     * @param alignment a power of two
     * @param arena a shared arena, closed when the pool closes
     * @return native memory, zero filled and backed, so that no later access fails for want of it
     * @throws MooncakeException OUT_OF_MEMORY with the numbers
     */
    MemorySegment reserve(long bytes, long alignment, Arena arena);

    /**
     * Anonymous memory of this process.
     *
     * @return the default source
     */
    static MemorySource anonymous() {
        return new AnonymousMemory();
    }
}
