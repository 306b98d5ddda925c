package io.mooncake.core.schedule;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockRef;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Decides where to read from, and which nodes do what. Pure functions of their arguments; any thread. */
public interface Scheduler {
    /**
     * Chooses a holder of a block.
     *
     * @param holders who has it; perhaps several versions
     * @param bytes how much of it is to be read at most
     * @param view what to go by
     * @return one of the holders, or null when there is none
     */
    @Nullable
    BlockRef source(List<BlockRef> holders, long bytes, ClusterView view);

    /**
     * Splits a request into prefill and decode, on different nodes where two have room. By default the node computes it that is through with
     * it first, counting what it has to fetch of the cached run, and what it has to compute already; and the one decodes that has all blocks
     * first. Nodes of which it is known that there is room now go before those that would have to wait for it, and of equals the one with the
     * largest share that is free.
     *
     * @param request what is to be served
     * @param view what to go by
     * @return who does what
     * @throws MooncakeException OUT_OF_MEMORY when no node is large enough
     */
    default PlacementPlan plan(PlanRequest request, ClusterView view) {
        return PrefillDecode.plan(request, view);
    }

    /**
     * Chooses where a new block goes. By default to the node of which the largest share is free, so that nodes of different size fill up together and none
     * evicts while another one has free memory.
     *
     * @param bytes of the block
     * @param view what to go by
     * @return one of the members; null when none is large enough
     */
    default @Nullable NodeId place(long bytes, ClusterView view) {
        return PrefillDecode.place(bytes, view);
    }

    /**
     * The highest version from the nearest holder; of equally near ones from one that was not measured lately, then from the one that is
     * clearly faster with what it has to do, then from the least loaded.
     *
     * @return the default scheduler
     */
    static Scheduler cheapestHolder() {
        return CheapestHolder.INSTANCE;
    }
}
