package io.mooncake.bench.cli;

import io.mooncake.core.base.ByteSize;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.NoBenchmarksException;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.util.Statistics;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** What one operation costs: runs the JMH benchmarks of {@code io.mooncake.bench.jmh}, each in JVMs of its own. */
@Command(name = "micro", sortOptions = false, mixinStandardHelpOptions = true, versionProvider = Main.Version.class, description = "Measures single operations with JMH: nanoseconds and allocated bytes, with the limit beside each.")
final class MicroCommand implements Callable<Integer> {
    private static final String PACKAGE = "io.mooncake.bench.jmh.";
    private static final int SHORT_ITERATION_MS = 300;
    private static final int FULL_ITERATION_MS = 1000;
    private static final int ITERATIONS = 10;
    private static final int WARM_UPS = 4;
    private static final double MOST_BYTES = 0.5;
    private static final double NO_LIMIT = Double.NaN;

    /** What is measured, what people call it, and what it may cost. */
    private enum Micro {
        // Limits in nanoseconds; NO_LIMIT: for comparison only.
        DIFFERENT_BLOCKS("PinBenchmark.differentBlocks", "acquire + release, 2 threads, different blocks", 80),
        //
        ONE_BLOCK("PinBenchmark.oneBlock", "acquire + release, 2 threads, one block", 200),
        //
        FOUND("LookupBenchmark.found", "lookup in 1,000,000 blocks, there", 200),
        //
        MISS("LookupBenchmark.miss", "lookup in 1,000,000 blocks, not there", 200),
        //
        RUN("LookupBenchmark.run", "acquire + release in 1,000,000 blocks, in runs", NO_LIMIT),
        //
        RANDOM("LookupBenchmark.random", "acquire + release in 1,000,000 blocks, at random", NO_LIMIT),
        //
        SUBMIT("SubmitBenchmark.submit", "submit of a prepared pull, until it is in the engine's queue", 150),
        //
        SLOT("PoolBenchmark.reserveRelease", "reserve + release of a pool slot", NO_LIMIT),
        //
        READ("ReadBenchmark.read", "prepared local read", NO_LIMIT),
        //
        COPY("ReadBenchmark.copy", "MemorySegment.copy", NO_LIMIT),
        //
        SHARED_VIEW("SharedMemoryBenchmark.view", "view of another node's block by shared memory, taken + released",
                1000),
        //
        SHARED_READ("SharedMemoryBenchmark.read", "prepared read of another node's block by shared memory", NO_LIMIT),
        //
        SHARED_COPY("SharedMemoryBenchmark.copy", "MemorySegment.copy from there", NO_LIMIT),
        //
        RDMA_POST("RdmaPostBenchmark.post",
                "RDMA READ posted in a batch of 16 and polled, over a card that costs nothing",
                150);

        private final String benchmark;
        private final String title;
        private final double limitNs;

        Micro(String benchmark, String title, double limitNs) {
            this.benchmark = PACKAGE + benchmark;
            this.title = title;
            this.limitNs = limitNs;
        }

        static Micro of(String benchmark) {
            for (Micro micro : values()) {
                if (micro.benchmark.equals(benchmark)) {
                    return micro;
                }
            }
            throw new IllegalStateException("benchmark " + benchmark + " has no row in the table");
        }
    }

    private record Row(Micro micro, @Nullable String size, Quantiles ns, double bytesPerOp) {
        /** A long operation is not repeated often enough to tell its bytes from those of the measuring itself. */
        boolean isAllocationJudged() {
            return ns.median() < 100_000;
        }

        boolean isMet() {
            return !(ns.median() > micro.limitNs) && !(isAllocationJudged() && bytesPerOp >= MOST_BYTES);
        }

        String title() {
            return size == null ? micro.title : micro.title + ", " + size;
        }
    }

    @Spec
    @SuppressWarnings("NullAway.Init") // by picocli
    private CommandSpec spec;

    @Option(names = "--include", paramLabel = "REGEX", defaultValue = ".*", description = "Only benchmarks whose name has a match, for example Lookup (default: all).")
    private String include = "";

    @Option(names = "--full", description = "Three JVMs and one-second iterations a benchmark instead of one and "
            + SHORT_ITERATION_MS
            + " ms.")
    private boolean full;

    @Option(names = "--iteration-ms", description = "How long an iteration lasts.")
    private @Nullable Integer iterationMs;

    @Option(names = "--small-pages", description = "Without transparent huge pages for the heap, with which look-ups at random in a large table cost half.")
    private boolean smallPages;

    @Option(names = "--json", paramLabel = "FILE", description = "Writes the figures there too.")
    private @Nullable Path json;

