package io.mooncake.core;

import io.mooncake.core.block.BlockRef;

/**
 * Something that happened to a block, numbered by the node's conductor: a gap in the numbers means that events were dropped because
 * listeners were slower than the node. Immutable.
 *
 * @param number 1 and up, in the order of what happened
 * @param kind what
 * @param ref which block, as it was announced
 * @param reason why, in words; of WRITTEN whether it was written here or copied
 */
public record BlockEvent(long number, Kind kind, BlockRef ref, String reason) {
    /** What happened. */
    public enum Kind {
        /** The block is readable here. One that is in two tiers is told of for each. */
        WRITTEN,
        /** The block left the place that the reference names, by policy, by request, or because a higher version replaced it. */
        EVICTED,
        /** The holder that the reference names could not be reached. */
        LOST,
        /** The reference was used and its guard had changed. */
        STALE,
        /** The bytes that the holder named by the reference gave are not those that were written; if that is this node, it drops them. */
        DAMAGED
    }
}
