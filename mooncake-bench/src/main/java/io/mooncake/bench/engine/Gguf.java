package io.mooncake.bench.engine;

import io.mooncake.bench.engine.LlamaWeights.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/**
 * Random weights of a Llama as a file of the format GGUF, version 3, all numbers little-endian. It has no vocabulary: tokens are numbers.
 *
 * <pre>
 *   "GGUF" | version | tensors | properties | each property: name, type, value | each tensor: name, dimensions, type, offset
 *   zeros up to a multiple of 32 | each tensor: its floats, zeros up to a multiple of 32
 * </pre>
 */
final class Gguf {
    private static final int ALIGNMENT = 32;
    private static final int VERSION = 3;
    private static final int TYPE_UINT32 = 4;
    private static final int TYPE_FLOAT32 = 6;
    private static final int TYPE_STRING = 8;
    private static final int TENSOR_F32 = 0;

    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final DataOutputStream header = new DataOutputStream(bytes);

    private Gguf() {}

    /** Writes all of it into a new file. */
    static void write(Path file, LlamaShape shape, long seed) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            ModelFiles.writeAll(channel, new Gguf().header(shape, LlamaWeights.tensors(shape)));
            LlamaWeights.write(channel, shape, seed, ALIGNMENT);
        }
    }

    private static long aligned(long bytes) {
        return Math.ceilDiv(bytes, ALIGNMENT) * ALIGNMENT;
    }

    /** Zeros, in whole units. */
    private static ByteBuffer littleEndian(long bytes) {
        return ByteBuffer.allocate(Math.toIntExact(aligned(bytes))).order(ByteOrder.LITTLE_ENDIAN);
    }

    private ByteBuffer header(LlamaShape shape, List<Tensor> tensors) throws IOException {
        header.write("GGUF".getBytes(StandardCharsets.US_ASCII));
        putInt(VERSION);
        putLong(tensors.size());
        putProperties(shape);
        long offset = 0;
        for (Tensor tensor : tensors) {
            putString(tensor.gguf());
            // The innermost first.
            putInt(tensor.isVector() ? 1 : 2);
            putLong(tensor.columns());
            if (!tensor.isVector()) {
                putLong(tensor.rows());
            }
            putInt(TENSOR_F32);
            putLong(offset);
            offset += aligned(tensor.bytes());
        }
        return littleEndian(bytes.size()).put(bytes.toByteArray()).rewind();
    }

    private void putProperties(LlamaShape shape) throws IOException {
        putLong(10);
        putText("general.architecture", "llama");
        putText("tokenizer.ggml.model", "no_vocab");
        putNumber("llama.vocab_size", shape.vocabulary());
        putNumber("llama.context_length", shape.context());
        putNumber("llama.block_count", shape.layers());
        putNumber("llama.embedding_length", shape.width());
        putNumber("llama.feed_forward_length", shape.hidden());
        putNumber("llama.attention.head_count", shape.heads());
        putNumber("llama.attention.head_count_kv", shape.kvHeads());
        putString("llama.attention.layer_norm_rms_epsilon");
        putInt(TYPE_FLOAT32);
        putInt(Float.floatToIntBits(1e-5f));
    }

    private void putText(String name, String value) throws IOException {
        putString(name);
        putInt(TYPE_STRING);
        putString(value);
    }

    private void putNumber(String name, int value) throws IOException {
        putString(name);
        putInt(TYPE_UINT32);
        putInt(value);
    }

    private void putString(String text) throws IOException {
        byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
        putLong(utf8.length);
        header.write(utf8);
    }

    private void putInt(int value) throws IOException {
        header.writeInt(Integer.reverseBytes(value));
    }

    private void putLong(long value) throws IOException {
        header.writeLong(Long.reverseBytes(value));
    }
}
