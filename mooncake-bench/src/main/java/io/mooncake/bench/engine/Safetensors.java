package io.mooncake.bench.engine;

import io.mooncake.bench.engine.LlamaWeights.Tensor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Random weights of a Llama as a file of the format "safetensors": eight bytes of length, a header in JSON that names each tensor's type, shape
 * and bytes, and those bytes; all numbers little-endian.
 */
final class Safetensors {
    /** The tensors are read as vectors of floats. */
    private static final int ALIGNMENT = 64;

    private Safetensors() {}

    /** Writes all of it into a new file. */
    static void write(Path file, LlamaShape shape, long seed) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            ModelFiles.writeAll(channel, header(shape));
            LlamaWeights.write(channel, shape, seed, Float.BYTES);
        }
    }

    private static ByteBuffer header(LlamaShape shape) {
        StringBuilder json = new StringBuilder("{\"__metadata__\":{\"format\":\"pt\"}");
        long at = 0;
        for (Tensor tensor : LlamaWeights.tensors(shape)) {
            String dimensions = tensor.isVector() ? "" + tensor.columns() : tensor.rows() + "," + tensor.columns();
            json.append(",\"" + tensor.safetensors() + "\":{\"dtype\":\"F32\",\"shape\":[" + dimensions
                    + "],\"data_offsets\":[" + at + "," + (at + tensor.bytes()) + "]}");
            at += tensor.bytes();
        }
        json.append("}");
        while ((Long.BYTES + json.length()) % ALIGNMENT != 0) {
            json.append(' ');
        }
        byte[] ascii = json.toString().getBytes(StandardCharsets.US_ASCII);
        return ByteBuffer.allocate(Long.BYTES + ascii.length)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(ascii.length)
                .put(ascii)
                .rewind();
    }
}
