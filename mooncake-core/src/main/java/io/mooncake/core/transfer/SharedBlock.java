package io.mooncake.core.transfer;

import java.lang.foreign.MemorySegment;

/** A block of a peer's, pinned there and readable here without a copy. */
public interface SharedBlock {
    /**
     * The block's bytes.
     *
     * @return read-only, readable from any thread, not to be used after {@link #unpin}
     */
    MemorySegment segment();

    /** Ends one pin. Exactly once for each; any thread; allocates nothing. */
    void unpin();
}
