package io.mooncake.core.manager.eviction;

import io.mooncake.core.block.NextUse;

/** What is known of the use of the blocks in slots, as it is now: users only store it, nobody is told of a change. */
public interface SlotUse {
    /**
     * When it was used last.
     *
     * @param slot which
     * @return a tick of the node's clock, which may wrap
     */
    long lastUse(int slot);

    /**
     * How many requests have used it since the one that brought it.
     *
     * @param slot which
     * @return 0 and up; uses that name no request count as one
     */
    int uses(int slot);

    /**
     * Its place in the chain of the last request that used it: the deeper, the less a hit of it is worth without the others.
     *
     * @param slot which
     * @return 0 and up; 0 too when nobody said
     */
    int depth(int slot);

    /**
     * When it will be used next.
     *
     * @param slot which
     * @return a time on the node's clock, {@link NextUse#NEVER} or {@link NextUse#UNKNOWN}
     */
    long nextUse(int slot);

    /**
     * Stands for the block's id when the slot has gone to another.
     *
     * @param slot which
     * @return a hash of the id
     */
    long key(int slot);
}