    @Override
    public Integer call() throws IOException {
        Json.checkWritable(json);
        PrintWriter out = spec.commandLine().getOut();
        List<Row> rows = rows(run(out));
        out.printf("%n%-58s %14s %8s %9s %9s %9s%n", "", "ns/op, median", "spread", "limit ns", "B/op", "limit");
        for (Row row : rows) {
            out.printf(Locale.ROOT, "%-58s %14.1f %7.1f%% %9s %9.3f %9s  %s%n", row.title(), row.ns().median(),
                    row.ns().spread() * 100,
                    Double.isNaN(row.micro().limitNs) ? "" : String.format(Locale.ROOT, "%.0f", row.micro().limitNs),
                    row.bytesPerOp(),
                    row.isAllocationJudged() ? "< " + MOST_BYTES : "", row.isMet() ? "met" : "MISSED");
        }
        Map<String, Object> result = result(rows);
        out.println("spread = (p90 - p10) / median of the iterations");
        copyRatios(rows, Micro.READ, Micro.COPY).forEach((size, ratio) -> out.printf(Locale.ROOT,
                "a prepared local read of %s takes %.2f times its MemorySegment.copy%n", size, ratio));
        copyRatios(rows, Micro.SHARED_READ, Micro.SHARED_COPY).forEach((size, ratio) -> out.printf(Locale.ROOT,
                "a prepared read of %s by shared memory has %.2f of the speed of its MemorySegment.copy (target 0.9)%n",
                size, 1 / ratio));
        out.flush();
        if (json != null) {
            Json.write(json, result);
        }
        return Main.OK;
    }

    private Collection<RunResult> run(PrintWriter out) {
        int ms = iterationMs != null ? iterationMs : full ? FULL_ITERATION_MS : SHORT_ITERATION_MS;
        if (ms < 1 || ms > 3_600_000) {
            throw new BadInputException("--iteration-ms = " + ms + " must be 1 to 3600000");
        }
        OptionsBuilder options = new OptionsBuilder();
        options.include(checked(include))
                .addProfiler(GCProfiler.class)
                .shouldFailOnError(true)
                .forks(full ? 3 : 1)
                .warmupIterations(WARM_UPS)
                .measurementIterations(ITERATIONS)
                .warmupTime(TimeValue.milliseconds(ms))
                .measurementTime(TimeValue.milliseconds(ms))
                // JMH itself uses memory access that the JDK warns about.
                .jvmArgsPrepend(jvmArgs());
        MicroProgress progress = new MicroProgress(out);
        try {
            return new Runner(options.build(), progress).run();
        } catch (NoBenchmarksException e) {
            throw new BadInputException("--include = '" + include + "' matches no benchmark; leave it out to run all",
                    e);
        } catch (RunnerException e) {
            throw new IllegalStateException("a benchmark failed; its JVM said:\n" + progress.said(), e);
        }
    }

    private static String checked(String regex) {
        try {
            return PACKAGE.replace(".", "\\.") + ".*(?:" + Pattern.compile(regex).pattern() + ")";
        } catch (PatternSyntaxException e) {
            throw new BadInputException("--include = '" + regex + "' is no regular expression: " + e.getDescription(),
                    e);
        }
    }

    private static List<Row> rows(Collection<RunResult> results) {
        List<Row> rows = new ArrayList<>();
        for (RunResult result : results) {
            Statistics ns = result.getPrimaryResult().getStatistics();
            String size = result.getParams().getParam("size");
            rows.add(new Row(Micro.of(result.getParams().getBenchmark()),
                    size == null ? null : ByteSize.format(Long.parseLong(size)),
                    new Quantiles(ns.getPercentile(10), ns.getPercentile(50), ns.getPercentile(90)),
                    bytesPerOp(result)));
        }
        rows.sort((a, b) -> a.micro().compareTo(b.micro()));
        return rows;
    }

    private static double bytesPerOp(RunResult result) {
        for (Map.Entry<String, ? extends Result<?>> entry : secondary(result).entrySet()) {
            if (entry.getKey().endsWith("gc.alloc.rate.norm")) {
                return entry.getValue().getStatistics().getPercentile(50);
            }
        }
        return Double.NaN;
    }

    @SuppressWarnings({"unchecked", "rawtypes"}) // JMH's own raw type
    private static Map<String, ? extends Result<?>> secondary(RunResult result) {
        return (Map) result.getSecondaryResults();
    }

    private static Map<String, Object> result(List<Row> rows) {
        List<Map<String, Object>> all = new ArrayList<>();
        for (Row row : rows) {
            Map<String, Object> one = new LinkedHashMap<>();
            one.put("name", row.title());
            one.put("benchmark", row.micro().benchmark.substring(PACKAGE.length()));
            one.put("nsPerOp", row.ns().median());
            one.put("spread", row.ns().spread());
            one.put("limitNs", row.micro().limitNs);
            one.put("bytesPerOp", row.bytesPerOp());
            one.put("met", row.isMet());
            all.add(one);
        }
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("command", "micro");
        result.put("benchmarks", all);
        result.put("readToCopyRatio", copyRatios(rows, Micro.READ, Micro.COPY));
        result.put("sharedReadToCopyRatio", copyRatios(rows, Micro.SHARED_READ, Micro.SHARED_COPY));
        return result;
    }

    private static Map<String, Double> copyRatios(List<Row> rows, Micro readOf, Micro copyOf) {
        Map<String, Double> ratios = new LinkedHashMap<>();
        for (Row read : rows) {
            for (Row copy : rows) {
                String size = read.size();
                if (size != null && size.equals(copy.size()) && read.micro() == readOf
                        && copy.micro() == copyOf) {
                    ratios.put(size, read.ns().median() / copy.ns().median());
                }
            }
        }
        return ratios;
    }

    private String[] jvmArgs() {
        List<String> args = new ArrayList<>(List.of("--sun-misc-unsafe-memory-access=allow",
                // Nodes warn of small blocks, which here are meant.
                "-Dorg.slf4j.simpleLogger.log.io.mooncake.core.Node=error"));
        if (!smallPages) {
            args.add("-XX:+UseTransparentHugePages");
        }
        return args.toArray(new String[0]);
    }
}
