package io.mooncake.core.manager;

import io.mooncake.core.pool.BlockPool;
import io.mooncake.core.transfer.Region;

/**
 * A pool and the region that its memory is registered as. Immutable.
 *
 * @param pool space for blocks; the manager closes it
 * @param region of the pool's memory; not the manager's to close
 * @param checksums whether blocks get checksums when they are sealed, which costs a pass over their bytes
 */
public record PoolBinding(BlockPool pool, Region region, boolean checksums) {}
