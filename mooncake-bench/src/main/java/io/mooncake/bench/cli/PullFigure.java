package io.mooncake.bench.cli;

import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
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
 * @param clientCpuSPerGb processor seconds of the pulling process for 1e9 bytes
 * @param serverCpuSPerGb processor seconds of the serving process for 1e9 bytes
 */
record PullFigure(long size, int outstanding, long pulls, double p50Us, double p99Us, double gbPerS, double bytesPerOp,
        double clientCpuSPerGb, double serverCpuSPerGb) {
    private static final Pattern LINE = Pattern
            .compile("size (\\d+) pulls (\\d+) p50_us ([\\d.]+) p99_us ([\\d.]+) GBps ([\\d.]+).*");

    /** One line for another process to read, beginning as the reference's lines do. */
    String toLine() {
        return String.format(Locale.ROOT, "size %d pulls %d p50_us %.2f p99_us %.2f GBps %.3f B/op %.3f", size, pulls,
                p50Us,
                p99Us, gbPerS, bytesPerOp);
    }

    /**
     * Reads a line of ours or of the reference.
     *
     * @param line printed by either
     * @return null when it is something else
     */
    static @Nullable PullFigure ofLine(String line) {
        Matcher m = LINE.matcher(line);
        return !m.matches()
                ? null
                : new PullFigure(Long.parseLong(m.group(1)), 1, Long.parseLong(m.group(2)),
                        Double.parseDouble(m.group(3)),
                        Double.parseDouble(m.group(4)), Double.parseDouble(m.group(5)), 0, 0, 0);
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
