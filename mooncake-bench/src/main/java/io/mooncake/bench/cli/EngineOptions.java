package io.mooncake.bench.cli;

import io.mooncake.bench.engine.EngineChoice;
import io.mooncake.bench.engine.EngineChoice.Kind;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options by which commands choose an inference engine, and where they write what they found. */
final class EngineOptions {
    @Option(names = "--engine", defaultValue = "mini", description = "Which computes: mini, jlama, llamacpp (default: ${DEFAULT-VALUE}).")
    private Kind kind = Kind.MINI;

    @Option(names = "--model", defaultValue = "small", description = "How large: tiny, small (default: ${DEFAULT-VALUE}).")
    private EngineChoice.Model model = EngineChoice.Model.SMALL;

    @Option(names = "--model-dir", paramLabel = "DIR", description = "Where the model's files are written, if they are not there yet, and stay; jlama and llamacpp (default: a temporary"
            + " directory).")
    private @Nullable Path models;

    @Option(names = "--seed", paramLabel = "N", defaultValue = "1", description = "Of weights and prompts (default: ${DEFAULT-VALUE}).")
    private long seed;

    @Option(names = "--json", paramLabel = "FILE", description = "Writes the figures there too.")
    private @Nullable Path json;

    Kind kind() {
        return kind;
    }

    long seed() {
        return seed;
    }

    /** Where the figures are written to; null = nowhere. */
    @Nullable
    Path json() {
        return json;
    }

    /**
     * The engine, of blocks of so many tokens.
     *
     * @throws BadInputException where there is none on this machine
     */
    EngineChoice choice(int blockTokens) {
        EngineChoice choice = new EngineChoice(kind, model, blockTokens, seed);
        String failure = choice.failure();
        if (failure != null) {
            throw new BadInputException("--engine = " + name(kind) + ": " + failure);
        }
        if (models != null && !choice.hasFiles()) {
            throw new BadInputException("--model-dir = " + models + ": engine " + name(kind)
                    + " has no files; leave it out, or use --engine jlama or llamacpp");
        }
        return choice;
    }

    /** Where models stay; null = nowhere. */
    @Nullable
    Path models() {
        return models;
    }

    /** Refuses requests that are longer than the engine takes. */
    static void checkFits(EngineChoice choice, String options, long tokens) {
        if (tokens > choice.context()) {
            throw new BadInputException(options + " make " + tokens + " tokens, more than the " + choice.context()
                    + " that a request of engine " + name(choice.kind()) + " may have; use less");
        }
    }

    static String name(Enum<?> choice) {
        return choice.name().toLowerCase(Locale.ROOT);
    }

    /** The report of a command: what was chosen, for more to be added. */
    Map<String, Object> report(String command) {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("command", command);
        map.put("engine", name(kind));
        map.put("model", name(model));
        map.put("seed", seed);
        return map;
    }
}
