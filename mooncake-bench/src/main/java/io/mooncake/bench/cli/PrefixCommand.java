package io.mooncake.bench.cli;

import io.mooncake.bench.cli.PrefixRun.Settings;
import io.mooncake.bench.cli.PrefixRun.Turn;
import io.mooncake.bench.engine.Engine;
import io.mooncake.bench.engine.EngineChoice;
import io.mooncake.bench.engine.FirstToken;
import io.mooncake.bench.engine.ModelFiles;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.ToLongFunction;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** What conversations of several turns need not compute again. */
@Command(name = "prefix", sortOptions = false, mixinStandardHelpOptions = true, versionProvider = Main.Version.class, description = {
        "Conversations that begin alike and go on for several turns, on one node, and on several so that each turn is on the next one: hit ratio"
                + " and time to first token by turn, with what is there already and without.",
        "Exit code 0: logits and tokens are the same; 1: they are not, or the run failed; 2: bad input."})
final class PrefixCommand implements Callable<Integer> {
    @Spec
    @SuppressWarnings("NullAway.Init") // by picocli
    private CommandSpec spec;

    @Mixin
    private EngineOptions engine = new EngineOptions();

    @Option(names = "--nodes", split = ",", defaultValue = "1,2", description = "Numbers of nodes, one after the other (default: ${DEFAULT-VALUE}).")
    private List<Integer> nodes = List.of();

    @Option(names = "--conversations", paramLabel = "N", defaultValue = "5", description = "How many (default: ${DEFAULT-VALUE}).")
    private int conversations;

    @Option(names = "--turns", paramLabel = "N", defaultValue = "4", description = "Of each (default: ${DEFAULT-VALUE}).")
    private int turns;

    @Option(names = "--system", paramLabel = "N", defaultValue = "96", description = "Tokens that all of them begin with (default: ${DEFAULT-VALUE}).")
    private int system;

    @Option(names = "--user", paramLabel = "N", defaultValue = "48", description = "Tokens that each turn adds (default: ${DEFAULT-VALUE}).")
    private int user;

    @Option(names = "--generate", paramLabel = "N", defaultValue = "16", description = "Tokens that answer each turn (default: ${DEFAULT-VALUE}).")
    private int generate;

    @Option(names = "--block-tokens", paramLabel = "N", defaultValue = "16", description = "Tokens a block (default: ${DEFAULT-VALUE}).")
    private int blockTokens;

    @Override
    public Integer call() throws IOException {
        Settings settings = settings();
        PrintWriter out = spec.commandLine().getOut();
        List<Map<String, Object>> figures = new ArrayList<>();
        boolean equal = true;
        float tolerance;
        try (Engine computes = create()) {
            out.println(computes.describe());
            tolerance = computes.tolerance();
            for (int count : nodes) {
                try (PrefixRun run = new PrefixRun(settings, count, computes)) {
                    equal &= all(run, count, tolerance, figures);
                }
            }
        }
        out.printf("%nlogits and tokens: %s%n", equal ? "the same as computed in one go" : "DIFFERENT");
        out.flush();
        Path json = engine.json();
        if (json != null) {
            Map<String, Object> result = toMap();
            result.put("figures", figures);
            result.put("tolerance", (double) tolerance);
            result.put("equal", equal);
            Json.write(json, result);
        }
        return equal ? Main.OK : Main.FAILED;
    }

    private Engine create() {
        EngineChoice choice = engine.choice(blockTokens);
        EngineOptions.checkFits(choice, "--system, and --user and --generate for each of --turns",
                system + (long) turns * (user + generate));
        try (ModelFiles files = ModelFiles.of(choice, engine.models())) {
            return choice.create(files.directory());
        }
    }

    private Settings settings() throws IOException {
        for (int count : nodes) {
            ReplayOptions.within("--nodes", count, 1, 16);
        }
        ReplayOptions.within("--conversations", conversations, 1, 1_000);
        ReplayOptions.within("--turns", turns, 1, 100);
        ReplayOptions.within("--system", system, 0, 10_000);
        ReplayOptions.within("--user", user, 1, 10_000);
        ReplayOptions.within("--generate", generate, 1, 10_000);
        ReplayOptions.within("--block-tokens", blockTokens, 1, 10_000);
        Json.checkWritable(engine.json());
        return new Settings(conversations, turns, system, user, generate, engine.seed());
    }

    /** All turns of all conversations, each conversation's turn after the other's; whether all were right. */
    private boolean all(PrefixRun run, int count, float tolerance, List<Map<String, Object>> figures) {
        PrintWriter out = spec.commandLine().getOut();
        out.printf("%non %d node%s%n%6s %8s %10s %8s %8s %22s %22s%n", count, count == 1 ? "" : "s", "turn", "tokens",
                "hit ratio", "here", "pulled", "first token, ms", "alone, ms");
        boolean equal = true;
        for (int turn = 0; turn < turns; turn++) {
            List<Turn> same = new ArrayList<>();
            for (int conversation = 0; conversation < conversations; conversation++) {
                Turn one = run.turn(conversation, turn);
                equal &= one.alone().sameTokens(one.shared()) && one.alone().distance(one.shared()) <= tolerance;
                same.add(one);
            }
            Figure figure = Figure.of(count, turn + 1, same);
            figures.add(figure.toMap());
            out.printf(Locale.ROOT, "%6d %8d %10.3f %8d %8d %22s %22s%n", figure.turn, figure.tokens, figure.hitRatio(),
                    figure.here, figure.pulled, text(figure.firstMs), text(figure.aloneMs));
            out.flush();
        }
        return equal;
    }

    /** Median, and where a tenth is below and above. */
    private static String text(Quantiles quantiles) {
        return String.format(Locale.ROOT, "%.1f (%.1f..%.1f)", quantiles.median(), quantiles.p10(), quantiles.p90());
    }

    /** The same turn of all conversations; tokens are of the first one's prompt. */
    private record Figure(int nodes, int turn, int tokens, long here, long pulled, long blocks, Quantiles firstMs,
            Quantiles aloneMs) {
        static Figure of(int nodes, int turn, List<Turn> turns) {
            return new Figure(nodes, turn, turns.getFirst().tokens(), sum(turns, FirstToken::here),
                    sum(turns, FirstToken::pulled), sum(turns, FirstToken::blocks),
                    Quantiles.of(turns.stream().mapToDouble(one -> one.firstToken().totalNs() / 1e6)),
                    Quantiles.of(turns.stream().mapToDouble(one -> one.alone().firstToken().totalNs() / 1e6)));
        }

        private static long sum(List<Turn> turns, ToLongFunction<FirstToken> figure) {
            return turns.stream().map(Turn::firstToken).mapToLong(figure).sum();
        }

        double hitRatio() {
            return blocks == 0 ? 0 : (double) (here + pulled) / blocks;
        }

        Map<String, Object> toMap() {
            Map<String, Object> map = new LinkedHashMap<>();
            map.put("nodes", nodes);
            map.put("turn", turn);
            map.put("tokens", tokens);
            map.put("here", here);
            map.put("pulled", pulled);
            map.put("blocks", blocks);
            map.put("hitRatio", hitRatio());
            map.put("firstTokenMs", firstMs.median());
            map.put("aloneMs", aloneMs.median());
            return map;
        }
    }

    private Map<String, Object> toMap() {
        Map<String, Object> map = engine.report("prefix");
        map.put("conversations", conversations);
        map.put("turns", turns);
        map.put("system", system);
        map.put("user", user);
        map.put("generate", generate);
        map.put("blockTokens", blockTokens);
        return map;
    }
}
