package io.mooncake.core.manager;

import io.mooncake.core.base.Counters;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.transfer.SharedBlock;
import org.jspecify.annotations.Nullable;

/**
 * Gives addresses of blocks to callers, each for as long as a pin lasts. Any thread; allocates nothing but the views, each of which takes one block
 * after the other.
 *
 * <p>No address is given without a pin of the generation that the table names, and the view that has it is the pin: so the bytes behind it are
 * those of the block until it is closed (invariant 1), and the slot is nobody else's (invariant 3). A view that holds one takes no other, else a pin
 * would be lost and its pool never closed (invariant 7).
 */
final class Views {
    private final SlotTable table;
    private final Counters counters;

    Views(SlotTable table, Counters counters) {
        this.table = table;
        this.counters = counters;
    }

    BlockView newView() {
        return new PinnedView(table, counters);
    }

    /** {@link BlockManager#acquire(BlockId, BlockView)}. */
    boolean acquire(BlockId id, BlockView reusable) {
        PinnedView view = empty(reusable);
        return taken(view, table.pin(id));
    }

    /** {@link BlockManager#acquire(BlockRef, BlockView)}. */
    boolean acquire(BlockRef ref, BlockView reusable) {
        PinnedView view = empty(reusable);
        return taken(view, table.pin(ref));
    }

    /** {@link BlockManager#acquire(BlockId, BlockView, int)}. */
    boolean acquire(BlockId id, BlockView reusable, int device) {
        PinnedView view = empty(reusable);
        Entry pinned = table.pin(id);
        if (pinned != null && !pinned.space.isAddressableOn(device)) {
            table.unpin(pinned);
            return false;
        }
        return taken(view, pinned);
    }

    /** {@link BlockManager#hand}. */
    void hand(SharedBlock pinned, BlockRef ref, BlockView reusable) {
        PinnedView view;
        try {
            view = empty(reusable);
        } catch (RuntimeException e) {
            pinned.unpin();
            throw e;
        }
        view.take(pinned, ref);
    }

    /** Before anything is pinned: whatever is wrong with the view must not cost a pin. */
    private PinnedView empty(BlockView reusable) {
        table.checkOpen();
        if (!(reusable instanceof PinnedView view) || !view.isOf(table)) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT,
                    reusable + " is no view of node " + table.self + ": take one from its newView()");
        }
        if (view.isOpen()) {
            throw new MooncakeException(Kind.ILLEGAL_STATE, view + " holds a block: close it before it takes another");
        }
        return view;
    }

    private boolean taken(PinnedView view, @Nullable Entry pinned) {
        if (pinned == null) {
            return false;
        }
        view.take(pinned);
        return true;
    }
}
