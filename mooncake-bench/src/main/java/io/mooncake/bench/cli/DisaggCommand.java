package io.mooncake.bench.cli;

import io.mooncake.bench.cli.DisaggRun.By;
import io.mooncake.bench.cli.DisaggRun.Round;
import io.mooncake.bench.cli.DisaggRun.Settings;
import io.mooncake.bench.engine.EngineChoice;
import io.mooncake.bench.engine.EngineChoice.Kind;
import io.mooncake.bench.engine.FirstToken;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.ThreadingMode;
import io.mooncake.core.base.ByteSize;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Prefill in one process, decode in another. */
@Command(name = "disagg", sortOptions = false, mixinStandardHelpOptions = true, versionProvider = Main.Version.class, description = {
        "Prefills prompts in one process and answers them in another one with the blocks of the first, and once more without: time to"
                + " first token, what it is spent on, and whether logits and tokens are the same.",
        "Exit code 0: they are; 1: they are not, or the run failed; 2: bad input."})
final class DisaggCommand implements Callable<Integer> {
    private static final int MAX_TOKENS = 100_000;

    @Spec
    @SuppressWarnings("NullAway.Init") // by picocli
    private CommandSpec spec;

    @Mixin
    private EngineOptions engine = new EngineOptions();

    @Option(names = "--by", defaultValue = "tcp", description = "How blocks come: tcp, shm (copied out of the other process's memory), view (used where they are in"
            + " the other process's memory), rdma, or layers (over TCP straight into the engine's own pages, layer by layer; jlama) (default: ${DEFAULT-VALUE}).")
    private By by = By.TCP;

    @Option(names = "--prompts", paramLabel = "N", defaultValue = "5", description = "Prompts that are measured (default: ${DEFAULT-VALUE}).")
    private int prompts;

    @Option(names = "--warm-up", paramLabel = "N", defaultValue = "1", description = "Prompts before those (default: ${DEFAULT-VALUE}).")
    private int warmUp;

    @Option(names = "--tokens", paramLabel = "N", defaultValue = "500", description = "Of a prompt (default: ${DEFAULT-VALUE}).")
    private int tokens;

    @Option(names = "--prefix", paramLabel = "N", defaultValue = "128", description = "Tokens that all prompts begin with; their blocks are there from the first prompt on (default: ${DEFAULT-VALUE}).")
    private int prefix;

    @Option(names = "--prompt", paramLabel = "TEXT", description = "A prompt, instead of random ones; may be repeated. A token is a byte of it in UTF-8.")
    private List<String> texts = new ArrayList<>();

    @Option(names = "--prompt-file", paramLabel = "FILE", description = "A file that is a prompt, in UTF-8; may be repeated.")
    private List<Path> files = new ArrayList<>();

    @Option(names = "--generate", paramLabel = "N", defaultValue = "8", description = "Tokens that follow each prompt (default: ${DEFAULT-VALUE}).")
    private int generate;

    @Option(names = "--block-tokens", paramLabel = "N", defaultValue = "64", description = "Tokens a block (default: ${DEFAULT-VALUE}).")
    private int blockTokens;

    @Mixin
    private NodeOptions nodes = new NodeOptions();

    @Override
    public Integer call() throws IOException {
        Settings settings = settings();
        PrintWriter out = spec.commandLine().getOut();
        StatusLine status = new StatusLine(spec.commandLine().getErr(), Progress.onTerminal());
        List<Round> rounds = new ArrayList<>();
        float tolerance;
        try (DisaggRun run = new DisaggRun(settings, status)) {
            tolerance = run.decode().tolerance();
            String way = run.way();
            status.clear();
            out.printf("%s%n%s, %d tokens a block%n%s%n%n", run.decode().engine(), promptsInWords(), blockTokens, way);
            out.printf("%10s %8s %8s %8s %10s %14s %14s %12s  %s%n", "prompt", "here", "pulled", "computed", "bytes",
                    "first, ms", "alone, ms", "library, ms", "logits");
            out.flush();
            for (int i = 0; i < warmUp + prompts; i++) {
                Round round = run.round(i < warmUp || texts.isEmpty()
                        ? run.prompt(i)
                        : run.decode().encode(texts.get(i - warmUp)));
                status.clear();
                print(out, i < warmUp ? "warm-up" : Integer.toString(i + 1 - warmUp), round, tolerance);
                if (i >= warmUp) {
                    rounds.add(round);
                }
                out.flush();
            }
        }
        DisaggFigures figures = DisaggFigures.of(rounds, tolerance);
        figures.print(out);
        Path json = engine.json();
        if (json != null) {
            Map<String, Object> result = toMap();
            result.putAll(figures.toMap());
            Json.write(json, result);
        }
        return figures.equal() ? Main.OK : Main.FAILED;
    }

