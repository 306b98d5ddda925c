package io.mooncake.core.schedule;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.Tier;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * A request that is to be served by nodes which a {@link Scheduler} chooses: a prompt, of which a leading run of blocks may be cached
 * somewhere, to be computed by one node and decoded by another. Immutable.
 *
 * @param blocks of the prompt, in its order, each once: 1 to {@value #MAX_BLOCKS}; by ids that say what is in them, since any version will do
 * @param blockBytes of each of them, positive; of all together, with those that decoding will add, less than 2^63
 * @param outputBlocks that decoding will add, for which the node that does has to have room
 * @param computeNs what computing one block takes, as its caller measured it: positive
 * @param tier where its blocks are to be at the nodes that serve it while they do: DRAM, or VRAM at nodes that have it
 * @param tag the caller's, told to those who compute: the number of the request, for example
 * @param avoided nodes that are to get nothing to do
 */
public record PlanRequest(List<BlockId> blocks, long blockBytes, int outputBlocks, long computeNs, Tier tier, long tag,
        Set<NodeId> avoided) {
    /** Blocks at most: what one control message names. */
    public static final int MAX_BLOCKS = 1024;
    /** What is assumed of computing a block where the caller says nothing. */
    public static final long USUAL_COMPUTE_NS = 10_000_000;

    /**
     * Copies, and checks the numbers.
     *
     * @throws MooncakeException INVALID_ARGUMENT
     */
    public PlanRequest {
        blocks = List.copyOf(blocks);
        avoided = Set.copyOf(avoided);
        if (blocks.isEmpty() || blocks.size() > MAX_BLOCKS || new HashSet<>(blocks).size() < blocks.size()) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT, "a request of " + blocks.size()
                    + " blocks: give it 1 to " + MAX_BLOCKS + ", each once");
        }
        if (tier == Tier.SLOW) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT,
                    "a request of blocks in tier SLOW: nobody computes there; name DRAM or VRAM");
        }
        if (blockBytes <= 0 || outputBlocks < 0 || computeNs <= 0) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT, "a request of blocks of " + blockBytes + " bytes, "
                    + computeNs + " ns each, that adds " + outputBlocks
                    + ": bytes and time must be positive, and what it adds not negative");
        }
        if (blocks.size() + (long) outputBlocks > Long.MAX_VALUE / blockBytes) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT, "a request of " + blocks.size() + " blocks, and "
                    + outputBlocks + " that it adds, of " + blockBytes
                    + " bytes each: no memory is so large; give the bytes of one block");
        }
    }

    /**
     * A request that adds no block, of blocks in host memory.
     *
     * @param blocks of the prompt, in its order
     * @param blockBytes of each of them
     * @return with tag 0
     */
    public static PlanRequest of(List<BlockId> blocks, long blockBytes) {
        return new PlanRequest(blocks, blockBytes, 0, USUAL_COMPUTE_NS, Tier.DRAM, 0, Set.of());
    }

    /**
     * With another tag.
     *
     * @param tag the caller's
     * @return a copy
     */
    public PlanRequest withTag(long tag) {
        return new PlanRequest(blocks, blockBytes, outputBlocks, computeNs, tier, tag, avoided);
    }

    /**
     * With room for what decoding adds.
     *
     * @param outputBlocks how many blocks that is
     * @return a copy
     */
    public PlanRequest withOutput(int outputBlocks) {
        return new PlanRequest(blocks, blockBytes, outputBlocks, computeNs, tier, tag, avoided);
    }

    /**
     * With a measured time.
     *
     * @param computeNs what computing one block takes
     * @return a copy
     */
    public PlanRequest withComputeNs(long computeNs) {
        return new PlanRequest(blocks, blockBytes, outputBlocks, computeNs, tier, tag, avoided);
    }

    /**
     * With its blocks somewhere else.
     *
     * @param tier VRAM or DRAM
     * @return a copy
     * @throws MooncakeException INVALID_ARGUMENT for SLOW
     */
    public PlanRequest withTier(Tier tier) {
        return new PlanRequest(blocks, blockBytes, outputBlocks, computeNs, tier, tag, avoided);
    }

    /**
     * The same without some nodes.
     *
     * @param avoided nodes that are to get nothing to do; what they have may be read all the same
     * @return a copy
     */
    public PlanRequest withAvoided(Set<NodeId> avoided) {
        return new PlanRequest(blocks, blockBytes, outputBlocks, computeNs, tier, tag, avoided);
    }
}
