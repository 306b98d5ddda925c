package io.mooncake.bench.engine;

import io.mooncake.bench.engine.FirstToken.Tally;
import io.mooncake.core.BlockStore;
import io.mooncake.core.Node;
import io.mooncake.core.PrefixMatch;
import io.mooncake.core.Reach;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Category;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.Hold;
import io.mooncake.core.block.Tier;
import java.time.Duration;
import java.util.List;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * An engine whose requests take the blocks that a store has or finds, compute the others, and publish what they computed. Any thread; each
 * session by one thread at a time.
 */
public final class EngineAdapter {
    /** How long what was found, or published, stays at least, until it is pinned. */
    static final Duration MEANWHILE = Duration.ofSeconds(30);

    private final Engine engine;
    private final BlockStore store;
    private final Reach reach;
    private final IntConsumer onPull;
    /** Whose blocks are read straight into the engine's pages; null = they are not. */
    private final @Nullable Node node;

    /**
     * An engine beside a store.
     *
     * @param engine computes
     * @param store of the node that has the engine
     * @param reach HOST: blocks of other nodes of this host are used where they are, where their memory is shared; NODE: they are pulled
     * @param onPull told how many blocks are being pulled, before they are waited for
     */
    public EngineAdapter(Engine engine, BlockStore store, Reach reach, IntConsumer onPull) {
        this(engine, store, reach, onPull, null);
    }

    private EngineAdapter(Engine engine, BlockStore store, Reach reach, IntConsumer onPull, @Nullable Node node) {
        this.engine = engine;
        this.store = store;
        this.reach = reach;
        this.onPull = onPull;
        this.node = node;
    }

    /**
     * An engine that has blocks read straight into its own pages, layer by layer, and begins to compute when the first layer is there. They leave
     * no replica. Only where all of a prompt's blocks are to be had, and the engine can; and not where the node has checksums: a piece of a layer
     * is compared with none, so blocks come whole there.
     *
     * @param engine computes
     * @param node that has the engine
     * @param onPull told how many blocks are being read, before they are waited for
     * @return the adapter
     */
    public static EngineAdapter byLayers(Engine engine, Node node, IntConsumer onPull) {
        return new EngineAdapter(engine, node.store(), Reach.NODE, onPull, node);
    }

    /**
     * Begins a request: everything up to its first token.
     *
     * @param prompt at least one token
     * @return knows what follows, to be closed
     */
    public Session begin(int... prompt) {
        return new Session(engine, this, prompt);
    }

    /**
     * The same without any store: everything is computed.
     *
     * @param engine computes
     * @param prompt at least one token
     * @return knows what follows, to be closed
     */
    public static Session beginAlone(Engine engine, int... prompt) {
        return new Session(engine, null, prompt);
    }

    /**
     * Begins to read a prompt's blocks into the context's own pages.
     *
     * @return null where that is not possible: the engine can't, or a block is nowhere
     */
    @Nullable
    LayeredPull beginByLayers(List<BlockId> ids, Engine.Context context, Tally tally) {
        if (node == null || node.config().pool().checksums() || !(context instanceof Engine.LayeredContext layered)) {
            return null;
        }
        long began = System.nanoTime();
        try (PrefixMatch match = store.match(ids, MEANWHILE)) {
            if (ids.isEmpty() || match.hits() < ids.size() || LayeredPull.isTooMuch(engine.layout(), ids.size())) {
                return null;
            }
            for (int i = 0; i < ids.size(); i++) {
                if (match.tier(i) == Tier.SLOW) {
                    tally.pulled(match.validBytes(i));
                } else {
                    tally.here();
                }
            }
            LayeredPull pull = new LayeredPull(node, layered, engine.layout(), ids);
            onPull.accept(ids.size());
            return pull;
        } finally {
            tally.storeSince(began);
        }
    }

    /**
     * Begins to get what there is of a prompt's blocks: what is on this node by pinning it, the rest in one transfer. Whatever does not come, and
     * why, is the same to the request: it computes that.
     */
    BlockPull beginByBlocks(List<BlockId> ids, Tally tally) {
        long began = System.nanoTime();
        try {
            return new BlockPull(this, store, ids, tally, onPull);
        } finally {
            tally.storeSince(began);
        }
    }

    /** A block that may be used where it is, pinned; null when it may not. */
    @Nullable
    BlockView acquire(BlockId id) {
        BlockView view = store.newView();
        return store.acquire(id, view, reach) ? view : null;
    }

    /** Gives other requests, here and elsewhere, a block that was computed; this one uses it, too, instead of its own copy. */
    void publish(BlockId id, int block, Engine.Context context) {
        BlockView view = acquire(id);
        if (view == null) {
            view = write(id, block, context);
        }
        if (view != null) {
            context.share(block, view);
        }
    }

    private @Nullable BlockView write(BlockId id, int block, Engine.Context context) {
        try (BlockWriter writer = store.allocate(id, engine.layout().blockBytes())) {
            context.copyOut(block, writer.segment());
            try (Hold hold = writer.commitAndHold(writer.length(), MEANWHILE)) {
                BlockView view = store.newView();
                return store.acquire(hold.refs().getFirst(), view) ? view : null;
            }
        } catch (MooncakeException e) {
            if (e.category() == Category.RETRY || e.category() == Category.RECOMPUTE) {
                // Somebody else is writing this block, or there is no room: the request has its own copy and goes on.
                return null;
            }
            throw e;
        }
    }
}
