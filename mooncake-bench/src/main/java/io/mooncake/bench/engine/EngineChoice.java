package io.mooncake.bench.engine;

import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Which engine, and how large. Immutable.
 *
 * @param kind whose
 * @param model how large
 * @param blockTokens tokens a block
 * @param seed of the weights
 */
public record EngineChoice(Kind kind, Model model, int blockTokens, long seed) {
    /** The vector module, and not Jlama's own native products, which leave the last rows of a batch unset. */
    static final List<String> JLAMA_FLAGS = List.of("--add-modules=jdk.incubator.vector",
            "-Djlama.force_panama_tensor_operations=true", "--sun-misc-unsafe-memory-access=allow");

    /** Whose engine. */
    public enum Kind {
        /** {@link MiniEngine}. */
        MINI,
        /** {@link JlamaEngine}. */
        JLAMA,
        /** {@link LlamaCppEngine}. */
        LLAMACPP
    }

    /** How large a model. */
    public enum Model {
        /** For tests. */
        TINY,
        /** For demonstrations. */
        SMALL
    }

    /**
     * Why it can't be made on this machine, by a JVM with its {@link #jvmFlags}.
     *
     * @return one sentence; null where it can
     */
    public @Nullable String failure() {
        return kind == Kind.LLAMACPP ? LlamaCppEngine.failure() : null;
    }

    /**
     * Whether it loads its model from {@link ModelFiles}.
     *
     * @return false where it makes its weights itself
     */
    public boolean hasFiles() {
        return kind != Kind.MINI;
    }

    /**
     * Makes it, with a model of its own.
     *
     * @return to be closed
     */
    public Engine create() {
        try (ModelFiles files = ModelFiles.of(this, null)) {
            return create(files.directory());
        }
    }

    /**
     * Makes it.
     *
     * @param directory that has its model's files, which may be deleted afterwards; null where it {@linkplain #hasFiles() has none}
     * @return to be closed
     */
    public Engine create(@Nullable Path directory) {
        return switch (kind) {
            case MINI -> MiniEngine.of(model, seed, blockTokens);
            case JLAMA -> JlamaEngine.of(this, Objects.requireNonNull(directory));
            case LLAMACPP -> LlamaCppEngine.of(this, Objects.requireNonNull(directory));
        };
    }

    /**
     * How many tokens a request may have, the answer included.
     *
     * @return at least one
     */
    public int context() {
        return hasFiles() ? LlamaShape.of(model).context() : Integer.MAX_VALUE;
    }

    /**
     * How many tokens there are, so that prompts can be made where the engine is not.
     *
     * @return that every token of a prompt must be less than
     */
    public int vocabulary() {
        return switch (kind) {
            case MINI -> MiniEngine.vocabulary(model);
            case JLAMA, LLAMACPP -> LlamaShape.of(model).vocabulary();
        };
    }

    /**
     * What a JVM needs to make it.
     *
     * @return for its command line
     */
    public List<String> jvmFlags() {
        return switch (kind) {
            case MINI -> List.of();
            case JLAMA -> JLAMA_FLAGS;
            case LLAMACPP -> List.of("--enable-native-access=ALL-UNNAMED");
        };
    }

    /**
     * For the command line of another process.
     *
     * @return what {@link #ofText} reads
     */
    public String toText() {
        return (kind + "," + model + "," + blockTokens + "," + seed).toLowerCase(Locale.ROOT);
    }

    /**
     * What {@link #toText} wrote.
     *
     * @param text as it wrote it
     * @return the same choice
     */
    public static EngineChoice ofText(String text) {
        List<String> words = List.of(text.toUpperCase(Locale.ROOT).split(",", -1));
        return new EngineChoice(Kind.valueOf(words.get(0)), Model.valueOf(words.get(1)), Integer.parseInt(words.get(2)),
                Long.parseLong(words.get(3)));
    }
}
