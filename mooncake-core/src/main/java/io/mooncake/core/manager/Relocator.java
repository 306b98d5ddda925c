package io.mooncake.core.manager;

import io.mooncake.core.block.BlockRef;
import io.mooncake.core.transfer.Region;
import org.jspecify.annotations.Nullable;

/** Copies blocks of this node to other places of the same pool. The conductor's. */
@FunctionalInterface
public interface Relocator {
    /** A copy on its way. The conductor's. */
    interface Copy {
        /**
         * Whether nothing of it is outstanding any more.
         *
         * @return true from then on
         */
        boolean isOver();

        /**
         * How it went, once it is over.
         *
         * @return whether every byte has arrived, proven
         */
        boolean isWhole();
    }

    /**
     * Begins.
     *
     * @param from a block of this node
     * @param into the region of its pool
     * @param offset where its first byte goes; does not overlap the block
     * @return null when it cannot begin now
     */
    @Nullable
    Copy copy(BlockRef from, Region into, long offset);
}
