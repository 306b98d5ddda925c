package io.mooncake.bench.engine;

import com.github.tjake.jlama.model.llama.LlamaConfig;
import com.github.tjake.jlama.model.llama.LlamaModel;
import com.github.tjake.jlama.safetensors.DType;
import com.github.tjake.jlama.safetensors.SafeTensorSupport;
import com.github.tjake.jlama.safetensors.WeightLoader;
import com.github.tjake.jlama.safetensors.tokenizer.Tokenizer;
import com.github.tjake.jlama.tensor.AbstractTensor;
import com.github.tjake.jlama.tensor.KvBufferCache;
import com.github.tjake.jlama.util.JsonSupport;
import io.mooncake.core.base.Layout;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.PrefixChain;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.IntConsumer;
import java.util.stream.LongStream;

/**
 * Jlama, an inference engine in Java, with random weights. Its KV cache lies in pages of its own, of which it hands out each layer's rows; so
 * blocks are copied, in and out, or read straight into those rows, layer by layer. Any thread.
 */
public final class JlamaEngine implements Engine {
    private static final String BUILD = "jlama-0.8.4-panama";
    /** A batch of other tokens adds its products up in another order. */
    private static final float TOLERANCE = 1e-5f;

    private final LlamaShape shape;
    private final ByteTokenizer tokenizer;
    private final Layered model;
    private final Layout layout;
    private final PrefixChain chain;

    private JlamaEngine(LlamaShape shape, Path directory, long seed, int blockTokens) throws IOException {
        this.shape = shape;
        // As Jlama's own ModelSupport.loadModel does it, which makes no subclasses.
        tokenizer = new ByteTokenizer(directory);
        LlamaConfig config = JsonSupport.om.readValue(directory.resolve("config.json").toFile(), LlamaConfig.class);
        model = new Layered(config, SafeTensorSupport.loadWeights(directory.toFile()), tokenizer);
        layout = new Layout(shape.layers(), 2, blockTokens, (long) shape.kvWidth() * Float.BYTES, "f32");
        chain = new PrefixChain("jlama " + shape + " seed " + seed, layout, BUILD, "");
    }

    /**
     * Makes one.
     *
     * @param choice which model it is, and how many tokens a block has
     * @param directory that has the model's files
     * @return the engine
     * @throws MooncakeException CONFIG_ERROR where the JVM lacks the flags, or the files cannot be read
     */
    static JlamaEngine of(EngineChoice choice, Path directory) {
        if (ModuleLayer.boot().findModule("jdk.incubator.vector").isEmpty()
                || !Boolean.getBoolean("jlama.force_panama_tensor_operations")) {
            throw new MooncakeException(Kind.CONFIG_ERROR,
                    "engine jlama: start java with " + String.join(" ", EngineChoice.JLAMA_FLAGS));
        }
        try {
            return new JlamaEngine(LlamaShape.of(choice.model()), directory, choice.seed(), choice.blockTokens());
        } catch (IOException e) {
            throw new MooncakeException(Kind.CONFIG_ERROR,
                    "engine jlama cannot load the model in " + directory + ": " + e.getMessage(), e);
        }
    }

    @Override
    public String describe() {
        return String.format(Locale.ROOT, "jlama 0.8.4: a Llama of %d layers and width %d in F32, random weights: shows"
                + " identity and cost, not text", shape.layers(), shape.width());
    }

    @Override
    public int vocabulary() {
        return shape.vocabulary();
    }

    @Override
    public int[] encode(String text) {
        return LongStream.of(tokenizer.encode(text)).mapToInt(Math::toIntExact).toArray();
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
        return TOLERANCE;
    }

    @Override
    public Context newContext() {
        return new Buffer();
    }

    @Override
    public void close() {
        model.close();
    }

    /** The model, which asks before each layer of a request whether it may be computed. */
    private static final class Layered extends LlamaModel {
        final Map<KvBufferCache.KvBuffer, IntConsumer> gates = new ConcurrentHashMap<>();

