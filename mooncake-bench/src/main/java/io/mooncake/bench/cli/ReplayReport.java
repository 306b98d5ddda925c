package io.mooncake.bench.cli;

import io.mooncake.bench.cli.ReplayStats.Pass;
import io.mooncake.core.base.ByteSize;
import io.mooncake.core.base.Counter;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** What a replay has to show for itself, as a table for people and as JSON. */
final class ReplayReport {
    private final List<NodeReport> nodes;
    private final ReplayOptions options;
    private final ReplayStats stats;
    private final MemoryUse before;
    private final Map<String, Object> source;

    /**
     * A report of what is there now.
     *
     * @param nodes what they say now
     * @param options how it ran
     * @param stats what was measured
     * @param before what the process used before the first pass
     * @param source where the trace came from
     */
    ReplayReport(List<NodeReport> nodes, ReplayOptions options, ReplayStats stats, MemoryUse before,
            Map<String, Object> source) {
        this.nodes = List.copyOf(nodes);
        this.options = options;
        this.stats = stats;
        this.before = before;
        this.source = source;
    }

    /**
     * Prints the table.
     *
     * @param out where to
     */
    void print(PrintWriter out) {
        double seconds = stats.ns() / 1e9;
        out.printf(Locale.ROOT, "%,d requests, %,d references, %,d hits: hit ratio %.4f%n", stats.requests().count(),
                stats.references(), stats.hits(), stats.hitRatio());
        out.printf(Locale.ROOT,
                "%d %s, %s blocks, %,d a node, %s%s, by %s; %.1f s, %,.0f requests/s, %.2f GB/s read and written%n%n",
                options.nodes(), options.nodes() == 1 ? "node" : "nodes", ByteSize.format(options.blockSize()),
                options.capacity(), options.policy(), options.lookAheadText(), String.join(" or ", engines()), seconds,
                stats.requests().count() / seconds, stats.requests().bytes() / 1e9 / seconds);
        line(out, "", "count", "bytes", "GB/s", "p50", "p99", "p999");
        for (AccessPath path : AccessPath.values()) {
            if (options.tiers() != null || !path.isOfTiers()) {
                row(out, path.label(), stats.path(path), path != AccessPath.LOCAL_VIEW);
            }
        }
        row(out, "write", stats.writes(), false);
        row(out, "request", stats.requests(), true);
        out.printf(Locale.ROOT, "%n  evictions %,d, verification errors %,d, failures %,d%n%n",
                evictions(),
                stats.verificationErrors(), stats.failures());
        if (options.tiers() != null) {
            tiers(out, options.tiers());
        }
        memory(out);
        out.flush();
    }

    private long evictions() {
        return sum(Counter.EVICTIONS_POLICY);
    }

    private long sum(Counter counter) {
        return nodes.stream().mapToLong(node -> node.counted(counter)).sum();
    }

    private void tiers(PrintWriter out, ReplayTiers tiers) {
        out.printf(Locale.ROOT,
                "  files of %,d blocks a node%s%s: %,d blocks demoted, %,d promoted, of these %,d for other nodes,"
                        + " %,d that could not be made durable; %,d recovered at a start, %,d damaged%n",
                tiers.fileBlocks(),
                tiers.vram() == null
                        ? ""
                        : String.format(Locale.ROOT, ", VRAM (%s) of %,d",
                                tiers.vram().kind().name().toLowerCase(Locale.ROOT), tiers.vram().blocks()),
                tiers.restarts() ? ", all processes killed after each pass and started again" : "",
                sum(Counter.BLOCKS_DEMOTED), sum(Counter.BLOCKS_PROMOTED), sum(Counter.BLOCKS_WANTED),
                sum(Counter.DEMOTIONS_FAILED), sum(Counter.BLOCKS_RECOVERED), sum(Counter.BLOCKS_DAMAGED));
        int number = 0;
        for (Map<AccessPath, Long> hits : stats.hitsByPath()) {
            out.printf(Locale.ROOT, "  hits %d: %s%n", ++number,
                    hits.entrySet()
                            .stream()
                            .map(entry -> String.format(Locale.ROOT, "%s %,d", entry.getKey().label(),
                                    entry.getValue()))
                            .collect(Collectors.joining(", ")));
        }
        out.println();
    }

