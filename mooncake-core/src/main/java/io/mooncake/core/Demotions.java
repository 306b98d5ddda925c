package io.mooncake.core;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Tier;
import io.mooncake.core.manager.Demoter;
import io.mooncake.core.transfer.Priority;
import io.mooncake.core.transfer.Transfer;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** Demotes by transfers as any caller's: behind the loads, by their own deadline. */
record Demotions(NodeStore store, @Nullable HotReplicas hot) implements Demoter {
    private static final TransferOptions BACKGROUND = TransferOptions.DEFAULT.withPriority(Priority.BACKGROUND);

    @Override
    public boolean isWorthIt(BlockRef ref) {
        return hot == null || !hot.isCold(ref);
    }

    @Override
    public @Nullable BooleanSupplier demote(BlockRef ref, Tier down) {
        try {
            Piece piece = Piece.of(ref, 0, Piece.WHOLE, Destination.replica(down));
            Transfer transfer = store.pull(List.of(piece), BACKGROUND).submit();
            return transfer::isDone;
        } catch (MooncakeException e) {
            // The node is closing.
            return null;
        }
    }
}
