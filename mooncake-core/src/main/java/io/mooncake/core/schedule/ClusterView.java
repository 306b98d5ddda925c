package io.mooncake.core.schedule;

import io.mooncake.core.base.Hop;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockRef;

/** What a decision may know. Values of one moment; a scheduler asks and remembers nothing. */
public interface ClusterView {
    /**
     * The node that decides.
     *
     * @return this node
     */
    NodeId self();

    /**
     * How far a holder is.
     *
     * @param holder of a block
     * @return NODE for this one
     */
    Hop hop(BlockRef holder);

    /**
     * How long a read takes that waits for no other: as measured, and as long as it is not, what is usual at that distance.
     *
     * @param holder of a block
     * @param bytes to be read
     * @return nanoseconds; 0 from this node, {@link Long#MAX_VALUE} where there is no way
     */
    long expectedNs(BlockRef holder, long bytes);

    /**
     * Whether a read would tell something: nothing is outstanding on the way to the holder, and what is known of it is old, in doubt, or
     * nothing. So a way that was slow is tried again.
     *
     * @param holder of a block
     * @param bytes to be read
     * @return false from this node
     */
    boolean isDue(BlockRef holder, long bytes);

    /**
     * Reads of this node outstanding at another.
     *
     * @param node a holder
     * @return 0 and up
     */
    int load(NodeId node);
}
