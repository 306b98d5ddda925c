package io.mooncake.bench.engine;

import io.mooncake.bench.engine.FirstToken.Tally;
import io.mooncake.core.BlockStore;
import io.mooncake.core.Piece;
import io.mooncake.core.PrefixMatch;
import io.mooncake.core.TransferOptions;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Transfer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A prompt's blocks on their way to this node, each of which may be used as soon as it is there, while the next ones still come. Those that are here
 * already are pinned from the beginning. One thread.
 */
final class BlockPull implements AutoCloseable {
    /** More than any transfer has. */
    private static final Duration LONGEST = Duration.ofHours(1);
    private static final int NO_PIECE = -1;

    private final EngineAdapter adapter;
    private final List<BlockId> ids;
    private final Tally tally;
    /** Those that are here and that nobody has taken yet. */
    private final @Nullable BlockView[] here;
    /** Of a block that comes, its place in the transfer. */
    private final int[] pieceOf;
    /** In the order in which they are needed, which is that in which they are sent; null where nothing is away. */
    private final @Nullable Transfer transfer;

    /**
     * Begins.
     *
     * @param adapter acquires what is here
     * @param store of the node that has the engine
     * @param ids the blocks
     * @param tally counts them
     * @param onPull told how many are being pulled, where there are any
     */
    BlockPull(EngineAdapter adapter, BlockStore store, List<BlockId> ids, Tally tally, IntConsumer onPull) {
        this.adapter = adapter;
        this.ids = ids;
        this.tally = tally;
        here = new @Nullable BlockView[ids.size()];
        pieceOf = new int[ids.size()];
        List<Piece> away = new ArrayList<>();
        try (PrefixMatch match = store.match(ids, EngineAdapter.MEANWHILE)) {
            for (int block = 0; block < here.length; block++) {
                here[block] = adapter.acquire(ids.get(block));
                boolean comes = here[block] == null && match.status(block) == PrefixMatch.Status.READY;
                pieceOf[block] = comes ? away.size() : NO_PIECE;
                if (comes) {
                    away.add(Piece.replica(ids.get(block)));
                }
            }
            if (!away.isEmpty()) {
                transfer = store.prepare(away, TransferOptions.DEFAULT).submit();
                onPull.accept(away.size());
            } else {
                transfer = null;
            }
        } catch (RuntimeException | Error e) {
            closeViews();
            throw e;
        }
    }

    /**
     * Waits for a block, where it comes.
     *
     * @return the caller's from now on; null where there is none, or it did not come
     */
    @Nullable
    BlockView take(int block) {
        BlockView view = here[block];
        if (view != null) {
            here[block] = null;
            tally.here();
            return view;
        }
        if (transfer == null || pieceOf[block] == NO_PIECE
                || transfer.awaitOutcome(pieceOf[block], LONGEST) != Outcome.OK) {
            return null;
        }
        // It may be gone again where there is little room: then it counts as one that did not come.
        view = adapter.acquire(ids.get(block));
        if (view != null) {
            tally.pulled(view.length());
        }
        return view;
    }

    private void closeViews() {
        for (BlockView view : here) {
            if (view != null) {
                view.close();
            }
        }
    }

    /** What still comes nobody needs. */
    @Override
    public void close() {
        closeViews();
        if (transfer != null) {
            transfer.cancel();
            transfer.joinOrCancel();
        }
    }
}
