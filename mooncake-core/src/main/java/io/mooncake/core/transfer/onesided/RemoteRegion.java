package io.mooncake.core.transfer.onesided;

import io.mooncake.core.base.MooncakeException;
import org.jspecify.annotations.Nullable;

/**
 * A peer's region as one lane can read it. The fabric keeps addresses and keys behind it; keys of another registration (another key
 * epoch) break the lane, and the next lane asks anew. The poller's.
 */
public interface RemoteRegion {
    /** What of it is read. */
    enum Part {
        /** Its bytes. */
        BYTES,
        /** Its guard table. */
        GUARDS,
        /** The checksums of its blocks. */
        CHECKSUMS
    }

    /**
     * Whether the peer has answered.
     *
     * @return false until {@link LaneListener#onRegion}
     */
    boolean isAnswered();

    /**
     * Why it may not be read.
     *
     * @return null when it may
     */
    @Nullable
    MooncakeException refusal();

    /**
     * The region's bytes.
     *
     * @return more than 0 when it may be read
     */
    long length();

    /**
     * The bytes of its guard table.
     *
     * @return 0 for a region without guards; it is read only together with a guard where there are some
     */
    long guardBytes();

    /**
     * The bytes of its {@link io.mooncake.core.transfer.UnitChecksums}, an entry for each guard.
     *
     * @return 0 for a region whose blocks have none
     */
    long checksumBytes();
}