    private String promptsInWords() {
        return texts.isEmpty()
                ? String.format(Locale.ROOT, "%,d tokens a prompt, %,d of them the same in all prompts", tokens, prefix)
                : prompts + (prompts == 1 ? " prompt" : " prompts") + " of up to " + tokens + " bytes";
    }

    /** Where texts are given, they say how many prompts there are, and how long. */
    private void takeTexts() throws IOException {
        for (Path file : files) {
            try {
                texts.add(Files.readString(file));
            } catch (IOException e) {
                throw new BadInputException(
                        "--prompt-file = " + file + " must be a file of text in UTF-8 that can be read");
            }
        }
        if (texts.isEmpty()) {
            return;
        }
        for (String random : List.of("--prompts", "--tokens", "--prefix")) {
            if (spec.commandLine().getParseResult().hasMatchedOption(random)) {
                throw new BadInputException(random + " is of random prompts: leave it out where there are texts");
            }
        }
        prompts = texts.size();
        tokens = 0;
        prefix = 0;
        for (String text : texts) {
            tokens = Math.max(tokens, text.getBytes(StandardCharsets.UTF_8).length);
            if (text.isEmpty()) {
                throw new BadInputException("an empty text is no prompt: it needs at least one token");
            }
        }
        ReplayOptions.within("the longest prompt's bytes", tokens, 1, MAX_TOKENS);
    }

    private Settings settings() throws IOException {
        takeTexts();
        ReplayOptions.within("--prompts", prompts, 1, 10_000);
        ReplayOptions.within("--warm-up", warmUp, 0, 10_000);
        ReplayOptions.within("--tokens", tokens, 1, MAX_TOKENS);
        ReplayOptions.within("--prefix", prefix, 0, tokens);
        ReplayOptions.within("--generate", generate, 1, MAX_TOKENS);
        ReplayOptions.within("--block-tokens", blockTokens, 1, MAX_TOKENS);
        if (blockTokens >= tokens) {
            throw new BadInputException("--block-tokens = " + blockTokens + ": prompts of " + tokens
                    + " tokens have no block before their last token, so none could come from the other process; use less,"
                    + " or longer prompts");
        }
        if (by == By.LAYERS && engine.kind() != Kind.JLAMA) {
            throw new BadInputException("--by = layers: engine " + EngineOptions.name(engine.kind())
                    + " has no pages that others may write into; use --engine jlama");
        }
        NodeSettings both = nodes.settings(ThreadingMode.SHARED).serving();
        if (by == By.LAYERS && both.applyTo(NodeConfig.builder("disagg")).build().pool().checksums()) {
            throw new BadInputException("--by = layers: a piece of a layer is compared with no checksum, so with"
                    + " pool.checksums = on blocks come whole; use --by tcp, or leave pool.checksums off");
        }
        Json.checkWritable(engine.json());
        EngineChoice choice = engine.choice(blockTokens);
        EngineOptions.checkFits(choice, "--tokens = " + tokens + " and --generate = " + generate,
                (long) tokens + generate);
        if (!texts.isEmpty() && choice.vocabulary() < 1 << Byte.SIZE) {
            throw new BadInputException("a text is no prompt of engine " + EngineOptions.name(choice.kind())
                    + " with so small a model, which has only " + choice.vocabulary() + " tokens; use --model small");
        }
        return new Settings(choice, engine.models(), by,
                both, prompts + warmUp, tokens, prefix, generate,
                engine.seed());
    }

    private static void print(PrintWriter out, String name, Round round, float tolerance) {
        FirstToken first = round.shared().firstToken();
        out.printf(Locale.ROOT, "%10s %8d %8d %8d %10s %14.2f %14.2f %12.2f  %s%n", name, first.here(), first.pulled(),
                first.computed(), ByteSize.rounded((double) first.pulledBytes()), first.totalNs() / 1e6,
                round.alone().firstToken().totalNs() / 1e6, first.storeNs() / 1e6, verdict(round, tolerance));
    }

    private static String verdict(Round round, float tolerance) {
        if (!round.sameTokens()) {
            return "OTHER TOKENS";
        }
        float distance = round.distance();
        return distance == 0
                ? "the same bits"
                : (distance <= tolerance ? "within " : "TOO FAR APART: ") + distance;
    }

    private Map<String, Object> toMap() {
        Map<String, Object> map = engine.report("disagg");
        map.put("by", EngineOptions.name(by));
        map.put("prompts", prompts);
        map.put("tokens", tokens);
        map.put("prefix", prefix);
        map.put("generate", generate);
        map.put("blockTokens", blockTokens);
        return map;
    }
}
