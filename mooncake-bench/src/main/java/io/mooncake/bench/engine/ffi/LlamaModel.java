package io.mooncake.bench.engine.ffi;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;

/** A model that llama.cpp has loaded. Any thread; closed after its contexts. */
public final class LlamaModel implements AutoCloseable {
    private final MemorySegment model;
    private final int vocabulary;

    /**
     * Loads one.
     *
     * @param file in the format GGUF; may be deleted afterwards
     * @param vocabulary how many tokens it has
     * @throws MooncakeException CONFIG_ERROR where the library can't be used here, or can't load that
     */
    public LlamaModel(Path file, int vocabulary) {
        String failure = LlamaLibrary.failure();
        if (failure != null) {
            throw new MooncakeException(Kind.CONFIG_ERROR, failure);
        }
        this.vocabulary = vocabulary;
        try (Arena arena = Arena.ofConfined()) {
            model = LlamaApi.loadModel(arena.allocateFrom(file.toString()), LlamaApi.modelDefaults(arena));
        }
        if (model.equals(MemorySegment.NULL)) {
            throw new MooncakeException(Kind.CONFIG_ERROR,
                    "llama.cpp cannot load " + file + ": it must be a model in the format GGUF of at most version 3");
        }
    }

    /**
     * Room for a request.
     *
     * @param tokens that it may have
     * @param threads that compute it
     * @return none yet, to be closed
     * @throws MooncakeException OUT_OF_MEMORY
     */
    public LlamaContext newContext(int tokens, int threads) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment parameters = LlamaApi.contextDefaults(arena);
            LlamaApi.CONTEXT.set(parameters, "n_ctx", tokens + LlamaContext.ASIDE_TOKENS);
            LlamaApi.CONTEXT.set(parameters, "n_batch", LlamaContext.BATCH);
            LlamaApi.CONTEXT.set(parameters, "n_ubatch", LlamaContext.BATCH);
            LlamaApi.CONTEXT.set(parameters, "n_seq_max", LlamaContext.SEQUENCES);
            LlamaApi.CONTEXT.set(parameters, "n_threads", threads);
            LlamaApi.CONTEXT.set(parameters, "n_threads_batch", threads);
            // Values lie token by token then, like keys.
            LlamaApi.CONTEXT.set(parameters, "flash_attn", true);
            MemorySegment context = LlamaApi.newContext(model, parameters);
            if (context.equals(MemorySegment.NULL)) {
                throw new MooncakeException(Kind.OUT_OF_MEMORY,
                        "llama.cpp has no memory for the keys and values of " + tokens + " tokens");
            }
            return new LlamaContext(context, tokens, vocabulary);
        }
    }

    @Override
    public void close() {
        LlamaApi.freeModel(model);
    }
}
