package io.mooncake.core.block;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;

/**
 * What room a pool has at one moment. What is neither free nor cached is pinned, held, being written or quarantined. Immutable.
 *
 * @param tier its class
 * @param device the device that it is on; -1 for the host
 * @param bytes all of it
 * @param freeBytes of slots that are nobody's
 * @param cachedBytes of slots whose blocks nobody uses: they make room when it is needed
 */
public record PoolSpace(Tier tier, int device, long bytes, long freeBytes, long cachedBytes) {
    /**
     * Checks the numbers.
     *
     * @throws MooncakeException INVALID_ARGUMENT when one is negative, or they are more than the whole
     */
    public PoolSpace {
        if (freeBytes < 0 || cachedBytes < 0 || freeBytes > bytes || cachedBytes > bytes - freeBytes) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT, "a pool of " + bytes + " bytes with " + freeBytes
                    + " free and " + cachedBytes + " cached: neither is negative, nor are both more than the pool");
        }
    }
}
