package io.mooncake.core.manager;

import io.mooncake.core.block.BlockRef;

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
     * A block is in the table.
     *
     * @param ref where
     */
    void onWritten(BlockRef ref);

    /**
     * A block that was reported written is not in the table any more.
     *
     * @param ref where it was
     * @param reason why
     */
    void onEvicted(BlockRef ref, EvictReason reason);

    /** There is something for {@link BlockManager#doWork}. Any thread; does nothing where that is polled anyway. */
    default void onDue() {}
}
