package io.mooncake.core.schedule;

import io.mooncake.core.base.Hop;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Tier;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The holders in this order, the first difference decides. For content-addressed ids every version is as good as another.
 *
 * <pre>
 *   version     the highest
 *   tier        host memory before a device's, that before a file: from these it has to be brought there first
 *   hop         the nearest
 *   due         one that a read would tell something about: so nothing that was slow once is left for ever
 *   time        what a read takes there, times the reads that are ahead of it and itself: {@value #CLEARLY} times less is clearly less,
 *               since measurements differ by chance, and everybody's following them would load one holder alone
 *   load        the fewest reads outstanding
 *   order       the first
 * </pre>
 */
final class CheapestHolder implements Scheduler {
    static final Scheduler INSTANCE = new CheapestHolder();
    static final int CLEARLY = 2;

    private CheapestHolder() {}

    @Override
    public @Nullable BlockRef source(List<BlockRef> holders, long bytes, ClusterView view) {
        BlockRef best = null;
        for (int i = 0; i < holders.size(); i++) {
            BlockRef holder = holders.get(i);
            if (best == null || isBetter(holder, best, bytes, view)) {
                best = holder;
            }
        }
        return best;
    }

    private static boolean isBetter(BlockRef holder, BlockRef best, long bytes, ClusterView view) {
        int byVersion = holder.id().isContentAddressed() ? 0 : holder.version().compareTo(best.version());
        if (byVersion != 0) {
            return byVersion > 0;
        }
        if (holder.tier() != best.tier()) {
            return holder.tier() == Tier.DRAM || best.isInFile();
        }
        Hop hop = view.hop(holder);
        int byHop = hop.compareTo(view.hop(best));
        if (byHop != 0 || hop == Hop.NODE) {
            return byHop < 0;
        }
        boolean due = view.isDue(holder, bytes(holder, bytes));
        if (due != view.isDue(best, bytes(best, bytes))) {
            return due;
        }
        double time = time(holder, bytes, view);
        double bestTime = time(best, bytes, view);
        return CLEARLY * time < bestTime
                || (time <= CLEARLY * bestTime && view.load(holder.node()) < view.load(best.node()));
    }

    private static double time(BlockRef holder, long bytes, ClusterView view) {
        return (double) view.expectedNs(holder, bytes(holder, bytes)) * (view.load(holder.node()) + 1);
    }

    private static long bytes(BlockRef holder, long bytes) {
        return Math.min(bytes, holder.length());
    }

    @Override
    public String toString() {
        return "cheapest-holder";
    }
}
