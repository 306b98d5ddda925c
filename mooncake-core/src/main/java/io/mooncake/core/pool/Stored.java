package io.mooncake.core.pool;

import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.Version;

/**
 * A block in a slot of a pool that outlives the process. Immutable.
 *
 * @param slot which
 * @param id the block
 * @param version which writing of it
 * @param length its valid bytes
 */
public record Stored(int slot, BlockId id, Version version, long length) {}
