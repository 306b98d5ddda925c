package io.mooncake.bench.cli;

import com.sun.management.HotSpotDiagnosticMXBean;
import io.mooncake.bench.cli.RegistryScale.Cost;
import java.io.IOException;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** What a registry of many facts costs. */
@Command(name = "registry", mixinStandardHelpOptions = true, versionProvider = Main.Version.class, sortOptions = false, description = {
        "Measures the registry with many facts of many nodes, in one process and without a network: bytes a fact, look-up,"
                + " announcing, taking in, joining, forgetting, in processor time; and the sizes of messages.",
        "Then starts fewer nodes, joined by JGroups on loopback, and measures how soon all know what one of them writes.",
        "Exit code 0: the tables agree and the limits are met; 1: they are not; 2: bad input."})
final class RegistryCommand implements Callable<Integer> {
    private static final double MOST_BYTES = 200;
    private static final double MOST_NS = 200;
    private static final int SINGLE_BLOCKS = 500;

    @Spec
    @SuppressWarnings("NullAway.Init") // by picocli
    private CommandSpec spec;

    @Option(names = "--nodes", paramLabel = "N", defaultValue = "64", description = "That have blocks (default: ${DEFAULT-VALUE}).")
    private int nodes;

    @Option(names = "--facts", paramLabel = "N", defaultValue = "1000000", description = "Blocks of all nodes together (default: ${DEFAULT-VALUE}).")
    private int facts;

    @Option(names = "--joined", paramLabel = "N", defaultValue = "8", description = "Nodes that JGroups joins (default: ${DEFAULT-VALUE}; 0: none).")
    private int joined;

    @Option(names = "--joined-facts", paramLabel = "N", defaultValue = "200000", description = "Blocks of these together (default: ${DEFAULT-VALUE}).")
    private int joinedFacts;

    @Option(names = "--json", paramLabel = "FILE", description = "Also writes the results as JSON.")
    private @Nullable Path json;

    private final Map<String, Object> results = new LinkedHashMap<>();

    @Override
    public Integer call() throws IOException {
        ReplayOptions.within("--nodes", nodes, 1, 1_000);
        ReplayOptions.within("--facts", facts, nodes, 10_000_000);
        ReplayOptions.within("--joined", joined, 0, 64);
        ReplayOptions.within("--joined-facts", joinedFacts, joined, 10_000_000);
        Json.checkWritable(json);
        PrintWriter out = spec.commandLine().getOut();
        RegistryScale scale = new RegistryScale(nodes, facts);
        results.put("command", "registry");
        results.put("nodes", nodes);
        results.put("facts", scale.facts());
        boolean hugePages = Boolean.parseBoolean(
                ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class)
                        .getVMOption("UseTransparentHugePages")
                        .getValue());
        results.put("hugePages", hugePages);
        out.printf(Locale.ROOT, "%,d facts of %d nodes, in one process; heap on %s%n%n", scale.facts(), nodes, hugePages
                ? "transparent huge pages"
                : "pages of 4 KiB, where look-ups cost more: run java with -XX:+UseTransparentHugePages");

        cost(out, "announced and encoded by the owners", "announce", scale.announce());
        long before = MemoryUse.now().heap();
        cost(out, "joined: asked, encoded, taken in whole", "join", scale.join());
        double bytesEach = (double) (MemoryUse.now().heap() - before) / scale.facts();
        cost(out, "replaced: taken in as deltas", "change", scale.change(Math.min(scale.facts(), 200_000)));
        out.printf("  %-42s %,12d bytes%n", "said when nothing has changed", scale.beatBytes());
        results.put("beatBytes", scale.beatBytes());
        double[] means = scale.lookups();
        double lookup = means[means.length / 2];
        long differences = scale.differences();
        double forgetMs = scale.forgetNs() / 1e6;
        row(out, "heap of the joiner, bytes a fact", "heapBytesPerFact", bytesEach, MOST_BYTES);
        row(out, "look-up at random, ns", "lookupNs", lookup, MOST_NS);
        row(out, "one node's facts forgotten, ms", "forgetMs", forgetMs, Double.NaN);
        row(out, "blocks known otherwise than by their owner", "differences", (double) differences, 0);
        out.printf(Locale.ROOT, "%n  spread of the look-up %.1f to %.1f ns over %d rounds%n", means[0],
                means[means.length - 1], means.length);
        out.flush();
        results.put("lookupNsRounds", Arrays.stream(means).boxed().toList());
        if (joined > 0) {
            differences += converge(out);
        }
        if (json != null) {
            Json.write(json, results);
        }
        return bytesEach <= MOST_BYTES && lookup <= MOST_NS && differences == 0 ? Main.OK : Main.FAILED;
    }

    /** How many blocks were known otherwise than by their owner. */
    private long converge(PrintWriter out) {
        try (RegistryConvergence nodes = new RegistryConvergence(joined, joinedFacts, SINGLE_BLOCKS)) {
            out.printf(Locale.ROOT, "%n%,d nodes of this process, joined by JGroups on loopback%n%n", joined);
            out.flush();
            double seconds = nodes.writeAll() / 1e9;
            row(out, "written until everybody knew all, blocks/s", "joinedBlocksPerSecond", nodes.facts() / seconds,
                    Double.NaN);
            double[] single = new double[SINGLE_BLOCKS];
            for (int i = 0; i < SINGLE_BLOCKS; i++) {
                single[i] = nodes.writeOne(i % joined) / 1e6;
            }
            Arrays.sort(single);
            row(out, "one written until everybody knew, ms, p50", "joinedMsP50", single[SINGLE_BLOCKS / 2],
                    Double.NaN);
            row(out, "the same, ms, p99", "joinedMsP99", single[SINGLE_BLOCKS * 99 / 100], Double.NaN);
            row(out, "one more node started until it knew all, ms", "joinedStartMs", nodes.join() / 1e6, Double.NaN);
            long differences = nodes.differences();
            row(out, "blocks known to it otherwise", "joinedDifferences", (double) differences, 0);
            out.flush();
            return differences;
        }
    }

    private void cost(PrintWriter out, String title, String key, Cost cost) {
        out.printf(Locale.ROOT, "  %-42s %,12.0f changes/s, %.3f s, %,d messages, %.1f bytes a change%n", title,
                cost.perSecond(), cost.ns() / 1e9, cost.messages(), cost.bytesEach());
        out.flush();
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("changes", cost.changes());
        map.put("seconds", cost.ns() / 1e9);
        map.put("changesPerSecond", cost.perSecond());
        map.put("messages", cost.messages());
        map.put("bytes", cost.bytes());
        map.put("bytesPerChange", cost.bytesEach());
        results.put(key, map);
    }

    private void row(PrintWriter out, String title, String key, double value, double limit) {
        String verdict = Double.isNaN(limit)
                ? ""
                : String.format(Locale.ROOT, "  limit %.0f  %s", limit, value <= limit ? "met" : "MISSED");
        out.printf(Locale.ROOT, "  %-42s %,12.1f%s%n", title, value, verdict);
        results.put(key, value);
    }
}
