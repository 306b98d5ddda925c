package io.mooncake.core;

import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.schedule.PlacementPlan.Action;
import java.util.List;

/**
 * What computes at a node for the plans of any node: the engine's side of {@link BlockMover#run}. Set by {@link BlockMover#computeBy}.
 */
@FunctionalInterface
public interface PlanWorker {
    /**
     * Begins to compute. Called by the callback executor: must not block, and hands over to a thread of its own.
     *
     * @param task what; to be ended, whatever becomes of it
     */
    void compute(Task task);

    /**
     * Blocks to be computed, or to be used. Its memory stays until it is ended, also when its plan was canceled, or its asker died. Any thread, one
     * at a time.
     */
    interface Task {
        /**
         * Which request it belongs to.
         *
         * @return as in the request
         */
        long tag();

        /**
         * What is to be done.
         *
         * @return PREFILL: to fill {@link #writers()}; all blocks of the request before these are on this node. DECODE: to go on from the blocks,
         *     all of which are on this node
         */
        Action action();

        /**
         * The blocks that it is about.
         *
         * @return in the order of the request
         */
        List<BlockId> blocks();

        /**
         * Where to write those of them that are not there. The plan seals them; they are neither committed nor closed by the worker.
         *
         * @return in the order of the blocks, each as long as a block of the request; none for DECODE, and for what came here meanwhile
         */
        List<BlockWriter> writers();

        /**
         * Whether nobody wants it any more, so that it is best ended at once.
         *
         * @return true once its plan is over
         */
        boolean isCanceled();

        /** Ends it: it is done, and every byte is written. The second end does nothing. */
        void done();

        /**
         * Ends it: it can't be done, here or elsewhere; its plan fails.
         *
         * @param why for people
         */
        void failed(String why);
    }
}
