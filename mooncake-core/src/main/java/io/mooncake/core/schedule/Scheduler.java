package io.mooncake.core.schedule;

import io.mooncake.core.block.BlockRef;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Decides where to read from. A pure function of its arguments; any thread. */
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
     * The highest version from the nearest holder; of equally near ones from one that was not measured lately, then from the one that is
     * clearly faster with what it has to do, then from the least loaded.
     *
     * @return the default scheduler
     */
    static Scheduler cheapestHolder() {
        return CheapestHolder.INSTANCE;
    }
}
