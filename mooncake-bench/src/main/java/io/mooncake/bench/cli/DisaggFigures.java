package io.mooncake.bench.cli;

import io.mooncake.bench.cli.DisaggRun.Round;
import io.mooncake.bench.engine.FirstToken;
import io.mooncake.core.base.ByteSize;
import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;

/**
 * What {@code disagg} found, of all measured prompts.
 *
 * @param sharedMs until the first token with the other process's blocks
 * @param aloneMs until the first token with none
 * @param libraryShare of the former, what was spent in the library
 * @param bytes that were moved
 * @param here blocks that were here, or used where they are
 * @param pulled blocks that came
 * @param computed blocks that had to be computed
 * @param sameTokens whether the tokens are those that were computed with none
 * @param distance the furthest logits from those
 * @param tolerance how far they may be
 */
record DisaggFigures(Quantiles sharedMs, Quantiles aloneMs, Quantiles libraryShare, long bytes, long here, long pulled,
        long computed, boolean sameTokens, float distance, float tolerance) {
    static DisaggFigures of(List<Round> rounds, float tolerance) {
        return new DisaggFigures(quantiles(rounds, round -> round.shared().firstToken().totalNs() / 1e6),
                quantiles(rounds, round -> round.alone().firstToken().totalNs() / 1e6),
                quantiles(rounds, round -> share(round.shared().firstToken())), sum(rounds, FirstToken::pulledBytes),
                sum(rounds, FirstToken::here), sum(rounds, FirstToken::pulled), sum(rounds, FirstToken::computed),
                rounds.stream().allMatch(Round::sameTokens),
                (float) rounds.stream().mapToDouble(Round::distance).max().orElse(0), tolerance);
    }

    private static double share(FirstToken first) {
        return (double) first.storeNs() / first.totalNs();
    }

    private static Quantiles quantiles(List<Round> rounds, ToDoubleFunction<Round> figure) {
        return Quantiles.of(rounds.stream().mapToDouble(figure));
    }

    private static long sum(List<Round> rounds, ToLongFunction<FirstToken> figure) {
        return rounds.stream().mapToLong(round -> figure.applyAsLong(round.shared().firstToken())).sum();
    }

    double timesSooner() {
        return aloneMs.median() / sharedMs.median();
    }

    /** Whether the answers are what they are without the other process. */
    boolean equal() {
        return sameTokens && distance <= tolerance;
    }

    void print(PrintWriter out) {
        out.printf("%n%-44s %12s %12s %12s%n", "", "p10", "median", "p90");
        print(out, "first token with the other's blocks, ms", sharedMs, 1);
        print(out, "first token alone, ms", aloneMs, 1);
        print(out, "of the former spent in the library, %", libraryShare, 100);
        out.printf(Locale.ROOT, "%-44s %25.1f%n", "times sooner", timesSooner());
        out.printf("%-44s %25s%n", "bytes moved", ByteSize.rounded((double) bytes));
        out.printf("%-44s %25s%n", "blocks: here, pulled, computed", here + ", " + pulled + ", " + computed);
        out.printf("%-44s %25s%n", "tokens", sameTokens ? "the same" : "DIFFERENT");
        out.printf("%-44s %25s%n", "furthest logits, of at most", distance + ", " + tolerance);
        out.flush();
    }

    private static void print(PrintWriter out, String name, Quantiles quantiles, double factor) {
        out.printf(Locale.ROOT, "%-44s %12.2f %12.2f %12.2f%n", name, factor * quantiles.p10(),
                factor * quantiles.median(), factor * quantiles.p90());
    }

    /** For the report. */
    Map<String, Object> toMap() {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("firstTokenMs", toMap(sharedMs));
        map.put("aloneMs", toMap(aloneMs));
        map.put("timesSooner", timesSooner());
        map.put("libraryShare", toMap(libraryShare));
        map.put("bytes", bytes);
        map.put("here", here);
        map.put("pulled", pulled);
        map.put("computed", computed);
        map.put("sameTokens", sameTokens);
        map.put("furthestLogits", (double) distance);
        map.put("tolerance", (double) tolerance);
        map.put("equal", equal());
        return map;
    }

    private static Map<String, Object> toMap(Quantiles quantiles) {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("p10", quantiles.p10());
        map.put("median", quantiles.median());
        map.put("p90", quantiles.p90());
        return map;
    }
}