    /** By which nodes may have been reached, the shortest way first. */
    private SortedSet<String> engines() {
        return nodes.stream()
                .flatMap(node -> node.engines().stream())
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private static void row(PrintWriter out, String label, Measure measure, boolean moves) {
        boolean any = measure.count() > 0;
        line(out, label, String.format(Locale.ROOT, "%,d", measure.count()), size(measure.bytes()),
                moves && any ? fixed(measure.gigabytesPerSecond(), 2) : "-", any ? time(measure.percentileNs(50)) : "-",
                any ? time(measure.percentileNs(99)) : "-", any ? time(measure.percentileNs(99.9)) : "-");
    }

    private void memory(PrintWriter out) {
        List<Pass> passes = stats.passes();
        line(out, "after GC", "hit ratio", "seconds", "heap", "direct", "native", "resident");
        line(out, "start", "", "", size(before.heap()), size(before.direct()), size(before.nativeMemory()),
                size(before.resident()));
        for (int i = 0; i < passes.size(); i++) {
            Pass pass = passes.get(i);
            MemoryUse memory = pass.memory();
            line(out, "pass " + (i + 1), fixed(pass.hitRatio(), 4), fixed(pass.ns() / 1e9, 1), size(memory.heap()),
                    size(memory.direct()), size(memory.nativeMemory()), size(memory.resident()));
        }
        if (passes.size() > 1) {
            MemoryUse first = passes.getFirst().memory();
            MemoryUse last = passes.getLast().memory();
            line(out, "growth", "", "", growth(first.heap(), last.heap()), growth(first.direct(), last.direct()),
                    growth(first.nativeMemory(), last.nativeMemory()), growth(first.resident(), last.resident()));
        }
    }

    private static void line(PrintWriter out, Object... columns) {
        out.printf(Locale.ROOT, "  %-12s %12s %12s %10s %10s %10s %10s%n", columns);
    }

    private static String fixed(double number, int digits) {
        return String.format(Locale.ROOT, "%." + digits + "f", number);
    }

    private static String size(long bytes) {
        return bytes == MemoryUse.UNKNOWN ? "-" : ByteSize.rounded((double) bytes);
    }

    private static String growth(long before, long after) {
        if (before == MemoryUse.UNKNOWN || after == MemoryUse.UNKNOWN) {
            return "-";
        }
        return (after < before ? "" : "+") + ByteSize.rounded((double) (after - before));
    }

    private static String time(long ns) {
        return ns < 10_000
                ? ns + " ns"
                : ns < 10_000_000
                        ? String.format(Locale.ROOT, "%.1f us", ns / 1e3)
                        : String.format(Locale.ROOT, "%.1f ms", ns / 1e6);
    }

    /**
     * Everything that the table shows, and more.
     *
     * @return for {@link Json}
     */
    Map<String, Object> toMap() {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("command", "replay");
        map.put("requests", stats.requests().count());
        map.put("references", stats.references());
        map.put("hits", stats.hits());
        map.put("hitRatio", stats.hitRatio());
        map.put("verificationErrors", stats.verificationErrors());
        map.put("failures", stats.failures());
        map.put("goneBeforeRead", stats.gone());
        map.put("evictions", evictions());
        map.put("seconds", stats.ns() / 1e9);
        map.put("bytes", stats.requests().bytes());
        map.put("gigabytesPerSecond", stats.ns() == 0 ? 0.0 : (double) stats.requests().bytes() / stats.ns());
        Map<String, Object> paths = new LinkedHashMap<>();
        for (AccessPath path : AccessPath.values()) {
            paths.put(path.key(), measure(stats.path(path), path != AccessPath.LOCAL_VIEW));
        }
        map.put("paths", paths);
        map.put("hitsByPath", stats.hitsByPath());
        map.put("writes", measure(stats.writes(), false));
        map.put("requestTimes", measure(stats.requests(), true));
        map.put("memoryBefore", before.toMap());
        map.put("passes", passes());
        map.put("engines", engines());
        Map<String, Object> config = options.toMap();
        config.putAll(source);
        map.put("config", config);
        map.put("nodes", nodes.stream().map(NodeReport::toMap).toList());
        return map;
    }

    private static Map<String, Object> measure(Measure measure, boolean moves) {
        Map<String, Object> map = measure.toMap();
        if (!moves) {
            map.remove("gigabytesPerSecond"); // no byte is moved while it is measured
        }
        return map;
    }

    private List<Map<String, Object>> passes() {
        List<Map<String, Object>> passes = new ArrayList<>();
        for (Pass pass : stats.passes()) {
            Map<String, Object> map = new LinkedHashMap<>();
            map.put("requests", pass.requests());
            map.put("references", pass.references());
            map.put("hits", pass.hits());
            map.put("hitRatio", pass.hitRatio());
            map.put("seconds", pass.ns() / 1e9);
            map.put("bytes", pass.bytes());
            map.put("memoryAfter", pass.memory().toMap());
            passes.add(map);
        }
        return passes;
    }
}
