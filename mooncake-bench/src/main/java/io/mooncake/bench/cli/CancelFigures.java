package io.mooncake.bench.cli;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.HdrHistogram.Histogram;

/** What a run of {@code cancel} has seen so far. Any thread. */
final class CancelFigures {
    /** Of the cancels, that many at least must be after the first byte and before the last one. */
    static final double LEAST_IN_FLIGHT = 0.6;

    private static final int BUCKETS = 10;
    private static final long LONGEST_NS = TimeUnit.MINUTES.toNanos(1);
    private static final long ALLOWANCE_NS = TimeUnit.MILLISECONDS.toNanos(1);

    private final CancelSettings settings;
    private final Histogram availableNs = new Histogram(LONGEST_NS, 3);
    private final long[] inFlight = new long[BUCKETS];
    private long beforeFirst;
    private long afterLast;
    private long bytesPulled;
    private double bytesPerNs;
    private final List<String> violations = new ArrayList<>();
    private final List<String> unbalanced = new ArrayList<>();

    CancelFigures(CancelSettings settings) {
        this.settings = settings;
    }

    /** A pull that nobody canceled came to its end. */
    synchronized void pulled(long bytes) {
        bytesPulled += bytes;
    }

    /** All of these together took so long. */
    synchronized void pullsTook(long ns) {
        bytesPerNs = (double) bytesPulled / ns;
    }

    /**
     * A pull was canceled.
     *
     * @param size its bytes
     * @param received how many of them had arrived
     * @param inTime false when its end was decided already
     * @param ns until its memory was another owner's; of no interest when it was not in time
     */
    synchronized void canceled(long size, long received, boolean inTime, long ns) {
        if (!inTime || received >= size) {
            afterLast++;
        } else if (received == 0) {
            beforeFirst++;
        } else {
            inFlight[(int) (received * BUCKETS / size)]++;
        }
        if (inTime) {
            availableNs.recordValue(Math.min(ns, LONGEST_NS));
        }
    }

    /** A byte landed in another owner's memory. */
    synchronized void violation(String what) {
        violations.add("after " + cancels() + " cancels: " + what);
    }

    /** A sum of what the nodes account for does not come out even. */
    synchronized void unbalanced(String what) {
        unbalanced.add(what);
    }

    synchronized List<String> violations() {
        return List.copyOf(violations);
    }

    synchronized List<String> unbalanced() {
        return List.copyOf(unbalanced);
    }

    synchronized long cancels() {
        return beforeFirst + afterLast + LongStream.of(inFlight).sum();
    }

    synchronized double inFlightShare() {
        return cancels() == 0 ? 0 : (double) LongStream.of(inFlight).sum() / cancels();
    }

    boolean isInFlightMet() {
        return inFlightShare() >= LEAST_IN_FLIGHT;
    }

    synchronized double bytesPerNs() {
        return bytesPerNs;
    }

    synchronized double availableUs(double percentile) {
        return availableNs.getTotalCount() == 0 ? 0 : availableNs.getValueAtPercentile(percentile) / 1e3;
    }

    /** Three times what the bytes take that cannot be recalled, and one millisecond. */
    double limitUs() {
        return (3 * settings.windowBytes() / bytesPerNs + ALLOWANCE_NS) / 1e3;
    }

    boolean isAvailableMet() {
        return availableUs(99) <= limitUs();
    }

    /** How far the pulls had come, from "no byte" to "all bytes": label and number of each. */
    synchronized Map<String, Long> progress() {
        Map<String, Long> progress = new LinkedHashMap<>();
        progress.put("no byte", beforeFirst);
        for (int i = 0; i < BUCKETS; i++) {
            progress.put(100 * i / BUCKETS + "-" + 100 * (i + 1) / BUCKETS + " %", inFlight[i]);
        }
        progress.put("every byte", afterLast);
        return progress;
    }

    /** Tells how far the run is. */
    synchronized void show(Progress progress) {
        progress.update(cancels(), seconds -> String.format(Locale.ROOT, "%.0f %% in flight, %d violations",
                100 * inFlightShare(), violations.size()));
    }

    /** For the report. */
    Map<String, Object> toMap() {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("cancels", cancels());
        map.put("progressAtCancel", progress());
        map.put("inFlightShare", inFlightShare());
        map.put("inFlightShareLimit", LEAST_IN_FLIGHT);
        map.put("inFlightShareMet", isInFlightMet());
        map.put("gbPerSUncanceled", bytesPerNs);
        map.put("availableUsP50", availableUs(50));
        map.put("availableUsP99", availableUs(99));
        map.put("availableUsMost", availableUs(100));
        map.put("availableUsP99Limit", limitUs());
        map.put("availableMet", isAvailableMet());
        map.put("violations", violations());
        map.put("unbalanced", unbalanced());
        return map;
    }
}
