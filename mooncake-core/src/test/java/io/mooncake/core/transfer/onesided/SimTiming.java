package io.mooncake.core.transfer.onesided;

/**
 * How the simulated network behaves; every delay is drawn between nothing and its most.
 *
 * @param connectNs to connect a lane, and for the answer about a region
 * @param sampleNs from posting to the sampling of a piece
 * @param landNs from there to its landing
 * @param bursts in how many goes the pieces of a request are sampled at most
 * @param retryNs after which an unanswered request has failed for good
 * @param flushNs from one flushed request of a broken lane to the next
 * @param falseOkPercent of the broken lanes report their first request OK although it did not arrive
 */
public record SimTiming(long connectNs, long sampleNs, long landNs, int bursts, long retryNs, long flushNs,
        int falseOkPercent) {
    /** Some microseconds for everything, half a second of hardware retries. */
    public static SimTiming defaults() {
        return new SimTiming(50_000, 10_000, 10_000, 4, 500_000_000, 20_000, 50);
    }

    /** The same with another number of goes. */
    public SimTiming withBursts(int number) {
        return new SimTiming(connectNs, sampleNs, landNs, number, retryNs, flushNs, falseOkPercent);
    }

    /** The same with other delays of pieces. */
    public SimTiming withDelays(long newSampleNs, long newLandNs) {
        return new SimTiming(connectNs, newSampleNs, newLandNs, bursts, retryNs, flushNs, falseOkPercent);
    }
}
