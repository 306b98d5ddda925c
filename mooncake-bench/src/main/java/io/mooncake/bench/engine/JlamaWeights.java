package io.mooncake.bench.engine;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Random weights of a Llama as a file in the format "safetensors" would have them, in memory: eight bytes of length, a header in JSON that
 * names each tensor's type, shape and bytes, and those bytes.
 */
final class JlamaWeights {
    private record Tensor(String name, int rows, int columns) {
        long bytes() {
            return (long) rows * columns * Float.BYTES;
        }
    }

    private JlamaWeights() {}

    private static List<Tensor> tensors(JlamaShape shape) {
        List<Tensor> all = new ArrayList<>();
        all.add(new Tensor("model.embed_tokens.weight", shape.vocabulary(), shape.width()));
        for (int layer = 0; layer < shape.layers(); layer++) {
            String base = "model.layers." + layer + ".";
            all.add(new Tensor(base + "input_layernorm.weight", 1, shape.width()));
            all.add(new Tensor(base + "self_attn.q_proj.weight", shape.width(), shape.width()));
            all.add(new Tensor(base + "self_attn.k_proj.weight", shape.kvWidth(), shape.width()));
            all.add(new Tensor(base + "self_attn.v_proj.weight", shape.kvWidth(), shape.width()));
            all.add(new Tensor(base + "self_attn.o_proj.weight", shape.width(), shape.width()));
            all.add(new Tensor(base + "post_attention_layernorm.weight", 1, shape.width()));
            all.add(new Tensor(base + "mlp.gate_proj.weight", shape.hidden(), shape.width()));
            all.add(new Tensor(base + "mlp.up_proj.weight", shape.hidden(), shape.width()));
            all.add(new Tensor(base + "mlp.down_proj.weight", shape.width(), shape.hidden()));
        }
        all.add(new Tensor("model.norm.weight", 1, shape.width()));
        all.add(new Tensor("lm_head.weight", shape.vocabulary(), shape.width()));
        return all;
    }

    /** Direct memory, ready to be read. */
    static ByteBuffer safetensors(JlamaShape shape, long seed) {
        List<Tensor> tensors = tensors(shape);
        StringBuilder header = new StringBuilder("{");
        long at = 0;
        for (Tensor tensor : tensors) {
            String dimensions = tensor.rows == 1 ? "" + tensor.columns : tensor.rows + "," + tensor.columns;
            header.append(at == 0 ? "" : ",")
                    .append("\"" + tensor.name + "\":{\"dtype\":\"F32\",\"shape\":[" + dimensions
                            + "],\"data_offsets\":[" + at + "," + (at + tensor.bytes()) + "]}");
            at += tensor.bytes();
        }
        header.append("}");
        // The tensors are read as vectors of floats.
        while ((Long.BYTES + header.length()) % 64 != 0) {
            header.append(' ');
        }
        byte[] json = header.toString().getBytes(StandardCharsets.US_ASCII);
        ByteBuffer all = ByteBuffer.allocateDirect(Math.toIntExact(Long.BYTES + json.length + at))
                .order(ByteOrder.LITTLE_ENDIAN);
        all.putLong(json.length).put(json);
        FloatBuffer floats = all.asFloatBuffer();
        Random random = new Random(seed);
        for (Tensor tensor : tensors) {
            fill(floats, tensor, random);
        }
        return all.position(0);
    }

    private static void fill(FloatBuffer floats, Tensor tensor, Random random) {
        float spread = (float) Math.sqrt(3.0 / tensor.columns);
        for (long i = 0; i < (long) tensor.rows * tensor.columns; i++) {
            float unit = random.nextFloat();
            floats.put(tensor.rows == 1 ? 0.75f + unit / 2 : (2 * unit - 1) * spread);
        }
    }
}
