package io.mooncake.bench.cli;

import io.mooncake.bench.cli.Gate.Lanes;
import io.mooncake.core.base.ByteSize;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Runs of a {@link Reference} and of ours in alternation, each in fresh processes, so that what the machine does meanwhile hits
 * both; compared pair by pair.
 *
 * <pre>
 *   pair 1    R O  O R  R O ...      a pair of n runs of each: what they pulled together over the time they took together,
 *   pair 2    O R  R O  O R ...      so that what drifts during a pair, or differs from process to process, evens out
 * </pre>
 *
 * <p>The figure is the median of the pairs' ratios. It is void when the reference itself spreads by more than 20 % from pair to pair,
 * spread = (p90 - p10) / median: then the machine was measured. No run is left out. Where several numbers of lanes are asked for, a
 * run of ours is one of each.
 */
final class ReferenceComparison {
    private static final double MOST_SPREAD = 0.2;
    private static final int DEFAULT_LANES = 0;

    /** What of ours is compared; the reference knows only sizes. */
    private record Variant(long size, int outstanding, int lanes) implements Comparable<Variant> {
        @Override
        public int compareTo(Variant other) {
            return Comparator.comparingInt(Variant::outstanding)
                    .thenComparingLong(Variant::size)
                    .thenComparingInt(Variant::lanes)
                    .compare(this, other);
        }

        String lanesText() {
            return lanes == DEFAULT_LANES ? "" : Integer.toString(lanes);
        }
    }

    private record Pair(PullFigure theirs, PullFigure ours) {
        double ratio(Figure what) {
            return what.of(ours) / what.of(theirs);
        }
    }

    private final PullSettings settings;
    private final List<Integer> lanes;
    private final Reference reference;
    private final int pairs;
    private final int runs;
    private final PrintWriter out;
    private final TreeMap<Variant, List<Pair>> all = new TreeMap<>();
    private List<Long> sizes = List.of();

    /**
     * A comparison.
     *
     * @param settings of ours
     * @param lanes numbers of connections to try; empty = the nodes' default
     * @param reference what to compare with
     * @param schedule how often
     * @param out where figures are printed
     */
    ReferenceComparison(PullSettings settings, List<Integer> lanes, Reference reference, Schedule schedule,
            PrintWriter out) {
        this.settings = settings;
        this.lanes = lanes.isEmpty() ? List.of(DEFAULT_LANES) : lanes;
        this.reference = reference;
        this.pairs = schedule.pairs();
        this.runs = schedule.runs();
        this.out = out;
    }

    /**
     * How often everything is run.
     *
     * @param pairs compared
     * @param runs of the reference and of ours in a pair
     */
    record Schedule(int pairs, int runs) {}

    /**
     * Runs and prints everything.
     *
     * @return the figures for JSON
     */
    Map<String, Object> run() {
        out.printf(
                "%d pairs of %d + %d runs: %s and ours, in alternation; %s, idle %s, outstanding %s, lanes %s%n",
                pairs, runs, runs, reference.name(), settings.nodes().threadingText(),
                settings.nodes().idleText(), settings.outstanding(),
                lanes.equals(List.of(DEFAULT_LANES)) ? "default" : lanes);
        long start = System.nanoTime();
        for (int pair = 0; pair < pairs; pair++) {
            runPair(pair);
            long tookS = (System.nanoTime() - start) / 1_000_000_000;
            out.printf("pair %d of %d, %d s, about %d s left: %s%n", pair + 1, pairs, tookS,
                    tookS * (pairs - pair - 1) / (pair + 1), lastPair());
            out.flush();
        }
        return report();
    }

    private void runPair(int pair) {
        Map<Long, List<PullFigure>> theirs = new TreeMap<>();
        Map<Variant, List<PullFigure>> ours = new TreeMap<>();
        if (sizes.isEmpty()) {
            sizes = settings.sizes();
        }
        for (int run = 0; run < runs; run++) {
            boolean referenceFirst = (pair + run) % 2 == 0;
            if (referenceFirst) {
                runReference(theirs);
            }
            for (int count : lanes) {
                runOurs(count, ours);
            }
            if (!referenceFirst) {
                runReference(theirs);
            }
        }
        ours.forEach((variant, figures) -> all.computeIfAbsent(variant, _ -> new ArrayList<>())
                .add(new Pair(PullFigure.sum(Objects.requireNonNull(theirs.get(variant.size))),
                        PullFigure.sum(figures))));
    }

    private void runReference(Map<Long, List<PullFigure>> into) {
        List<PullFigure> figures = reference.run(sizes);
        // What it did not measure is not compared.
        sizes = figures.stream().map(PullFigure::size).filter(sizes::contains).toList();
        if (sizes.isEmpty()) {
            throw new IllegalStateException("the reference measured none of the sizes " + settings.sizes());
        }
        figures.forEach(figure -> into.computeIfAbsent(figure.size(), _ -> new ArrayList<>()).add(figure));
    }

    private void runOurs(int count, Map<Variant, List<PullFigure>> into) {
        NodeSettings nodes = settings.nodes();
        PullSettings run = settings
                .with(count == DEFAULT_LANES ? nodes : nodes.withLanes(settings.engine(), count));
        try (Child child = PullRun.start(run, sizes)) {
            List<PullFigure> figures = child.readAll(PullRun.RUN)
                    .stream()
                    .map(PullFigure::ofLine)
                    .filter(Objects::nonNull)
                    .toList();
            for (PullFigure figure : PullRun.checked(child, figures)) {
                into.computeIfAbsent(new Variant(figure.size(), figure.outstanding(), count), _ -> new ArrayList<>())
                        .add(figure);
            }
        }
    }

