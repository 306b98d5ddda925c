package io.mooncake.bench.engine;

import io.mooncake.bench.engine.EngineChoice.Model;
import io.mooncake.core.base.Layout;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.PrefixChain;
import java.lang.foreign.MemorySegment;
import java.util.Locale;

/** The engine around {@link MiniLlama}: its KV cache is the blocks' views themselves, and nothing is copied in. Any thread. */
public final class MiniEngine implements Engine {
    private final MiniLlama model;
    private final Layout layout;
    private final PrefixChain chain;

    private MiniEngine(MiniLlama.Shape shape, long seed, int blockTokens) {
        model = new MiniLlama(shape, seed);
        layout = new Layout(shape.layers(), 2, blockTokens, (long) shape.kvWidth() * Float.BYTES, "f32");
        chain = new PrefixChain("mini-llama " + shape + " seed " + seed, layout, "mini-1", "");
    }

    /**
     * Makes one.
     *
     * @param model about 20,000 parameters, or about 2.6 million
     * @param seed of the weights
     * @param blockTokens tokens a block
     * @return the engine
     */
    public static MiniEngine of(Model model, long seed, int blockTokens) {
        return new MiniEngine(shape(model), seed, blockTokens);
    }

    /**
     * How many tokens there are.
     *
     * @param model of one
     * @return tokens are 0 to this - 1
     */
    static int vocabulary(Model model) {
        return shape(model).vocabulary();
    }

    private static MiniLlama.Shape shape(Model model) {
        return switch (model) {
            case TINY -> new MiniLlama.Shape(64, 2, 32, 4, 2, 48);
            case SMALL -> new MiniLlama.Shape(512, 4, 256, 8, 2, 512);
        };
    }

    @Override
    public String describe() {
        MiniLlama.Shape shape = model.shape();
        return String.format(Locale.ROOT, "mini: a scalar Llama of %d layers and %,d parameters, random weights: shows"
                + " identity and cost, not text", shape.layers(), shape.parameters());
    }

    @Override
    public int vocabulary() {
        return model.shape().vocabulary();
    }

    @Override
    public Layout layout() {
        return layout;
    }

    @Override
    public PrefixChain chain() {
        return chain;
    }

    @Override
    public float tolerance() {
        return 0;
    }

    @Override
    public Context newContext() {
        return new Pages();
    }

    @Override
    public void close() {
        // Its weights are the garbage collector's.
    }

    private final class Pages implements Context {
        private final KvPages cache = new KvPages(layout);

        @Override
        public int length() {
            return cache.length();
        }

        @Override
        public void attach(BlockView block) {
            cache.attach(block);
        }

        @Override
        public float[] compute(int... tokens) {
            float[] last = {};
            for (int token : tokens) {
                last = model.forward(token, cache);
            }
            return model.logits(last);
        }

        @Override
        public void copyOut(int block, MemorySegment target) {
            target.copyFrom(cache.page(block));
        }

        @Override
        public void share(int block, BlockView view) {
            cache.share(block, view);
        }

        @Override
        public void close() {
            cache.close();
        }
    }
}
