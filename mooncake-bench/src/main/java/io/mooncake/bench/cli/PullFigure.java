package io.mooncake.bench.cli;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What was measured at one size.
 *
 * @param size bytes a pull
 * @param outstanding pulls outstanding at a time
 * @param pulls how many were measured
 * @param p50Us median latency, microseconds
 * @param p99Us 99th percentile of latency, microseconds
 * @param gbPerS payload, 1e9 bytes a second
 * @param bytesPerOp heap bytes allocated by all threads of the pulling process, a pull
 * @param clientCpuSPerGb processor seconds of the pulling process for 1e9 bytes; NaN = unknown
 * @param serverCpuSPerGb processor seconds of the serving process for 1e9 bytes; NaN = unknown
 */
record PullFigure(long size, int outstanding, long pulls, double p50Us, double p99Us, double gbPerS, double bytesPerOp,
        double clientCpuSPerGb, double serverCpuSPerGb) {
    private static final Pattern LINE = Pattern
            .compile("size (\\d+) pulls (\\d+) p50_us ([\\d.]+) p99_us ([\\d.]+) GBps ([\\d.]+)"
                    + "(?: outstanding (\\d+) B/op ([\\d.]+) client_cpu ([\\d.]+) server_cpu ([\\d.]+))?.*");

    /** One line for another process to read, beginning as the reference's lines do. */
    String toLine() {
        return String.format(Locale.ROOT,
                "size %d pulls %d p50_us %.2f p99_us %.2f GBps %.6f outstanding %d B/op %.3f client_cpu %.6f server_cpu %.6f",
                size, pulls, p50Us, p99Us, gbPerS, outstanding, bytesPerOp, clientCpuSPerGb, serverCpuSPerGb);
    }

    /**
     * Reads a line of ours or of the reference, which says nothing of processor time and has one pull outstanding.
     *
     * @param line printed by either
     * @return null when it is something else
     */
    static @Nullable PullFigure ofLine(String line) {
        Matcher m = LINE.matcher(line);
        return !m.matches()
                ? null
                : new PullFigure(Long.parseLong(m.group(1)), (int) number(m, 6, 1), Long.parseLong(m.group(2)),
                        number(m, 3, 0), number(m, 4, 0), number(m, 5, 0), number(m, 7, 0), number(m, 8, Double.NaN),
                        number(m, 9, Double.NaN));
    }

    private static double number(Matcher m, int group, double otherwise) {
        String text = m.group(group);
        return text == null ? otherwise : Double.parseDouble(text);
    }

    PullFigure withCpu(double clientSPerGb, double serverSPerGb) {
        return new PullFigure(size, outstanding, pulls, p50Us, p99Us, gbPerS, bytesPerOp, clientSPerGb, serverSPerGb);
    }

    /**
     * Several runs as one: all their bytes over all their time, and the mean of their latencies.
     *
     * @param runs of one size and number outstanding, at least one; none is left out
     * @return what they come to
     */
    static PullFigure sum(List<PullFigure> runs) {
        PullFigure first = runs.getFirst();
        double bytes = runs.stream().mapToDouble(PullFigure::bytes).sum();
        double ns = runs.stream().mapToDouble(run -> run.bytes() / run.gbPerS).sum();
        return new PullFigure(first.size, first.outstanding, runs.stream().mapToLong(PullFigure::pulls).sum(),
                mean(runs, PullFigure::p50Us), mean(runs, PullFigure::p99Us), bytes / ns,
                mean(runs, PullFigure::bytesPerOp), mean(runs, PullFigure::clientCpuSPerGb),
                mean(runs, PullFigure::serverCpuSPerGb));
    }

    private static double mean(List<PullFigure> runs, ToDoubleFunction<PullFigure> what) {
        return runs.stream().mapToDouble(what).average().orElse(Double.NaN);
    }

    private double bytes() {
        return (double) size * pulls;
    }

    Map<String, Object> toJson() {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("size", size);
        json.put("outstanding", outstanding);
        json.put("pulls", pulls);
        json.put("p50Us", p50Us);
        json.put("p99Us", p99Us);
        json.put("gbPerS", gbPerS);
        json.put("bytesPerOp", bytesPerOp);
        json.put("clientCpuSecondsPerGb", clientCpuSPerGb);
        json.put("serverCpuSecondsPerGb", serverCpuSPerGb);
        return json;
    }
}
