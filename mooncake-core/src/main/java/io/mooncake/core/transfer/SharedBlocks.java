package io.mooncake.core.transfer;

import org.jspecify.annotations.Nullable;

/** The reader's side of views of peers' blocks: an engine that can address a peer's memory. */
@FunctionalInterface
public interface SharedBlocks {
    /** For a node that has no such engine. */
    SharedBlocks NONE = (owner, region, guardOffset, expected, offset, length) -> null;

    /**
     * Pins what a guard guards, in a peer's memory. Any thread; allocates nothing for a block that was pinned before, waits for nothing and
     * makes no system call.
     *
     * @param owner who has the bytes
     * @param region the owner's number of the region
     * @param guardOffset where the guard stands in the region's guard table
     * @param expected what the guard must read
     * @param offset first byte in the region
     * @param length bytes, 1 and up
     * @return null when the guard has another value, or the peer's memory cannot be addressed, or not yet: asking makes the engine try
     */
    @Nullable
    SharedBlock pin(Peer owner, int region, long guardOffset, long expected, long offset, long length);
}
