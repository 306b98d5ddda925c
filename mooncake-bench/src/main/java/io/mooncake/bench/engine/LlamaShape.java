package io.mooncake.bench.engine;

import io.mooncake.bench.engine.EngineChoice.Model;

/**
 * How large a model of {@link JlamaEngine} and {@link LlamaCppEngine} is; known without the engine. It has at least 8 MiB of keys and values a
 * context: with less, Jlama makes a page of each token of each layer.
 *
 * @param vocabulary tokens
 * @param layers transformer layers
 * @param width of what goes from layer to layer
 * @param heads of queries
 * @param kvHeads of keys and values
 * @param hidden width inside a feed-forward
 * @param context tokens that a request may have
 */
record LlamaShape(int vocabulary, int layers, int width, int heads, int kvHeads, int hidden, int context) {
    /** About 675,000 parameters, 2.7 MB of weights; or about 19 million, 77 MB. */
    static LlamaShape of(Model model) {
        return switch (model) {
            case TINY -> new LlamaShape(256, 3, 128, 4, 2, 400, 8192);
            case SMALL -> new LlamaShape(256, 8, 512, 8, 4, 1024, 8192);
        };
    }

    int kvWidth() {
        return kvHeads * (width / heads);
    }
}
