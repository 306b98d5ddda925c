package io.mooncake.bench.cli;

import io.mooncake.bench.cli.ClusterRun.Round;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Kills, freezes, restarts and cuts off processes of a cluster under verified load. */
@Command(name = "cluster", mixinStandardHelpOptions = true, versionProvider = Main.Version.class, sortOptions = false, description = {
        "Runs processes that write blocks and read each other's all the while, joined by JGroups, every byte verified;"
                + " and kills, freezes, restarts them on the same ports, and cuts them off from each other, at random.",
        "Violations: a wrong byte or version; a fault that is seen too late; a process that loses or suspects one to which"
                + " nothing was done; a transfer that does not end in time; a cluster that does not become whole again.",
        "Partitions, delays and losses take a network namespace for each process, hence root, ip and tc.",
        "Exit code 0: no violation; 1: violations, or the run failed; 2: bad input."})
final class ClusterCommand implements Callable<Integer> {
    /** Where processes run. */
    private enum Where {
        AUTO, LOOPBACK, NAMESPACES
    }

    @Spec
    @SuppressWarnings("NullAway.Init") // by picocli
    private CommandSpec spec;

    @Option(names = "--processes", paramLabel = "N", defaultValue = "5", description = "How many (default: ${DEFAULT-VALUE}).")
    private int processes;

    @Option(names = "--rounds", paramLabel = "N", defaultValue = "30", description = "A fault each (default: ${DEFAULT-VALUE}).")
    private int rounds;

    @Option(names = "--faults", paramLabel = "NAME", split = ",", description = "Which: ${COMPLETION-CANDIDATES}; default: the first four, as far as the network allows.")
    private @Nullable List<Fault> faults;

    @Option(names = "--seed", paramLabel = "N", defaultValue = "1", description = "What faults and victims are drawn from (default: ${DEFAULT-VALUE}).")
    private long seed;

    @Option(names = "--full-load", paramLabel = "TIME", converter = DurationConverter.class, description = "Before the rounds, for so long, such as 10min: everybody reads as fast as can be, and nothing is done to anybody.")
    private @Nullable Duration fullLoad;

    @Option(names = "--hosts", paramLabel = "WHERE", defaultValue = "auto", description = "namespaces, loopback, or auto: namespaces where the kernel allows them (default: ${DEFAULT-VALUE}).")
    private Where where = Where.AUTO;

    @Option(names = "--kill-limit", paramLabel = "TIME", defaultValue = "100ms", converter = DurationConverter.class, description = "Within which all others must see broken connections (default: ${DEFAULT-VALUE}).")
    private Duration killLimit = Duration.ZERO;

    @Option(names = "--freeze-limit", paramLabel = "TIME", defaultValue = "5s", converter = DurationConverter.class, description = "Within which all others must know that one stands still (default: ${DEFAULT-VALUE}).")
    private Duration freezeLimit = Duration.ZERO;

    @Option(names = "--patience", paramLabel = "TIME", defaultValue = "60s", converter = DurationConverter.class, description = "How long anything may take before it is given up (default: ${DEFAULT-VALUE}).")
    private Duration patience = Duration.ZERO;

    @Option(names = "--set", paramLabel = "KEY=VALUE", description = "Any other setting of the nodes by its name, such as cluster.heartbeat=2s; may be repeated.")
    private Map<String, String> settings = new LinkedHashMap<>();

    @Option(names = "--json", paramLabel = "FILE", description = "Also writes the results as JSON.")
    private @Nullable Path json;

    @Override
    public Integer call() throws IOException {
        ReplayOptions.within("--processes", processes, 2, 32);
        ReplayOptions.within("--rounds", rounds, 0, 1_000_000);
        Json.checkWritable(json);
        try (Hosts hosts = hosts()) {
            return run(hosts);
        }
    }

    private Hosts hosts() throws IOException {
        if (where == Where.LOOPBACK) {
            return new OneHost(processes);
        }
        try {
            return new Namespaces(processes);
        } catch (IOException e) {
            if (where == Where.NAMESPACES) {
                throw new BadInputException("--hosts = namespaces: this host refuses them to this user: "
                        + e.getMessage(), e);
            }
            spec.commandLine().getErr().println("no network namespaces, so there are no partitions: " + e.getMessage());
            return new OneHost(processes);
        }
    }

    private List<Fault> faults(Hosts hosts) {
        List<Fault> asked = faults;
        if (asked == null) {
            return Arrays.stream(Fault.values())
                    .filter(fault -> fault.compareTo(Fault.PARTITION) <= 0 && fault.canBeDoneAt(hosts))
                    .toList();
        }
        for (Fault fault : asked) {
            if (!fault.canBeDoneAt(hosts)) {
                throw new BadInputException("--faults = " + fault + " can't be done to processes " + hosts.describe()
                        + ": " + (fault == Fault.PARTITION
                                ? "that takes --hosts namespaces"
                                : "that takes --hosts namespaces and a kernel with sch_netem"));
            }
        }
        return asked;
    }

