package io.mooncake.core.registry;

import io.mooncake.core.base.Endpoint;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import java.time.Duration;

/**
 * How a node of several processes is a member of its cluster. Immutable.
 *
 * @param discovery how it finds the others
 * @param bind where it listens for them, an address of this host and no wildcard; port 0 = any free one; every other socket that
 *     membership needs is bound to the same address
 * @param heartbeat how often it shows that it lives
 * @param misses so many heartbeats missing in a row, and it is suspected
 */
public record Membership(Discovery discovery, Endpoint bind, Duration heartbeat, int misses) {
    /** A second. */
    public static final Duration DEFAULT_HEARTBEAT = Duration.ofSeconds(1);
    /** As many misses as make a suspect. */
    public static final int DEFAULT_MISSES = 3;

    private static final long MIN_HEARTBEAT_MS = 50;
    private static final long MAX_HEARTBEAT_MS = 60_000;
    private static final int MIN_MISSES = 2;
    private static final int MAX_MISSES = 100;
    private static final long MIN_SILENCE_MS = 500;
    private static final long MAX_SILENCE_MS = 600_000;

    /**
     * Checks the numbers, also against each other.
     *
     * @throws MooncakeException CONFIG_ERROR naming setting, value and remedy
     */
    public Membership {
        long heartbeatMs = heartbeat.toMillis();
        if (heartbeatMs < MIN_HEARTBEAT_MS || heartbeatMs > MAX_HEARTBEAT_MS) {
            throw bad("cluster.heartbeat = '" + heartbeatMs + "ms' must be " + MIN_HEARTBEAT_MS + "ms to "
                    + MAX_HEARTBEAT_MS + "ms");
        }
        if (misses < MIN_MISSES || misses > MAX_MISSES) {
            throw bad("cluster.heartbeatMisses = '" + misses + "' must be " + MIN_MISSES + " to " + MAX_MISSES
                    + ": a single one may be late");
        }
        long silenceMs = heartbeatMs * misses;
        if (silenceMs < MIN_SILENCE_MS || silenceMs > MAX_SILENCE_MS) {
            throw bad("cluster.heartbeat x cluster.heartbeatMisses = " + heartbeatMs + "ms x " + misses + " = "
                    + silenceMs + "ms must be " + MIN_SILENCE_MS + "ms (else a garbage collection is a death) to "
                    + MAX_SILENCE_MS + "ms");
        }
    }

    private static MooncakeException bad(String message) {
        return new MooncakeException(Kind.CONFIG_ERROR, message);
    }

    /**
     * After how much silence a node is suspected.
     *
     * @return heartbeat times misses
     */
    public Duration silence() {
        return heartbeat.multipliedBy(misses);
    }
}
