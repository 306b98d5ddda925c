package io.mooncake.core.manager;

import io.mooncake.core.block.BlockRef;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** Makes blocks of this node's memory durable in its slow tier. The conductor's. */
@FunctionalInterface
public interface Demoter {
    /**
     * Begins.
     *
     * @param ref a block of this node
     * @return says, to the conductor, whether it is over, however it went; null when it cannot begin now
     */
    @Nullable
    BooleanSupplier demote(BlockRef ref);
}
