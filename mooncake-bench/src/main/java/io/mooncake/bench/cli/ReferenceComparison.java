package io.mooncake.bench.cli;

import io.mooncake.core.base.ByteSize;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * Runs of a reference program and of ours in alternation, each in fresh processes, so that what the machine does meanwhile hits
 * both; compared pair by pair.
 *
 * <p>The figure is the median of the pairs' ratios. It is void when the reference itself spreads by more than 20 %,
 * spread = (p90 - p10) / median: then the machine was measured.
 */
final class ReferenceComparison {
    private static final double MOST_SPREAD = 0.2;
    private static final long LEAST_RATED_BYTES = 64 << 10;
    private static final Duration RUN = Duration.ofMinutes(5);

    /** What is compared at a size, and what it must be. */
    private enum Gate {
        RATE_64M(64L << 20, true, 0.9), LATENCY_4K(4096, false, 2.0);

        private final long size;
        private final boolean rate;
        private final double limit;

        Gate(long size, boolean rate, double limit) {
            this.size = size;
            this.rate = rate;
            this.limit = limit;
        }

        static @Nullable Gate of(long size, boolean rate) {
            for (Gate gate : values()) {
                if (gate.size == size && gate.rate == rate) {
                    return gate;
                }
            }
            return null;
        }

        boolean isMet(double ratio) {
            return rate ? ratio >= limit : ratio <= limit;
        }

        String text() {
            return (rate ? ">= " : "<= ") + limit;
        }
    }

    private record Pair(PullFigure theirs, PullFigure ours) {
        double ratio(ToDoubleFunction<PullFigure> what) {
            return what.applyAsDouble(ours) / what.applyAsDouble(theirs);
        }
    }

    private final PullSettings settings;
    private final Path program;
    private final int pairs;
    private final PrintWriter out;
    private final TreeMap<Long, List<Pair>> bySize = new TreeMap<>();

    ReferenceComparison(PullSettings settings, Path program, int pairs, PrintWriter out) {
        this.settings = settings;
        this.program = program;
        this.pairs = pairs;
        this.out = out;
    }

    /**
     * Runs and prints everything.
     *
     * @return the figures for JSON
     */
    Map<String, Object> run() {
        out.printf("%d pairs: java %s, then ours, in alternation; %s, idle %s, 1 outstanding%n", pairs,
                program.getFileName(),
                settings.threadingText(), settings.idleText());
        long start = System.nanoTime();
        for (int pair = 0; pair < pairs; pair++) {
            runPair(pair % 2 == 0);
            long tookS = (System.nanoTime() - start) / 1_000_000_000;
            out.printf("pair %d of %d, %d s, about %d s left: %s%n", pair + 1, pairs, tookS,
                    tookS * (pairs - pair - 1) / (pair + 1), lastPair());
            out.flush();
        }
        return report();
    }

    private void runPair(boolean referenceFirst) {
        List<PullFigure> theirs = referenceFirst ? runReference() : List.of();
        List<Long> sizes = referenceFirst
                ? sizes(theirs)
                : bySize.isEmpty() ? settings.sizes() : List.copyOf(bySize.keySet());
        List<PullFigure> ours = runOurs(sizes);
        if (!referenceFirst) {
            theirs = runReference();
        }
        for (PullFigure their : theirs) {
            for (PullFigure our : ours) {
                if (our.size() == their.size()) {
                    bySize.computeIfAbsent(our.size(), size -> new ArrayList<>()).add(new Pair(their, our));
                }
            }
        }
    }

    /** Those of the reference that were asked for. */
    private List<Long> sizes(List<PullFigure> theirs) {
        List<Long> sizes = theirs.stream().map(PullFigure::size).filter(settings.sizes()::contains).toList();
        if (sizes.isEmpty()) {
            throw new IllegalStateException("the reference measured none of the sizes " + settings.sizes());
        }
        return sizes;
    }