        Layered(LlamaConfig config, WeightLoader weights, Tokenizer tokenizer) {
            super(config, weights, tokenizer, DType.F32, DType.F32, Optional.empty());
        }

        @Override
        @SuppressWarnings("rawtypes") // as it is there
        public AbstractTensor forward(AbstractTensor embedding, int position, KvBufferCache.KvBuffer rows,
                Optional<Consumer<List<AbstractTensor>>> reducer) {
            IntConsumer gate = gates.getOrDefault(rows, _ -> {});
            AbstractTensor x = embedding;
            for (int layer = 0; layer < transformerBlocks.length; layer++) {
                gate.accept(layer);
                AbstractTensor next = transformerBlocks[layer].forward(x, position, rows, reducer);
                x.close();
                x = next;
            }
            return x;
        }
    }

    private final class Buffer implements LayeredContext {
        private final KvBufferCache cache = new KvBufferCache(model);
        private final KvBufferCache.KvBuffer rows = cache.getKvBuffer(UUID.randomUUID());
        private int length;

        @Override
        public int length() {
            return length;
        }

        @Override
        public void attach(BlockView block) {
            try (block) {
                copy(length, block.segment(), true);
            }
            length += layout.tokens();
        }

        @Override
        public float[] compute(int... tokens) {
            try (AbstractTensor<?, ?> all = model.batchForward(tokens, length, rows);
                    AbstractTensor<?, ?> logits = model.makeDenseTensor(shape.vocabulary())) {
                length += tokens.length;
                model.sample(all.slice(all.shape().first() - 1), 0, 0, logits);
                return logits.getMemorySegment()
                        .asSlice(0, (long) shape.vocabulary() * Float.BYTES)
                        .toArray(ValueLayout.JAVA_FLOAT_UNALIGNED);
            } finally {
                model.gates.remove(rows);
            }
        }

        @Override
        public Rows rows(int layer, int plane, int token) {
            AbstractTensor<?, ?>[] pages = plane == 0
                    ? rows.getKeyTensorsUptoPosition(layer, token)
                    : rows.getValTensorsUptoPosition(layer, token);
            AbstractTensor<?, ?> page = pages[pages.length - 1];
            int perPage = page.shape().first();
            return new Rows(page.getMemorySegment(), token % perPage * layout.rowBytes(), perPage - token % perPage);
        }

        @Override
        public void expect(int tokens, IntConsumer gate) {
            length += tokens;
            model.gates.put(rows, gate);
        }

        @Override
        public void copyOut(int block, MemorySegment target) {
            copy(block * layout.tokens(), target, false);
        }

        @Override
        public void share(int block, BlockView view) {
            // It computes on its own pages only.
            view.close();
        }

        /** A block's rows between its bytes and the engine's pages, each of which has a layer's rows of so many tokens. */
        private void copy(int from, MemorySegment block, boolean in) {
            for (int layer = 0; layer < layout.layers(); layer++) {
                int last = from + layout.tokens() - 1;
                copy(from, block, layout.offset(layer, 0), rows.getKeyTensorsUptoPosition(layer, last), in);
                copy(from, block, layout.offset(layer, 1), rows.getValTensorsUptoPosition(layer, last), in);
            }
        }

        private void copy(int from, MemorySegment block, long plane, AbstractTensor<?, ?>[] pages, boolean in) {
            int perPage = pages[0].shape().first();
            for (int done = 0; done < layout.tokens();) {
                int token = from + done;
                int run = Math.min(layout.tokens() - done, perPage - token % perPage);
                MemorySegment mine = pages[token / perPage].getMemorySegment()
                        .asSlice(token % perPage * layout.rowBytes(), run * layout.rowBytes());
                MemorySegment its = block.asSlice(plane + done * layout.rowBytes(), run * layout.rowBytes());
                MemorySegment.copy(in ? its : mine, 0, in ? mine : its, 0, its.byteSize());
                done += run;
            }
        }

        @Override
        public void close() {
            cache.close();
        }
    }
}