    private int run(Hosts hosts) throws IOException {
        PrintWriter out = spec.commandLine().getOut();
        PrintWriter err = spec.commandLine().getErr();
        ClusterRun.Settings how = new ClusterRun.Settings(processes, faults(hosts), seed, killLimit,
                freezeLimit, patience, settings);
        List<Round> done = new ArrayList<>();
        try (ClusterRun run = new ClusterRun(how, hosts, err)) {
            long startNs = System.nanoTime();
            long readsBefore = run.watch().reads();
            double loadS = 0;
            long loadReads = 0;
            if (fullLoad != null) {
                run.fullLoad(fullLoad);
                loadS = (System.nanoTime() - startNs) / 1e9;
                loadReads = run.watch().reads() - readsBefore;
                err.printf(Locale.ROOT, "%.0f s of full load: %,d reads, %d violations%n", loadS, loadReads,
                        run.watch().violations().size());
            }
            for (int number = 1; number <= rounds; number++) {
                Round round = run.round();
                if (round == null) {
                    err.printf("round %d of %d was the last one: the cluster did not become whole again%n", number,
                            rounds);
                    break;
                }
                done.add(round);
                err.printf("round %d of %d: %s%n", number, rounds, text(round));
                err.flush();
            }
            double seconds = (System.nanoTime() - startNs) / 1e9;
            List<String> violations = run.watch().violations();
            report(out, hosts, done, run.watch(), seconds);
            if (json != null) {
                Map<String, Object> map = new LinkedHashMap<>();
                map.put("command", "cluster");
                map.put("processes", processes);
                map.put("hosts", hosts.describe());
                map.put("seed", seed);
                map.put("seconds", seconds);
                map.put("reads", run.watch().reads());
                map.put("bytes", run.watch().bytes());
                map.put("writes", run.watch().writes());
                map.put("fullLoadSeconds", loadS);
                map.put("fullLoadReads", loadReads);
                map.put("rounds", done.stream().map(ClusterCommand::map).toList());
                map.put("violations", violations);
                Json.write(json, map);
            }
            return violations.isEmpty() && done.size() == rounds ? Main.OK : Main.FAILED;
        }
    }

    private static String text(Round round) {
        StringBuilder text = new StringBuilder(round.fault() + " " + round.to());
        if (!Double.isNaN(round.broken())) {
            text.append(String.format(Locale.ROOT, ", broken connections seen by all after %.0f ms", round.broken()));
        }
        if (!Double.isNaN(round.dead())) {
            text.append(String.format(Locale.ROOT, ", dead to the first after %.0f ms, to all after %.0f ms",
                    round.firstDead(), round.dead()));
        }
        return text + String.format(Locale.ROOT, ", whole again after %.0f ms", round.back());
    }

    private static Map<String, Object> map(Round round) {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("fault", round.fault());
        map.put("to", round.to());
        map.put("brokenMs", round.broken());
        map.put("firstDeadMs", round.firstDead());
        map.put("deadMs", round.dead());
        map.put("backMs", round.back());
        return map;
    }

    private void report(PrintWriter out, Hosts hosts, List<Round> done, ClusterWatch watch, double seconds) {
        out.printf(Locale.ROOT,
                "%d processes %s, %d rounds, seed %d, %.0f s: %,d reads of %d KiB verified (%.2f GB/s), %,d writes%n%n",
                processes, hosts.describe(), done.size(), seed, seconds, watch.reads(), ClusterPeer.BLOCK_BYTES >> 10,
                watch.bytes() / 1e9 / seconds, watch.writes());
        out.printf("  %-10s %6s %14s %14s %14s %14s %14s%n", "ms", "rounds", "broken, last", "dead, first",
                "dead, last", "whole, median", "whole, last");
        for (Fault fault : Fault.values()) {
            List<Round> rounds = done.stream().filter(round -> round.fault() == fault).toList();
            if (!rounds.isEmpty()) {
                out.printf("  %-10s %6d %14s %14s %14s %14s %14s%n", fault.toString().toLowerCase(Locale.ROOT),
                        rounds.size(), most(rounds, Round::broken), least(rounds, Round::firstDead),
                        most(rounds, Round::dead), median(rounds, Round::back), most(rounds, Round::back));
            }
        }
        out.printf("%n  violations %d%n", watch.violations().size());
        watch.violations().forEach(violation -> out.println("    " + violation));
        out.flush();
    }

    private static String most(List<Round> rounds, ToDoubleFunction<Round> what) {
        return whole(rounds.stream().mapToDouble(what).filter(ms -> !Double.isNaN(ms)).max().orElse(Double.NaN));
    }

    private static String least(List<Round> rounds, ToDoubleFunction<Round> what) {
        return whole(rounds.stream().mapToDouble(what).filter(ms -> !Double.isNaN(ms)).min().orElse(Double.NaN));
    }

    private static String median(List<Round> rounds, ToDoubleFunction<Round> what) {
        return whole(Quantiles.of(rounds.stream().mapToDouble(what)).median());
    }

    private static String whole(double ms) {
        return Double.isNaN(ms) ? "-" : String.format(Locale.ROOT, "%.0f", ms);
    }
}
