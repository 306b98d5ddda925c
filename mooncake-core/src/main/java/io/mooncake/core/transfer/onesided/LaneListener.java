package io.mooncake.core.transfer.onesided;

import io.mooncake.core.base.MooncakeException;

/** Told what happens to one lane. Called by {@link Fabric#poll} only, never after {@link Lane#destroy}. */
public interface LaneListener {
    /** The peer answered, in the process life asked for: requests may be posted. */
    void onOpen();

    /**
     * The lane could not be connected, or is broken: each outstanding request will complete. May come before or after those.
     *
     * @param cause STALE_INCARNATION for another process life, else what failed
     */
    void onBroken(MooncakeException cause);

    /**
     * The peer's answer about a region has come.
     *
     * @param number the peer's number of it
     */
    void onRegion(int number);
}
