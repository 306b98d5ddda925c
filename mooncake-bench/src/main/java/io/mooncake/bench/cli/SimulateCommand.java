package io.mooncake.bench.cli;

import io.mooncake.core.sim.Simulator;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Runs the deterministic simulator: any number of seeds, or one of them again, told line by line. */
@Command(name = "simulate", sortOptions = false, mixinStandardHelpOptions = true, versionProvider = Main.Version.class, description = "Simulates clusters in virtual time, a seed each, and checks the eight invariants after every step.")
final class SimulateCommand implements Callable<Integer> {
    /** A run of so many seeds must meet everything often. */
    private static final long MANY_SEEDS = 2_000;
    private static final long LEAST = 100;
    private static final long REWRITE_NS = TimeUnit.MILLISECONDS.toNanos(200);
    private static final long LINE_NS = TimeUnit.SECONDS.toNanos(5);

    @Spec
    @SuppressWarnings("NullAway.Init") // by picocli
    private CommandSpec spec;

    @Option(names = "--seeds", defaultValue = "2000", description = "How many (default: ${DEFAULT-VALUE}).")
    private long seeds;

    @Option(names = "--from", defaultValue = "1", description = "The first one (default: ${DEFAULT-VALUE}).")
    private long from;

    @Option(names = "--transfers", defaultValue = "400", description = "Of each seed at least (default: ${DEFAULT-VALUE}).")
    private int transfers;

    @Option(names = "--threads", defaultValue = "0", description = "Seeds at a time; 0 = one a core (default: ${DEFAULT-VALUE}).")
    private int threads;

    @Option(names = "--replay", paramLabel = "SEED", description = "Runs this one alone.")
    private @Nullable Long replay;

    @Option(names = "--trace", description = "With --replay: tells everything that happens.")
    private boolean trace;

    @Option(names = "--json", paramLabel = "FILE", description = "Writes the figures there too.")
    private @Nullable Path json;

    private long startNs;
    private long shownNs;

    @Override
    public Integer call() throws IOException {
        check();
        startNs = System.nanoTime();
        shownNs = startNs;
        Long one = replay;
        return one == null ? simulate() : replay(one);
    }

    private void check() {
        if (seeds < 1 || transfers < 1 || threads < 0) {
            throw new BadInputException("--seeds = " + seeds + " and --transfers = " + transfers
                    + " must be at least 1, --threads = " + threads + " at least 0");
        }
        if (trace && replay == null) {
            throw new BadInputException("--trace tells of one seed: name it with --replay");
        }
        Json.checkWritable(json);
    }

    private int replay(long seed) throws IOException {
        PrintWriter out = spec.commandLine().getOut();
        Simulator.Result result = new Simulator(transfers).run(seed, trace ? out::println : null);
        out.print(result.tally());
        write(1, result.tally().counts(), failures(List.of(result)));
        if (result.failure() == null) {
            out.printf("seed %d: all invariants hold%n", seed);
            return Main.OK;
        }
        tell(result);
        return Main.FAILED;
    }

    private int simulate() throws IOException {
        PrintWriter out = spec.commandLine().getOut();
        int workers = threads == 0 ? Runtime.getRuntime().availableProcessors() : threads;
        Simulator.Summary summary = new Simulator(transfers).runAll(from, seeds, workers, this::progress);
        clear();
        double seconds = (System.nanoTime() - startNs) / 1e9;
        out.print(summary.tally());
        out.printf(Locale.ROOT, "%,d seeds from %d in %.1f s, %.1f ms each on %d threads%n", summary.seeds(), from,
                seconds, seconds * 1e3 / summary.seeds(), workers);
        write(summary.seeds(), summary.tally().counts(), failures(summary.failures()));
        summary.failures().forEach(this::tell);
        List<String> rare = seeds < MANY_SEEDS ? List.of() : summary.tally().below(LEAST);
        if (summary.failures().isEmpty() && !rare.isEmpty()) {
            out.printf("met less than %d times: %s%n", LEAST, String.join(", ", rare));
        }
        out.flush();
        return summary.failures().isEmpty() && rare.isEmpty() ? Main.OK : Main.FAILED;
    }

    private void tell(Simulator.Result failed) {
        PrintWriter out = spec.commandLine().getOut();
        out.printf("seed %d: %s%n  once more, told: simulate --replay %d --trace%s%n", failed.seed(), failed.failure(),
                failed.seed(), transfers == Simulator.TRANSFERS ? "" : " --transfers " + transfers);
        out.flush();
    }

    private static Map<String, Object> failures(List<Simulator.Result> results) {
        Map<String, Object> failures = new LinkedHashMap<>();
        results.stream()
                .filter(result -> result.failure() != null)
                .forEach(result -> failures.put(Long.toString(result.seed()), String.valueOf(result.failure())));
        return failures;
    }

    private void write(long run, Map<String, Long> counts, Map<String, Object> failures) throws IOException {
        if (json != null) {
            Map<String, Object> result = new LinkedHashMap<>();
            result.put("command", "simulate");
            result.put("from", replay == null ? from : replay);
            result.put("seeds", run);
            result.put("seconds", (System.nanoTime() - startNs) / 1e9);
            result.put("counts", counts);
            result.put("failures", failures);
            Json.write(json, result);
        }
    }

    // ---- progress

    private synchronized void progress(long over) {
        long now = System.nanoTime();
        boolean terminal = Progress.onTerminal();
        if (now - shownNs < (terminal ? REWRITE_NS : LINE_NS)) {
            return;
        }
        shownNs = now;
        double seconds = (now - startNs) / 1e9;
        PrintWriter err = spec.commandLine().getErr();
        err.printf(Locale.ROOT, "%s%,d of %,d seeds (%d %%), %.1f/s, %.0f s left%s", terminal ? "\r" : "", over, seeds,
                100 * over / seeds, over / seconds, seconds / over * (seeds - over), terminal ? "   " : "\n");
        err.flush();
    }

    private void clear() {
        if (Progress.onTerminal()) {
            spec.commandLine().getErr().println();
        }
    }
}
