package io.mooncake.core.transfer;

/** How one {@link GuardedRead} ended. */
public enum ReadStatus {
    /** Every byte arrived and the guard, fetched after it, had the expected value. */
    OK,
    /** The guard had another value: the bytes prove nothing. */
    STALE,
    /** A unit's bytes are not those that the block's writer summed up, although the guard had the expected value. */
    CHECKSUM,
    /** A check on either side refused it: unknown region, bounds, access, key epoch; see the cause. */
    REFUSED,
    /** The owner could not be reached, or is another process life; see the cause. */
    UNREACHABLE,
    /** Its deadline passed. */
    TIMED_OUT,
    /** Its transfer was given up, or the engine closed. */
    CANCELED
}
