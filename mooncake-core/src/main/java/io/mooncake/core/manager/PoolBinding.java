package io.mooncake.core.manager;

import io.mooncake.core.pool.BlockPool;
import io.mooncake.core.transfer.ForeignPins;
import io.mooncake.core.transfer.Region;

/**
 * A pool and the region that its memory is registered as. Immutable.
 *
 * @param pool space for blocks; the manager closes it
 * @param region of the pool's memory; not the manager's to close
 * @param foreignPins who else pins its blocks
 */
public record PoolBinding(BlockPool pool, Region region, ForeignPins foreignPins) {
    /**
     * Of memory that no other process can map.
     *
     * @param pool space for blocks
     * @param region of the pool's memory
     */
    public PoolBinding(BlockPool pool, Region region) {
        this(pool, region, ForeignPins.NONE);
    }
}
