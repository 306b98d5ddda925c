package io.mooncake.core.manager;

import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Tier;

/** Is told what became of this node's blocks. Called by the conductor, but for {@link #onDue}: quick, never blocking, never throwing. */
public interface BlockListener {
    /** Why a block went. */
    enum EvictReason {
        /** Room was needed. */
        POLICY,
        /** Somebody asked for it, or the node closes. */
        REQUESTED,
        /** A higher version took its place. */
        REPLACED
    }

    /**
     * A block is in the table. One that is in two tiers is reported for each.
     *
     * @param ref where
     * @param tier where that is, as seen from here
     */
    void onWritten(BlockRef ref, Tier tier);

    /**
     * A block that was reported written is not there any more; it may still be in another tier.
     *
     * @param ref where it was
     * @param tier where that is
     * @param reason why
     */
    void onEvicted(BlockRef ref, Tier tier, EvictReason reason);

    /** There is something for {@link BlockManager#doWork}. Any thread; does nothing where that is polled anyway. */
    default void onDue() {}
}
