package io.mooncake.rdma.verbs;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;

/**
 * Timers and limits of a connection (man ibv_modify_qp). Immutable.
 *
 * @param timers when to try again, and how often
 * @param route how its packets are marked
 * @param initiatedReads READs that this side has on the wire at a time
 * @param answeredReads READs of the peer that are answered at a time
 */
public record ConnectionSettings(Timers timers, Route route, int initiatedReads, int answeredReads) {

    /** Most tries again; 7 would mean for ever on some devices (Soft-RoCE), and a dead peer would never be noticed. */
    public static final int MAX_RETRIES = 6;

    /**
     * When to try again. Numbers of 4.096 us times 2 to the power of {@code timeout}; 14 is 67 ms, so 0.5 s with 6 tries.
     *
     * @param timeout exponent of the time to wait for an acknowledgement, 1 to 31
     * @param retries tries again after that, 0 to 6
     * @param notReadyRetries tries again when the peer had no RECV, 0 to 6
     * @param notReadyTimer code of the time that a peer waits which met no RECV here, 0 to 31; 12 is 0.64 ms
     */
    public record Timers(int timeout, int retries, int notReadyRetries, int notReadyTimer) {
        /** About 0.5 s until a dead peer is noticed. */
        public static final Timers DEFAULT = new Timers(14, MAX_RETRIES, MAX_RETRIES, 12);

        /**
         * Checks the ranges.
         *
         * @throws MooncakeException CONFIG_ERROR
         */
        public Timers {
            inRange("timeout", timeout, 1, 31);
            inRange("retries", retries, 0, MAX_RETRIES);
            inRange("not-ready retries", notReadyRetries, 0, MAX_RETRIES);
            inRange("not-ready timer", notReadyTimer, 0, 31);
        }
    }

    /**
     * How packets are marked.
     *
     * @param serviceLevel InfiniBand service level or Ethernet priority, 0 to 15
     * @param trafficClass of RoCE version 2: DSCP in its upper 6 bits, 0 to 255
     * @param hopLimit routers on the way, 1 to 255
     */
    public record Route(int serviceLevel, int trafficClass, int hopLimit) {
        /** Unmarked. */
        public static final Route DEFAULT = new Route(0, 0, 64);

        /**
         * Checks the ranges.
         *
         * @throws MooncakeException CONFIG_ERROR
         */
        public Route {
            inRange("service level", serviceLevel, 0, 15);
            inRange("traffic class", trafficClass, 0, 255);
            inRange("hop limit", hopLimit, 1, 255);
        }
    }

    /**
     * Checks the ranges.
     *
     * @throws MooncakeException CONFIG_ERROR
     */
    public ConnectionSettings {
        inRange("initiated reads", initiatedReads, 1, 255);
        inRange("answered reads", answeredReads, 1, 255);
    }

    private static void inRange(String what, int value, int least, int most) {
        if (value < least || value > most) {
            throw new MooncakeException(Kind.CONFIG_ERROR,
                    "RDMA " + what + " " + value + ": give " + least + " to " + most
                            + (what.endsWith("retries") && value == 7 ? " (7 means for ever on some devices)" : ""));
        }
    }

    int timeout() {
        return timers.timeout;
    }

    int retries() {
        return timers.retries;
    }

    int notReadyRetries() {
        return timers.notReadyRetries;
    }

    int notReadyTimer() {
        return timers.notReadyTimer;
    }

    int serviceLevel() {
        return route.serviceLevel;
    }

    int trafficClass() {
        return route.trafficClass;
    }

    int hopLimit() {
        return route.hopLimit;
    }
}
