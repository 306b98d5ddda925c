package io.mooncake.core.transfer.onesided;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.EngineContext;

/**
 * Settings of a {@link OneSidedEngine}. Immutable.
 *
 * @param window what is outstanding at once
 * @param times how long the machine waits for what
 * @param reads reads accepted that have not ended
 * @param peers peers with lanes
 * @param tries times that one chunk is posted again
 */
public record OneSidedConfig(Window window, Times times, int reads, int peers, int tries) {
    private static final int MAX_LANES = 64;

    /** Checks the numbers. */
    public OneSidedConfig {
        check("reads", reads, 1, Cookies.MAX_SLOTS);
        check("peers", peers, 1, Cookies.MAX_SLOTS);
        check("tries", tries, 0, 1000);
    }

    /**
     * What is outstanding at once.
     *
     * @param lanesPerPeer lanes to one peer
     * @param chunkBytes bytes of one request at most; at most 1 MiB
     * @param laneBytes bytes outstanding on one lane; one chunk is always allowed
     * @param laneRequests requests outstanding on one lane
     * @param chunks chunks that are outstanding or not proven, of all peers
     */
    public record Window(int lanesPerPeer, long chunkBytes, long laneBytes, int laneRequests, int chunks) {
        /** Checks the numbers. */
        public Window {
            check("lanesPerPeer", lanesPerPeer, 1, MAX_LANES);
            check("chunkBytes", chunkBytes, 1, EngineContext.MAX_CHUNK_BYTES);
            check("laneBytes", laneBytes, 1, Long.MAX_VALUE);
            check("laneRequests", laneRequests, 1, Cookies.MAX_SLOTS);
            check("chunks", chunks, 4, Cookies.MAX_SLOTS);
        }
    }

    /**
     * How long the machine waits for what, in nanoseconds.
     *
     * @param connectNs for a lane to open
     * @param stallNs for the next completion of a lane with requests outstanding, before it is broken; and for all requests of a read that
     *     was given up
     * @param drainNs for the next completion of a peer, while requests of a read that was given up are outstanding, before their lanes are
     *     broken
     * @param flushNs for the outstanding requests of a broken lane, before it is destroyed
     * @param backOffNs before a lost lane is connected again; doubled with each further loss
     * @param maxBackOffNs where that doubling ends
     */
    public record Times(long connectNs, long stallNs, long drainNs, long flushNs, long backOffNs, long maxBackOffNs) {
        /** Checks the numbers. */
        public Times {
            check("connectNs", connectNs, 1, Long.MAX_VALUE);
            check("stallNs", stallNs, 1, Long.MAX_VALUE);
            check("drainNs", drainNs, 0, Long.MAX_VALUE);
            check("flushNs", flushNs, 0, Long.MAX_VALUE);
            check("backOffNs", backOffNs, 1, maxBackOffNs);
            check("maxBackOffNs", maxBackOffNs, backOffNs, Long.MAX_VALUE);
        }

        /**
         * After which a read that was given up, or whose deadline passed, has ended, if the machine is polled all the time and its peer brings
         * nothing any more.
         *
         * @return nanoseconds
         */
        public long silentEndBoundNs() {
            return Math.min(drainNs, stallNs) + flushNs;
        }

        /**
         * The same whatever the peer does: one that is slow gets more time.
         *
         * @return nanoseconds
         */
        public long endBoundNs() {
            return stallNs + flushNs;
        }
    }

    /**
     * Four lanes a peer, 1 MiB chunks, 4 MiB or 16 requests outstanding on each.
     *
     * @return the default settings
     */
    public static OneSidedConfig defaults() {
        return new OneSidedConfig(new Window(4, EngineContext.MAX_CHUNK_BYTES, 4L << 20, 16, 4096),
                new Times(5_000_000_000L, 2_000_000_000L, 50_000_000, 100_000_000, 1_000_000, 1_000_000_000),
                4096, 1024, 8);
    }

    /**
     * The same with another window.
     *
     * @param newWindow what is outstanding at once
     * @return new settings
     */
    public OneSidedConfig withWindow(Window newWindow) {
        return new OneSidedConfig(newWindow, times, reads, peers, tries);
    }

    /**
     * The same with other times.
     *
     * @param newTimes how long the machine waits
     * @return new settings
     */
    public OneSidedConfig withTimes(Times newTimes) {
        return new OneSidedConfig(window, newTimes, reads, peers, tries);
    }

    private static void check(String name, long value, long least, long most) {
        if (value < least || value > most) {
            throw new MooncakeException(Kind.CONFIG_ERROR, "one-sided engine: " + name + " " + value
                    + " must be between " + least + " and " + most);
        }
    }
}
