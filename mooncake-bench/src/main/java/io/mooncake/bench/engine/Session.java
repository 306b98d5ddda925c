package io.mooncake.bench.engine;

import io.mooncake.bench.engine.FirstToken.Tally;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockView;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One request: its tokens, their keys and values, and what follows. One thread. */
public final class Session implements AutoCloseable {
    private final Engine engine;
    private final @Nullable EngineAdapter adapter;
    private final int blockTokens;
    private final List<BlockId> ids;
    private final Tally tally = new Tally();
    private final FirstToken firstToken;
    private Engine.Context context;
    private int[] tokens;
    private float[] logits;

    Session(Engine engine, @Nullable EngineAdapter adapter, int[] prompt) {
        this.engine = engine;
        this.adapter = adapter;
        blockTokens = engine.layout().tokens();
        tokens = prompt.clone();
        ids = adapter == null ? new ArrayList<>() : new ArrayList<>(engine.chain().ids(prompt));
        context = engine.newContext();
        try {
            logits = prefill();
        } catch (RuntimeException | Error e) {
            context.close();
            throw e;
        }
        firstToken = tally.end();
    }

    private float[] prefill() {
        // The last token is computed in any case, since that says what follows; with it the block that it ends.
        int whole = (tokens.length - 1) / blockTokens;
        LayeredPull pull = adapter == null ? null : adapter.beginByLayers(ids.subList(0, whole), context, tally);
        float[] follows = pull == null ? null : byLayers(pull, whole);
        if (follows == null) {
            follows = blockByBlock(whole);
        }
        if (tokens.length % blockTokens == 0) {
            publish(whole);
        }
        return follows;
    }

    /** Computes the last tokens while layers of those before still come; null when one of them did not. */
    private float @Nullable [] byLayers(LayeredPull pull, int whole) {
        try (pull) {
            ((Engine.LayeredContext) context).expect(whole * blockTokens, layer -> {
                long began = System.nanoTime();
                pull.awaitLayer(layer);
                tally.storeSince(began);
            });
            return context.compute(range(whole * blockTokens, tokens.length));
        } catch (LayeredPull.MissingException e) {
            // Where its holder was lost: once more block by block, by which what is to be had comes, and the rest is computed.
            context.close();
            context = engine.newContext();
            tally.again();
            return null;
        }
    }

    private float[] blockByBlock(int whole) {
        try (BlockPull pull = adapter == null ? null : adapter.beginByBlocks(ids.subList(0, whole), tally)) {
            for (int block = 0; block < whole; block++) {
                BlockView view = pull == null ? null : take(pull, block);
                if (view != null) {
                    context.attach(view);
                } else {
                    // Those after it are none the worse for it: they depend on its tokens, which are the same.
                    context.compute(range(block * blockTokens, (block + 1) * blockTokens));
                    tally.computed();
                    publish(block);
                }
            }
        }
        return context.compute(range(whole * blockTokens, tokens.length));
    }

    private @Nullable BlockView take(BlockPull pull, int block) {
        long began = System.nanoTime();
        BlockView view = pull.take(block);
        tally.storeSince(began);
        return view;
    }

    private void publish(int block) {
        if (adapter != null) {
            long began = System.nanoTime();
            adapter.publish(ids.get(block), block, context);
            tally.storeSince(began);
        }
    }

    private int[] range(int from, int to) {
        return Arrays.copyOfRange(tokens, from, to);
    }

    /**
     * What it took to begin.
     *
     * @return up to the first token
     */
    public FirstToken firstToken() {
        return firstToken;
    }

    /**
     * What follows the last token.
     *
     * @return a number for each token that there is; not to be changed
     */
    public float[] logits() {
        return logits;
    }

    /**
     * The tokens so far.
     *
     * @return the prompt's and those that followed
     */
    public int[] tokens() {
        return tokens.clone();
    }

    /**
     * Takes the likeliest token, the lowest of several, and computes what follows that. A block that it ends is published.
     *
     * @return the token
     */
    public int next() {
        int token = 0;
        for (int i = 1; i < logits.length; i++) {
            token = logits[i] > logits[token] ? i : token;
        }
        tokens = Arrays.copyOf(tokens, tokens.length + 1);
        tokens[tokens.length - 1] = token;
        logits = context.compute(token);
        if (adapter != null && tokens.length % blockTokens == 0) {
            int block = tokens.length / blockTokens - 1;
            int[] last = range(block * blockTokens, tokens.length);
            ids.add(block == 0 ? engine.chain().first(last) : engine.chain().next(ids.getLast(), last));
            publish(block);
        }
        return token;
    }

    @Override
    public void close() {
        context.close();
    }
}