    private List<PullFigure> runReference() {
        String file = program.toString();
        String mib = Long.toString(settings.regionBytes() >> 20);
        try (Child server = Child.java("reference server", List.of(file, "server", mib))) {
            String port = Objects.requireNonNull(server.readLine(RUN), "the reference's server printed no port");
            try (Child client = Child.java("reference client",
                    List.of(file, "client", port, Double.toString(settings.seconds()), mib))) {
                return figures(client);
            }
        }
    }

    private List<PullFigure> runOurs(List<Long> sizes) {
        try (Child child = PullRun.start(settings, sizes)) {
            return figures(child);
        }
    }

    private static List<PullFigure> figures(Child child) {
        List<PullFigure> figures = new ArrayList<>();
        for (String line : child.readAll(RUN)) {
            PullFigure figure = PullFigure.ofLine(line);
            if (figure != null) {
                figures.add(figure);
            }
        }
        int code = child.waitFor(RUN);
        if (code != 0 || figures.isEmpty()) {
            throw new IllegalStateException(
                    child + " ended with code " + code + " and " + figures.size() + " figures; see its error above");
        }
        return figures;
    }

    private String lastPair() {
        StringBuilder text = new StringBuilder();
        bySize.forEach((size, all) -> {
            Pair last = all.getLast();
            text.append(String.format(Locale.ROOT, " %s %.1f/%.1f us %.2f/%.2f GB/s", ByteSize.format(size),
                    last.ours().p50Us(),
                    last.theirs().p50Us(), last.ours().gbPerS(), last.theirs().gbPerS()));
        });
        return text.toString();
    }

    private Map<String, Object> report() {
        out.printf("%n%8s %-8s %11s %11s %8s %8s %8s %8s %8s  %s%n", "size", "figure", "reference", "ours", "ratio",
                "p10", "p90",
                "spread", "limit", "");
        List<Map<String, Object>> rows = new ArrayList<>();
        bySize.forEach((size, all) -> {
            // The rate of a small pull is its latency told again, and the reference prints it with too few digits.
            if (size >= LEAST_RATED_BYTES) {
                rows.add(row(size, all, "GB/s", PullFigure::gbPerS));
            }
            rows.add(row(size, all, "p50 us", PullFigure::p50Us));
        });
        out.printf(
                "ratio = median of ours / reference over %d pairs; spread = (p90 - p10) / median of the reference, void above %.0f %%%n",
                pairs, MOST_SPREAD * 100);
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("reference", program.getFileName().toString());
        json.put("pairs", pairs);
        json.put("comparisons", rows);
        return json;
    }

    private Map<String, Object> row(long size, List<Pair> all, String name, ToDoubleFunction<PullFigure> what) {
        boolean rate = name.equals("GB/s");
        Quantiles theirs = Quantiles.of(all.stream().map(Pair::theirs).mapToDouble(what));
        Quantiles ours = Quantiles.of(all.stream().map(Pair::ours).mapToDouble(what));
        Quantiles ratios = Quantiles.of(all.stream().mapToDouble(p -> p.ratio(what)));
        Gate gate = Gate.of(size, rate);
        boolean isVoid = theirs.spread() > MOST_SPREAD;
        String verdict = isVoid ? "void" : gate == null ? "" : gate.isMet(ratios.median()) ? "met" : "MISSED";
        out.printf(Locale.ROOT, "%8s %-8s %11.3f %11.3f %8.3f %8.3f %8.3f %7.1f%% %8s  %s%n", ByteSize.format(size),
                name,
                theirs.median(), ours.median(), ratios.median(), ratios.p10(), ratios.p90(), theirs.spread() * 100,
                gate == null ? "" : gate.text(), verdict);
        out.flush();
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("size", size);
        json.put("figure", rate ? "gbPerS" : "p50Us");
        json.put("reference", theirs.median());
        json.put("ours", ours.median());
        json.put("ratio", ratios.median());
        json.put("ratioP10", ratios.p10());
        json.put("ratioP90", ratios.p90());
        json.put("referenceSpread", theirs.spread());
        json.put("void", isVoid);
        if (gate != null) {
            json.put("limit", gate.limit);
            json.put("met", !isVoid && gate.isMet(ratios.median()));
        }
        return json;
    }
}
