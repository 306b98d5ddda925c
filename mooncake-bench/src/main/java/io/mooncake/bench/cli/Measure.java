package io.mooncake.bench.cli;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.zip.DataFormatException;
import org.HdrHistogram.Histogram;

/** How often something was done, with how many bytes, and how long it took. One thread; recording allocates nothing. */
final class Measure {
    private static final long MAX_NS = TimeUnit.HOURS.toNanos(1);

    private final Histogram latencies = new Histogram(1, MAX_NS, 3);
    private long bytes;
    private long totalNs;

    /**
     * Records one.
     *
     * @param ns how long it took
     * @param moved bytes that it was about
     */
    void record(long ns, long moved) {
        latencies.recordValue(Math.clamp(ns, 1, MAX_NS));
        totalNs += ns;
        bytes += moved;
    }

    /** Records what another one, of another process, has recorded. */
    void add(Measure other) {
        latencies.add(other.latencies);
        totalNs += other.totalNs;
        bytes += other.bytes;
    }

    /** Everything that it has recorded, in words that {@link #ofWords} reads. */
    String toWords() {
        ByteBuffer encoded = ByteBuffer.allocate(latencies.getNeededByteBufferCapacity());
        int length = latencies.encodeIntoCompressedByteBuffer(encoded);
        return bytes + " " + totalNs + " "
                + Base64.getEncoder().encodeToString(Arrays.copyOf(encoded.array(), length));
    }

    /**
     * What was recorded elsewhere.
     *
     * @param words those of {@link #toWords}
     * @throws IllegalArgumentException when they are not
     */
    static Measure ofWords(List<String> words) {
        Measure measure = new Measure();
        measure.bytes = Long.parseLong(words.get(0));
        measure.totalNs = Long.parseLong(words.get(1));
        try {
            measure.latencies.add(Histogram.decodeFromCompressedByteBuffer(
                    ByteBuffer.wrap(Base64.getDecoder().decode(words.get(2))), MAX_NS));
        } catch (DataFormatException e) {
            throw new IllegalArgumentException("not a histogram: " + words.get(2), e);
        }
        return measure;
    }

    long count() {
        return latencies.getTotalCount();
    }

    long bytes() {
        return bytes;
    }

    /** Gigabytes (10^9) a second while it was being done; 0 when it never was. */
    double gigabytesPerSecond() {
        return totalNs == 0 ? 0 : (double) bytes / totalNs;
    }

    /** The latency, in nanoseconds, that a percentage of them did not pass; 0 when there is none. */
    long percentileNs(double percentile) {
        return count() == 0 ? 0 : latencies.getValueAtPercentile(percentile);
    }

    /** For the report. */
    Map<String, Object> toMap() {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("count", count());
        map.put("bytes", bytes);
        map.put("seconds", totalNs / 1e9);
        map.put("gigabytesPerSecond", gigabytesPerSecond());
        map.put("p50Ns", percentileNs(50));
        map.put("p99Ns", percentileNs(99));
        map.put("p999Ns", percentileNs(99.9));
        map.put("maxNs", latencies.getMaxValue());
        return map;
    }
}
