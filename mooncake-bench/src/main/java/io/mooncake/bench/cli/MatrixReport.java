package io.mooncake.bench.cli;

import io.mooncake.core.base.ByteSize;
import io.mooncake.core.base.Hop;
import io.mooncake.core.registry.PairFigures;
import io.mooncake.core.registry.PairFigures.Figure;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * The pairs of a matrix, each compared with those of its class: as far apart, by the same engine, of the same size.
 *
 * @param rows by reader and holder
 * @param slowerThan times the median of its class is too slow
 */
record MatrixReport(List<Row> rows, double slowerThan) {
    /** So many pairs have a median that one of them can be compared with. */
    private static final int LEAST_PAIRS = 3;

    /** What a pair is compared with. */
    private record PairClass(Hop hop, String path, long upToBytes) {}

    /**
     * One figure of a pair.
     *
     * @param pair whose
     * @param figure what was measured
     * @param medianNs of the class; 0 where it has too few pairs
     */
    record Row(PairFigures pair, Figure figure, double medianNs) {
        private PairClass ofClass() {
            return new PairClass(pair.hop(), figure.path(), figure.upToBytes());
        }

        boolean isSlow(double slowerThan) {
            return medianNs > 0 && figure.readNs() > slowerThan * medianNs;
        }

        private String reader() {
            return pair.reader().name();
        }

        private String holder() {
            return pair.holder().name();
        }

        private String hop() {
            return pair.hop().name().toLowerCase(Locale.ROOT);
        }

        double gbPerS() {
            return (double) figure.readBytes() / figure.readNs();
        }
    }

    static MatrixReport of(List<PairFigures> pairs, double slowerThan) {
        List<Row> rows = new ArrayList<>();
        pairs.forEach(pair -> pair.figures().forEach(figure -> rows.add(new Row(pair, figure, 0))));
        Map<PairClass, List<Row>> classes = rows.stream().collect(Collectors.groupingBy(Row::ofClass));
        rows.replaceAll(row -> {
            List<Row> others = classes.getOrDefault(row.ofClass(), List.of());
            return others.size() < LEAST_PAIRS
                    ? row
                    : new Row(row.pair, row.figure,
                            Quantiles.of(others.stream().mapToDouble(other -> (double) other.figure.readNs()))
                                    .median());
        });
        rows.sort(Comparator.comparing((Row row) -> row.pair.reader().name())
                .thenComparing(row -> row.pair.holder().name())
                .thenComparing(row -> row.figure.path())
                .thenComparingLong(row -> row.figure.upToBytes()));
        return new MatrixReport(List.copyOf(rows), slowerThan);
    }

    List<Row> slow() {
        return rows.stream().filter(row -> row.isSlow(slowerThan)).toList();
    }

    /** Of a column: what it has at least, or what its longest text needs. */
    private int width(int least, Function<Row, String> text) {
        return Math.max(least, rows.stream().mapToInt(row -> text.apply(row).length()).max().orElse(0));
    }

    void print(PrintWriter out) {
        String names = "%-" + width(16, Row::reader) + "s %-" + width(16, Row::holder) + "s %-" + width(8, Row::hop)
                + "s %-" + width(6, row -> row.figure.path()) + "s ";
        out.printf(Locale.ROOT, names + "%9s %12s %9s%n", "reader", "holder", "hop", "path", "bytes", "us", "GB/s");
        for (Row row : rows) {
            out.printf(Locale.ROOT, names + "%9s %12.1f %9.3f%s%n", row.reader(), row.holder(), row.hop(),
                    row.figure.path(),
                    ByteSize.rounded((double) row.figure.readBytes()), (double) row.figure.readNs() / 1e3, row.gbPerS(),
                    row.isSlow(slowerThan)
                            ? String.format(Locale.ROOT, "  SLOW: %.1f x the median of its class",
                                    (double) row.figure.readNs() / row.medianNs)
                            : "");
        }
        out.printf(Locale.ROOT, "%d of %d are slower than %.1f x the median of their class%n", slow().size(),
                rows.size(), slowerThan);
        out.flush();
    }

    Map<String, Object> toJson() {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("slowerThan", slowerThan);
        json.put("slowPairs", slow().size());
        json.put("pairs", rows.stream().map(row -> {
            Map<String, Object> one = new LinkedHashMap<>();
            one.put("reader", row.pair.reader().toString());
            one.put("holder", row.pair.holder().toString());
            one.put("hop", row.pair.hop());
            one.put("path", row.figure.path());
            one.put("upToBytes", row.figure.upToBytes());
            one.put("readBytes", row.figure.readBytes());
            one.put("readNs", row.figure.readNs());
            one.put("gbPerS", row.gbPerS());
            one.put("classMedianNs", row.medianNs == 0 ? null : row.medianNs);
            one.put("slow", row.isSlow(slowerThan));
            return one;
        }).toList());
        return json;
    }
}
