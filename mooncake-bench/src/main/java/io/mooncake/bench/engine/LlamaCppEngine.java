package io.mooncake.bench.engine;

import io.mooncake.bench.engine.EngineChoice.Model;
import io.mooncake.bench.engine.ffi.LlamaContext;
import io.mooncake.bench.engine.ffi.LlamaLibrary;
import io.mooncake.bench.engine.ffi.LlamaModel;
import io.mooncake.core.base.Layout;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.PrefixChain;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;

/**
 * llama.cpp, an inference engine in C++, with random weights. Its KV cache is its own, and comes and goes as the state of some tokens; so blocks
 * are cut out of that, and it is put together from them. The same bits whether they were computed or came. Any thread.
 */
public final class LlamaCppEngine implements Engine {
    private final LlamaShape shape;
    private final int threads;
    private final LlamaModel model;
    private final Layout layout;
    private final LlamaState codec;
    private final PrefixChain chain;
    /** Of requests that have ended: making one takes longer than what it is made for. */
    private final Queue<LlamaContext> idle = new ConcurrentLinkedQueue<>();

    private LlamaCppEngine(LlamaShape shape, Path directory, long seed, int blockTokens, int threads) {
        this.shape = shape;
        this.threads = threads;
        model = new LlamaModel(directory.resolve(ModelFiles.GGUF), shape.vocabulary());
        layout = new Layout(shape.layers(), 2, blockTokens, (long) shape.kvWidth() * Short.BYTES, "f16");
        codec = new LlamaState(layout);
        chain = new PrefixChain("llama.cpp " + shape + " seed " + seed, layout,
                LlamaLibrary.describe() + ", flash attention", "");
    }

    /**
     * Makes one.
     *
     * @param choice which model it is, and how many tokens a block has
     * @param directory that has the model's files
     * @return the engine
     * @throws MooncakeException CONFIG_ERROR where llama.cpp can't be used, saying why
     */
    static LlamaCppEngine of(EngineChoice choice, Path directory) {
        String failure = failure();
        if (failure != null) {
            throw new MooncakeException(Kind.CONFIG_ERROR, "engine llamacpp: " + failure);
        }
        // They wait for each other at every step, so that one which does not run holds all up; half of the processors are left to the others.
        int threads = choice.model() == Model.TINY ? 1 : Math.max(1, Runtime.getRuntime().availableProcessors() / 2);
        return new LlamaCppEngine(LlamaShape.of(choice.model()), directory, choice.seed(), choice.blockTokens(),
                threads);
    }

    /**
     * Why there is none here.
     *
     * @return one sentence; null where there is
     */
    public static @Nullable String failure() {
        return LlamaLibrary.failure();
    }

    @Override
    public String describe() {
        return String.format(Locale.ROOT, "%s: a Llama of %d layers and width %d, keys and values in F16, random"
                + " weights: shows identity and cost, not text", LlamaLibrary.describe(), shape.layers(),
                shape.width());
    }

    @Override
    public int vocabulary() {
        return shape.vocabulary();
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
        LlamaContext context = idle.poll();
        return new Request(Objects.requireNonNullElseGet(context, () -> model.newContext(shape.context(), threads)));
    }

    @Override
    public void close() {
        idle.forEach(LlamaContext::close);
        model.close();
    }

    private final class Request implements Context {
        private final LlamaContext context;
        private final Arena arena = Arena.ofConfined();
        private final MemorySegment state = arena.allocate(codec.bytes());

        Request(LlamaContext context) {
            this.context = context;
        }

        @Override
        public int length() {
            return context.length();
        }

        @Override
        public void attach(BlockView block) {
            try (block) {
                codec.ofBlock(block.segment(), length(), state);
            }
            context.append(layout.tokens(), state);
        }

        @Override
        public float[] compute(int... tokens) {
            return context.compute(tokens);
        }

        @Override
        public void copyOut(int block, MemorySegment target) {
            int first = block * layout.tokens();
            context.copyOut(first, layout.tokens(), state);
            codec.toBlock(state, first, target);
        }

        @Override
        public void share(int block, BlockView view) {
            // It computes on its own cache only.
            view.close();
        }

        @Override
        public void close() {
            arena.close();
            context.clear();
            idle.add(context);
        }
    }
}
