package io.mooncake.bench.engine;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * A model with random weights as files, in a directory of its own from which any number of processes load it. It is written once: elsewhere first
 * and then renamed, so that it is there as a whole or not at all; what is there already is used when it is that model, byte for byte.
 * One thread.
 *
 * <pre>
 *   jlama      config.json | tokenizer.json | model.safetensors    as Jlama, and others, load it
 *   llamacpp   model.gguf
 *   both       MANIFEST: what it is; of each file checksum, length, name
 * </pre>
 */
public final class ModelFiles implements AutoCloseable {
    static final String SAFETENSORS = "model.safetensors";
    static final String GGUF = "model.gguf";
    private static final String MANIFEST = "MANIFEST";
    private static final int BUFFER_BYTES = 1 << 20;

    private final @Nullable Path directory;
    /** Deleted with all that is in it when it is closed; null = it stays. */
    private final @Nullable Path own;

    private ModelFiles(@Nullable Path directory, @Nullable Path own) {
        this.directory = directory;
        this.own = own;
    }

    /**
     * Where an engine's model is, written there if it is not yet.
     *
     * @param choice the engine
     * @param models a directory that models stay in, made where it is missing; null = a new one that {@link #close} deletes
     * @return the model, to be closed
     * @throws MooncakeException CONFIG_ERROR where it cannot be written, or something else is in its place; it names the path and what to do
     */
    public static ModelFiles of(EngineChoice choice, @Nullable Path models) {
        if (!choice.hasFiles()) {
            return new ModelFiles(null, null);
        }
        Path parent = models;
        Path own = null;
        try {
            if (parent == null) {
                own = Files.createTempDirectory("mooncake-model");
                parent = own;
            } else {
                Files.createDirectories(parent);
            }
            return new ModelFiles(writtenOnce(parent, choice), own);
        } catch (IOException e) {
            deleteQuietly(own, e);
            String reason = e instanceof FileSystemException ? e.getClass().getSimpleName() + " " : "";
            throw new MooncakeException(Kind.CONFIG_ERROR, "a model's files cannot be written to "
                    + (parent == null ? System.getProperty("java.io.tmpdir") : parent) + ": " + reason + e.getMessage()
                    + "; name a directory with room that can be written", e);
        } catch (RuntimeException | Error e) {
            deleteQuietly(own, e);
            throw e;
        }
    }

    private static void deleteQuietly(@Nullable Path own, Throwable why) {
        try {
            delete(own);
        } catch (IOException e) {
            why.addSuppressed(e);
        }
    }

    private static Path writtenOnce(Path parent, EngineChoice choice) throws IOException {
        LlamaShape shape = LlamaShape.of(choice.model());
        String title = shape + " seed " + choice.seed();
        Path directory = parent.resolve((choice.kind() + "-" + choice.model() + "-" + choice.seed())
                .toLowerCase(Locale.ROOT));
        if (!Files.exists(directory)) {
            Path draft = Files.createTempDirectory(parent, directory.getFileName() + ".draft");
            try {
                if (choice.kind() == EngineChoice.Kind.LLAMACPP) {
                    Gguf.write(draft.resolve(GGUF), shape, choice.seed());
                } else {
                    HuggingFaceFiles.write(draft, shape);
                    Safetensors.write(draft.resolve(SAFETENSORS), shape, choice.seed());
                }
                Files.writeString(draft.resolve(MANIFEST), title + "\n" + String.join("\n", entries(draft)) + "\n");
                move(draft, directory);
            } finally {
                delete(draft);
            }
        }
        check(directory, title);
        return directory;
    }

    /** Another process may have been first: then its files are as good, and checked as any. */
    private static void move(Path draft, Path directory) throws IOException {
        try {
            Files.move(draft, directory, StandardCopyOption.ATOMIC_MOVE);
        } catch (AtomicMoveNotSupportedException e) {
            throw e;
        } catch (FileSystemException e) {
            if (!Files.isDirectory(directory)) {
                throw e;
            }
        }
    }