    private String lastPair() {
        StringBuilder text = new StringBuilder();
        all.forEach((variant, compared) -> {
            Pair last = compared.getLast();
            text.append(String.format(Locale.ROOT, " %s%s%s %.1f/%.1f us %.2f/%.2f GB/s", ByteSize.format(variant.size),
                    variant.outstanding == 1 ? "" : "x" + variant.outstanding,
                    variant.lanes == DEFAULT_LANES ? "" : " (" + variant.lanes + ")", last.ours().p50Us(),
                    last.theirs().p50Us(), last.ours().gbPerS(), last.theirs().gbPerS()));
        });
        return text.toString();
    }

    private Map<String, Object> report() {
        out.printf("%n%8s %5s %5s %-16s %11s %11s %8s %8s %8s %8s %8s  %s%n", "size", "outst", "lanes", "figure",
                "reference", "ours", "ratio", "p10", "p90", "spread", "limit", "");
        List<Map<String, Object>> rows = new ArrayList<>();
        for (Figure what : Figure.values()) {
            Map<Long, Variant> best = new LinkedHashMap<>();
            all.keySet().stream().filter(variant -> isTold(variant, what)).forEach(variant -> {
                rows.add(row(variant, what, variant.lanes <= 1 ? gate(variant, what, Lanes.ONE) : null));
                best.merge(variant.size << 10 | variant.outstanding, variant,
                        (a, b) -> median(a, what) >= median(b, what) ? a : b);
            });
            best.values().forEach(variant -> {
                Gate gate = gate(variant, what, Lanes.BEST);
                Gate ofSeveral = lanes.size() == 1 ? null : gate(variant, what, Lanes.BEST_OF_SEVERAL);
                if (gate != null || ofSeveral != null) {
                    rows.add(row(variant, what, gate != null ? gate : ofSeveral));
                }
            });
        }
        out.printf(
                "ratio = median of ours / reference over %d pairs; spread = (p90 - p10) / median of the reference, void above %.0f %%%n",
                pairs, MOST_SPREAD * 100);
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("reference", reference.name());
        json.put("pairs", pairs);
        json.put("runsOfEachInAPair", runs);
        json.put("comparisons", rows);
        return json;
    }

    private boolean isTold(Variant variant, Figure what) {
        return what.isTold(variant.size, variant.outstanding)
                && !pairsOf(variant).stream().mapToDouble(pair -> pair.ratio(what)).allMatch(Double::isNaN);
    }

    private @Nullable Gate gate(Variant variant, Figure what, Lanes ofLanes) {
        return reference.gates()
                .stream()
                .filter(gate -> gate.isFor(variant.size, variant.outstanding, what) && gate.lanes() == ofLanes)
                .findFirst()
                .orElse(null);
    }

    private double median(Variant variant, Figure what) {
        return Quantiles.of(pairsOf(variant).stream().mapToDouble(pair -> pair.ratio(what))).median();
    }

    private List<Pair> pairsOf(Variant variant) {
        return Objects.requireNonNull(all.get(variant));
    }

    private Map<String, Object> row(Variant variant, Figure what, @Nullable Gate gate) {
        List<Pair> compared = pairsOf(variant);
        Quantiles theirs = Quantiles.of(compared.stream().map(Pair::theirs).mapToDouble(what::of));
        Quantiles ours = Quantiles.of(compared.stream().map(Pair::ours).mapToDouble(what::of));
        Quantiles ratios = Quantiles.of(compared.stream().mapToDouble(pair -> pair.ratio(what)));
        boolean isVoid = theirs.spread() > MOST_SPREAD;
        String verdict = isVoid ? "void" : gate == null ? "" : gate.isMet(ratios.median()) ? "met" : "MISSED";
        String lanesText = variant.lanesText() + (gate != null && gate.lanes() != Lanes.ONE ? " best" : "");
        out.printf(Locale.ROOT, "%8s %5d %5s %-16s %11.3f %11.3f %8.3f %8.3f %8.3f %7.1f%% %8s  %s%n",
                ByteSize.format(variant.size), variant.outstanding, lanesText.strip(), what.title(), theirs.median(),
                ours.median(), ratios.median(), ratios.p10(), ratios.p90(), theirs.spread() * 100,
                gate == null ? "" : gate.text(), verdict);
        out.flush();
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("size", variant.size);
        json.put("outstanding", variant.outstanding);
        json.put("lanes", variant.lanes == DEFAULT_LANES ? null : variant.lanes);
        json.put("figure", what.key());
        json.put("reference", theirs.median());
        json.put("ours", ours.median());
        json.put("ratio", ratios.median());
        json.put("ratioP10", ratios.p10());
        json.put("ratioP90", ratios.p90());
        json.put("referenceSpread", theirs.spread());
        json.put("void", isVoid);
        if (gate != null) {
            json.put("bestOfLanes", gate.lanes() != Lanes.ONE);
            json.put("limit", gate.limit());
            json.put("met", !isVoid && gate.isMet(ratios.median()));
        }
        return json;
    }
}
