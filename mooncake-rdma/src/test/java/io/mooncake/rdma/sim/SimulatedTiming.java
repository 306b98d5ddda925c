package io.mooncake.rdma.sim;

/**
 * How the network behaves; every delay is drawn between nothing and its most.
 *
 * @param sampleNs from posting to the sampling of a piece
 * @param landNs from there to its landing
 * @param completeNs from the landing of a request's last piece to its completion
 * @param bursts in how many goes the pieces of a request are sampled at most
 * @param flushNs from one flushed request of a broken queue pair to the next
 * @param falseOkPercent of the broken queue pairs report their first request as done although it has not arrived
 */
public record SimulatedTiming(long sampleNs, long landNs, long completeNs, int bursts, long flushNs,
        int falseOkPercent) {
    /** Some microseconds for everything. */
    public static SimulatedTiming defaults() {
        return new SimulatedTiming(10_000, 10_000, 2_000, 4, 20_000, 50);
    }

    /** The same with late completions. */
    public SimulatedTiming withCompleteNs(long newCompleteNs) {
        return new SimulatedTiming(sampleNs, landNs, newCompleteNs, bursts, flushNs, falseOkPercent);
    }
}
