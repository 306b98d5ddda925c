package io.mooncake.core.transfer.tcp;

import java.util.random.RandomGenerator;

/**
 * How long a peer that failed is left alone: twice as long after each failure, from 100 ms to 10 s, of which half is drawn at random so that
 * not everybody comes back at once. The poller's.
 */
final class CoolDown {
    static final long FIRST_NS = 100_000_000;
    static final long MOST_NS = 10_000_000_000L;
    private static final int MOST_DOUBLINGS = 10;

    private final RandomGenerator random;
    private int failures;
    private boolean cooling;
    private long untilNs;

    CoolDown(RandomGenerator random) {
        this.random = random;
    }

    /** Whether the peer is to be left alone. */
    boolean isCooling(long nowNs) {
        if (cooling && nowNs - untilNs >= 0) {
            cooling = false;
        }
        return cooling;
    }

    /** How long it is left alone yet. */
    long leftNs(long nowNs) {
        return isCooling(nowNs) ? untilNs - nowNs : 0;
    }

    /** The peer does what it should. */
    void onProgress() {
        failures = 0;
        cooling = false;
    }

    /** It failed. The first time after progress it may be tried again at once where that is said. */
    void onFailure(long nowNs, boolean onceMoreAtOnce) {
        failures++;
        if (failures == 1 && onceMoreAtOnce) {
            return;
        }
        long mostNs = Math.min(MOST_NS, FIRST_NS << Math.min(failures - 1, MOST_DOUBLINGS));
        cooling = true;
        untilNs = nowNs + mostNs / 2 + random.nextLong(mostNs / 2 + 1);
    }

    /** Nothing is known of the peer any more: it has another address. */
    void forget() {
        failures = 0;
        cooling = false;
    }
}
