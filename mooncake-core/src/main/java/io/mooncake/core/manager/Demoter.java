package io.mooncake.core.manager;

import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Tier;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** Brings blocks of this node into a slower tier. The conductor's. */
@FunctionalInterface
public interface Demoter {
    /**
     * Whether a block that is about to leave its tier, and is in no slower one, is to be kept there.
     *
     * @param ref a block of this node
     * @return false when it may be dropped, because another node has it
     */
    default boolean isWorthIt(BlockRef ref) {
        return true;
    }

    /**
     * Begins.
     *
     * @param ref a block of this node
     * @param down a slower tier that the node has
     * @return says, to the conductor, whether it is over, however it went; null when it cannot begin now
     */
    @Nullable
    BooleanSupplier demote(BlockRef ref, Tier down);
}
