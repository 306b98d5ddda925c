package io.mooncake.bench.cli;

import java.util.stream.DoubleStream;

/**
 * Where repeated measurements of one figure lie.
 *
 * @param p10 a tenth is below
 * @param median half is below
 * @param p90 a tenth is above
 */
record Quantiles(double p10, double median, double p90) {
    static Quantiles of(DoubleStream values) {
        double[] sorted = values.sorted().toArray();
        return new Quantiles(at(sorted, 0.1), at(sorted, 0.5), at(sorted, 0.9));
    }

    /** Between the two nearest ranks, so that few pairs do not make it jump. */
    private static double at(double[] sorted, double q) {
        double rank = q * (sorted.length - 1);
        int below = (int) rank;
        int above = Math.min(below + 1, sorted.length - 1);
        return sorted[below] + (sorted[above] - sorted[below]) * (rank - below);
    }

    /** (p90 - p10) / median. */
    double spread() {
        return (p90 - p10) / median;
    }
}
