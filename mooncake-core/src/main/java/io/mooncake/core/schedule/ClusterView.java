package io.mooncake.core.schedule;

import io.mooncake.core.base.Hop;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.base.Site;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Tier;
import io.mooncake.core.registry.PairFigures;
import java.util.List;

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

    /**
     * A node that blocks can be placed on, in one of its tiers, as it is known at this moment.
     *
     * @param node who
     * @param site where it runs
     * @param bytes of its memory for blocks, in that tier
     * @param freeBytes of that what is nobody's, less what was promised since it said so
     * @param cachedBytes of that what makes room when it is needed, less what was promised beyond what is free
     * @param computing blocks that it was given to compute by this node and has not computed yet
     */
    record Member(NodeId node, Site site, long bytes, long freeBytes, long cachedBytes, int computing) {
        /**
         * What there is room for.
         *
         * @return bytes that are free or make room
         */
        public long roomBytes() {
            return freeBytes + cachedBytes;
        }
    }

    /**
     * Who is there.
     *
     * @return the live nodes that said what room they have, with their host memory
     */
    default List<Member> members() {
        return members(Tier.DRAM);
    }

    /**
     * Who has a tier.
     *
     * @param tier VRAM or DRAM
     * @return the live nodes that said what room they have there
     */
    List<Member> members(Tier tier);

    /**
     * Who has a block.
     *
     * @param id the block
     * @return as far as is known
     */
    List<BlockRef> holders(BlockId id);

    /**
     * What reads between nodes take.
     *
     * @return the pairs that were measured
     */
    List<PairFigures> figures();
}