    private static void check(Path directory, String title) throws IOException {
        Path manifest = directory.resolve(MANIFEST);
        if (!Files.isRegularFile(manifest)) {
            throw unusable(directory, "it has no file " + MANIFEST);
        }
        List<String> lines = Files.readAllLines(manifest);
        List<String> there = entries(directory);
        if (lines.isEmpty() || !lines.getFirst().equals(title)) {
            throw unusable(directory, "its " + MANIFEST + " begins with '" + (lines.isEmpty() ? "" : lines.getFirst())
                    + "' instead of '" + title + "'");
        }
        for (String entry : lines.subList(1, lines.size())) {
            if (!there.contains(entry)) {
                throw unusable(directory,
                        "of its files, " + entry + " (checksum, bytes, name) is missing or has changed");
            }
        }
    }

    private static MooncakeException unusable(Path directory, String why) {
        return new MooncakeException(Kind.CONFIG_ERROR, directory + " is not the model that belongs there: " + why
                + "; delete it, and it is written anew, or name another directory");
    }

    /** A line a file: checksum, bytes, name. */
    private static List<String> entries(Path directory) throws IOException {
        List<String> all = new ArrayList<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory)) {
            for (Path file : files) {
                if (Files.isRegularFile(file) && !file.endsWith(MANIFEST)) {
                    all.add(String.format(Locale.ROOT, "%08x %d %s", checksum(file), Files.size(file),
                            file.getFileName()));
                }
            }
        }
        all.sort(null);
        return all;
    }

    private static long checksum(Path file) throws IOException {
        CRC32C sum = new CRC32C();
        ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER_BYTES);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            while (channel.read(buffer) >= 0) {
                sum.update(buffer.flip());
                buffer.clear();
            }
        }
        return sum.getValue();
    }

    /**
     * Where an engine loads it from.
     *
     * @return null where the engine needs no files
     */
    public @Nullable Path directory() {
        return directory;
    }

    private static void delete(@Nullable Path path) throws IOException {
        if (path != null && Files.exists(path)) {
            if (Files.isDirectory(path)) {
                try (DirectoryStream<Path> entries = Files.newDirectoryStream(path)) {
                    for (Path entry : entries) {
                        delete(entry);
                    }
                }
            }
            Files.delete(path);
        }
    }

    /** Deletes it where it was to be there for a while only; engines that have loaded it go on. */
    @Override
    public void close() {
        try {
            delete(own);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot delete " + own + ": " + e.getMessage(), e);
        }
    }

    /** Writes what is left in a buffer. */
    static void writeAll(FileChannel channel, ByteBuffer all) throws IOException {
        while (all.hasRemaining()) {
            channel.write(all);
        }
    }

    /** The two small files beside the weights. */
    private static final class HuggingFaceFiles {
        private HuggingFaceFiles() {}

        static void write(Path directory, LlamaShape shape) throws IOException {
            Files.writeString(directory.resolve("config.json"), config(shape), StandardCharsets.UTF_8);
            Files.writeString(directory.resolve(ByteTokenizer.FILE), ByteTokenizer.json(), StandardCharsets.UTF_8);
        }

        private static String config(LlamaShape shape) {
            return """
                    {
                      "architectures": ["LlamaForCausalLM"],
                      "model_type": "llama",
                      "hidden_act": "silu",
                      "max_position_embeddings": %d,
                      "hidden_size": %d,
                      "intermediate_size": %d,
                      "num_attention_heads": %d,
                      "num_key_value_heads": %d,
                      "num_hidden_layers": %d,
                      "vocab_size": %d,
                      "rms_norm_eps": 1e-05,
                      "rope_theta": 10000.0,
                      "bos_token_id": 0,
                      "eos_token_id": 1,
                      "tie_word_embeddings": false,
                      "torch_dtype": "float32"
                    }
                    """.formatted(shape.context(), shape.width(), shape.hidden(), shape.heads(), shape.kvHeads(),
                    shape.layers(), shape.vocabulary());
        }
    }
}
