package io.mooncake.cuda;

import io.mooncake.core.transfer.MeasuredWay;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * How one device copies to another one. Immutable.
 *
 * @param from the device with the bytes
 * @param to the device that gets them
 * @param way what copies take
 * @param directNs what a copy of {@link #probedBytes} took directly; 0 where it can't be, or was not measured
 * @param stagedNs what it took by the host; 0 where it was not measured
 * @param probedBytes the size of the measurement; 0 where there was none
 */
public record PeerLink(int from, int to, Way way, long directNs, long stagedNs, long probedBytes) {
    /** What copies between two devices take. */
    public enum Way {
        /** The devices reach each other's memory by themselves. */
        DIRECT,
        /** By pinned host memory: they can't, or that is faster. */
        STAGED
    }

    /** What was measured, for the matrix: each way that is possible. */
    List<MeasuredWay> ways() {
        return Stream.of(way("direct", directNs), way("by the host", stagedNs)).filter(Objects::nonNull).toList();
    }

    private @Nullable MeasuredWay way(String how, long ns) {
        return probedBytes == 0 || ns == 0
                ? null
                : new MeasuredWay("cuda" + from + " to cuda" + to + ", " + how, probedBytes, ns);
    }

    @Override
    public String toString() {
        return "device " + from + " to device " + to + ": " + way + (probedBytes == 0
                ? ""
                : ", " + rate("direct", directNs) + ", " + rate("by the host", stagedNs));
    }

    private String rate(String how, long ns) {
        // Bytes a nanosecond are GB a second.
        return ns == 0 ? how + " not possible" : how + " " + Math.round(10.0 * probedBytes / ns) / 10.0 + " GB/s";
    }
}
