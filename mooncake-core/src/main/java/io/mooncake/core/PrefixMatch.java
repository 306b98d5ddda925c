package io.mooncake.core;

import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Tier;
import org.jspecify.annotations.Nullable;

/**
 * What {@link BlockStore#match} found of a request's blocks, and a hold on those that are on this node. Any thread.
 *
 * <p>The hold pins the blocks of the unbroken leading run that are here, in one step, and ends by {@link #close()} or by its time to
 * live. An empty match holds nothing, and closing it does nothing.
 */
public interface PrefixMatch extends AutoCloseable {
    /** What is known of one block. */
    enum Status {
        /** Nobody has it. */
        ABSENT,
        /** It is being written on this node. */
        PENDING,
        /** It can be read. */
        READY
    }

    /**
     * How many ids were asked for.
     *
     * @return as passed
     */
    int size();

    /**
     * The length of the leading run of READY blocks.
     *
     * @return 0 to {@link #size()}
     */
    int hits();

    /**
     * What is known of a block.
     *
     * @param index 0 to size - 1
     * @return its status
     */
    Status status(int index);

    /**
     * Where a READY block is.
     *
     * @param index 0 to size - 1
     * @return null when it is not READY
     */
    @Nullable
    BlockRef ref(int index);

    /**
     * How far a READY block is, as seen from here.
     *
     * @param index 0 to size - 1
     * @return null when it is not READY
     */
    @Nullable
    Tier tier(int index);

    /**
     * How long reading the whole of a READY block takes by itself, as the scheduler sees it: as measured, else as is usual at that distance.
     *
     * @param index 0 to size - 1
     * @return nanoseconds; 0 for a block of this node, -1 when it is not READY, {@link Long#MAX_VALUE} where there is no way to its holder
     */
    long cost(int index);

    /**
     * Valid bytes of a READY block.
     *
     * @param index 0 to size - 1
     * @return 0 when it is not READY
     */
    long validBytes(int index);

    /**
     * When the id of a PENDING block goes to the next writer.
     *
     * @param index 0 to size - 1
     * @return on the node's nano clock; 0 when it is not PENDING
     */
    long pendingUntilNs(int index);

    /** Ends the hold. The second time does nothing. */
    @Override
    void close();
}
