package io.mooncake.core.transfer;

/** What became of one piece of a {@link Transfer}. */
public enum Outcome {
    /** Not ended. */
    PENDING,
    /** Its bytes are there and proven. */
    OK,
    /** Nobody has the block. */
    ABSENT,
    /** The block is another version, or was evicted meanwhile. */
    STALE,
    /** Not there by the deadline. */
    TIMED_OUT,
    /** Given up by the caller or by close. */
    CANCELED,
    /** Its bytes are damaged: no holder had those that were written. */
    CHECKSUM,
    /** No holder could be reached; see the cause. */
    UNREACHABLE,
    /** The range is not in the block, or a check refused it; see the cause. */
    REFUSED
}
