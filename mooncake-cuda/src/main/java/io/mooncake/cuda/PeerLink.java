package io.mooncake.cuda;

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
