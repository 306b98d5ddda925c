package io.mooncake.core.schedule;

import io.mooncake.core.block.BlockRef;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The cheapest holder by cost, ties by load. For content-addressed ids every version is as good as another. */
final class CheapestHolder implements Scheduler {
    static final Scheduler INSTANCE = new CheapestHolder();

    private CheapestHolder() {}

    @Override
    public @Nullable BlockRef source(List<BlockRef> holders, ClusterView view) {
        BlockRef best = null;
        for (int i = 0; i < holders.size(); i++) {
            BlockRef holder = holders.get(i);
            if (best == null || isBetter(holder, best, view)) {
                best = holder;
            }
        }
        return best;
    }

    private static boolean isBetter(BlockRef holder, BlockRef best, ClusterView view) {
        int byVersion = holder.id().isContentAddressed() ? 0 : holder.version().compareTo(best.version());
        if (byVersion != 0) {
            return byVersion > 0;
        }
        long cost = view.cost(holder.node());
        long bestCost = view.cost(best.node());
        return cost != bestCost ? cost < bestCost : view.load(holder.node()) < view.load(best.node());
    }

    @Override
    public String toString() {
        return "cheapest-holder";
    }
}
