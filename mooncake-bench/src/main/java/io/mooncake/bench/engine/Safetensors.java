package io.mooncake.bench.engine;

import io.mooncake.bench.engine.LlamaWeights.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;

/**
 * Random weights of a Llama as a file in the format "safetensors" would have them, in memory: eight bytes of length, a header in JSON that
 * names each tensor's type, shape and bytes, and those bytes.
 */
final class Safetensors {
    private Safetensors() {}

    /** Direct memory, ready to be read. */
    static ByteBuffer of(LlamaShape shape, long seed) {
        List<Tensor> tensors = LlamaWeights.tensors(shape);
        StringBuilder header = new StringBuilder("{");
        long at = 0;
        for (Tensor tensor : tensors) {
            String dimensions = tensor.isVector() ? "" + tensor.columns() : tensor.rows() + "," + tensor.columns();
            header.append(at == 0 ? "" : ",")
                    .append("\"" + tensor.safetensors() + "\":{\"dtype\":\"F32\",\"shape\":[" + dimensions
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
            LlamaWeights.fill(floats, tensor, random);
        }
        return all.position(0);
    }
}
