package io.mooncake.bench.engine;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.channels.FileChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Random weights of a Llama: the same ones for the same shape and seed, whatever file they are written to. */
final class LlamaWeights {
    /**
     * One of its tensors.
     *
     * @param safetensors its name in a file of that format
     * @param gguf its name in a file of that format
     * @param rows how many, 1 for a vector
     * @param columns floats in each
     */
    record Tensor(String safetensors, String gguf, int rows, int columns) {
        int floats() {
            return Math.multiplyExact(rows, columns);
        }

        long bytes() {
            return (long) floats() * Float.BYTES;
        }

        boolean isVector() {
            return rows == 1;
        }
    }

    private LlamaWeights() {}

    /** All of them, in the order in which they are filled. */
    static List<Tensor> tensors(LlamaShape shape) {
        List<Tensor> all = new ArrayList<>();
        all.add(new Tensor("model.embed_tokens.weight", "token_embd.weight", shape.vocabulary(), shape.width()));
        for (int layer = 0; layer < shape.layers(); layer++) {
            addLayer(all, "model.layers." + layer + ".", "blk." + layer + ".", shape);
        }
        all.add(new Tensor("model.norm.weight", "output_norm.weight", 1, shape.width()));
        all.add(new Tensor("lm_head.weight", "output.weight", shape.vocabulary(), shape.width()));
        return all;
    }

    private static void addLayer(List<Tensor> all, String its, String brief, LlamaShape shape) {
        int width = shape.width();
        all.add(new Tensor(its + "input_layernorm.weight", brief + "attn_norm.weight", 1, width));
        all.add(new Tensor(its + "self_attn.q_proj.weight", brief + "attn_q.weight", width, width));
        all.add(new Tensor(its + "self_attn.k_proj.weight", brief + "attn_k.weight", shape.kvWidth(), width));
        all.add(new Tensor(its + "self_attn.v_proj.weight", brief + "attn_v.weight", shape.kvWidth(), width));
        all.add(new Tensor(its + "self_attn.o_proj.weight", brief + "attn_output.weight", width, width));
        all.add(new Tensor(its + "post_attention_layernorm.weight", brief + "ffn_norm.weight", 1, width));
        all.add(new Tensor(its + "mlp.gate_proj.weight", brief + "ffn_gate.weight", shape.hidden(), width));
        all.add(new Tensor(its + "mlp.up_proj.weight", brief + "ffn_up.weight", shape.hidden(), width));
        all.add(new Tensor(its + "mlp.down_proj.weight", brief + "ffn_down.weight", width, shape.hidden()));
    }

    /** Writes all of them, each from a multiple of so many bytes on, to where the channel is. */
    static void write(FileChannel channel, LlamaShape shape, long seed, int alignment) throws IOException {
        Random random = new Random(seed);
        for (Tensor tensor : tensors(shape)) {
            long bytes = Math.ceilDiv(tensor.bytes(), alignment) * alignment;
            ByteBuffer floats = ByteBuffer.allocate(Math.toIntExact(bytes)).order(ByteOrder.LITTLE_ENDIAN);
            fill(floats.asFloatBuffer(), tensor, random);
            ModelFiles.writeAll(channel, floats);
        }
    }

    /** Gives the next tensor its weights: those of norms about one, the others spread so that what they multiply stays as large as it is. */
    private static void fill(FloatBuffer floats, Tensor tensor, Random random) {
        float spread = (float) Math.sqrt(3.0 / tensor.columns);
        for (int i = 0; i < tensor.floats(); i++) {
            float unit = random.nextFloat();
            floats.put(tensor.isVector() ? 0.75f + unit / 2 : (2 * unit - 1) * spread);
        }
    }
}
