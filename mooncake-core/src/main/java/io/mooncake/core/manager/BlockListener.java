package io.mooncake.core.manager;

import io.mooncake.core.block.BlockRef;
import org.jspecify.annotations.Nullable;

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
     * A block is in the table. One that is in several tiers is reported for each.
     *
     * @param ref where
     * @param forOthers whether this is what others are to ask for: false when it is in a tier, too, that they read better
     */
    void onWritten(BlockRef ref, boolean forOthers);

    /**
     * A block that was reported written is not there any more.
     *
     * @param ref where it was
     * @param left where the same version still is, in another tier, which others are to ask for from now on; null = nowhere, or they do already
     * @param reason why
     */
    void onEvicted(BlockRef ref, @Nullable BlockRef left, EvictReason reason);

    /**
     * What others are to ask for is in another place of its tier now: nothing else has changed.
     *
     * @param from where it was
     * @param to where it is
     */
    void onMoved(BlockRef from, BlockRef to);

    /** There is something for {@link BlockManager#doWork}. Any thread; does nothing where that is polled anyway. */
    default void onDue() {}
}
