package io.mooncake.core.schedule;

/**
 * What a read of about one size takes on one way: a mean that forgets by time. Written by one thread at a time, read by any.
 *
 * <pre>
 *   first         is believed, and in doubt when it was one read: making a connection takes long, too
 *   near          moves the mean, the more the longer ago it was measured: by half after {@link #HALF_LIFE_NS}
 *   far off       {@value #FAR} times more or less. One read alone puts the mean in doubt and does not move it; the next one that is far
 *                 off, too, or several in a window, replace it
 *   due           in doubt, or not measured for {@link #FRESH_NS}
 * </pre>
 */
final class Estimate {
    static final long HALF_LIFE_NS = 5_000_000_000L;
    static final long FRESH_NS = 10_000_000_000L;
    static final int FAR = 4;
    private static final double LEAST_WEIGHT = 0.125;

    /** 0 = never measured. */
    private volatile long readNs;
    private volatile long readBytes;
    private volatile long measuredNs;
    private volatile boolean doubted;

    /**
     * Takes in what some reads took.
     *
     * @param leastNs what one of them took at least
     * @param mostNs what it took at most; more where others were in the way, who may or may not have cost time
     * @param bytes of one of them
     * @param reads how many they were
     * @param nowNs on the node's clock
     */
    void add(long leastNs, long mostNs, long bytes, long reads, long nowNs) {
        long before = readNs;
        long ns = Math.max(1, before == 0 ? leastNs : Math.clamp(before, leastNs, mostNs));
        boolean far = ns / FAR > before || before / FAR > ns;
        if (before == 0) {
            doubted = reads == 1;
            readBytes = bytes;
            readNs = ns;
        } else if (far && reads == 1 && !doubted) {
            doubted = true;
        } else {
            double weight = far
                    ? 1
                    : Math.max(LEAST_WEIGHT, 1 - Math.pow(0.5, (double) (nowNs - measuredNs) / HALF_LIFE_NS));
            long bytesBefore = readBytes;
            readNs = Math.max(1, before + Math.round(weight * (ns - before)));
            readBytes = bytesBefore + Math.round(weight * (bytes - bytesBefore));
            doubted = false;
        }
        measuredNs = nowNs;
    }

    /** 0 when nothing is known. */
    long readNs() {
        return readNs;
    }

    long readBytes() {
        return readBytes;
    }

    boolean isDue(long nowNs) {
        return readNs == 0 || doubted || nowNs - measuredNs >= FRESH_NS;
    }
}
