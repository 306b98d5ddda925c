package io.mooncake.core;

import io.mooncake.core.base.ByteSize;
import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Counters;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;

/**
 * How fast blocks may be fetched ahead of their use: so many bytes a second, times the share of such guesses that proved right of late. Any
 * thread; a short lock.
 */
final class PrefetchBudget {
    /** What was not used for so long may be used at once. */
    private static final long BURST_NS = 100_000_000;
    /** So many guesses are looked at together. */
    private static final int JUDGED_TOGETHER = 16;
    /** However wrong they were: else it could not be seen that they are right again. */
    private static final double LEAST = 1.0 / 16;

    private final long bytesPerSecond;
    private final Counters counters;
    /** Before that everything is spent. */
    private long spentUntilNs;
    private boolean begun;
    private long used;
    private long wrong;
    private double right = 1;

    PrefetchBudget(long bytesPerSecond, Counters counters) {
        this.bytesPerSecond = bytesPerSecond;
        this.counters = counters;
    }

    /** False when they are not to be fetched yet. However many they are, some time they are. */
    synchronized boolean take(long bytes, long nowNs) {
        judge();
        if (!begun || nowNs - spentUntilNs > BURST_NS) {
            begun = true;
            spentUntilNs = nowNs - BURST_NS;
        }
        if (spentUntilNs - nowNs > 0) {
            return false;
        }
        spentUntilNs += (long) Math.ceil(bytes * 1e9 / (bytesPerSecond * right));
        return true;
    }

    private void judge() {
        long nowUsed = counters.get(Counter.PREFETCHES_USED);
        long nowWrong = counters.get(Counter.PREFETCHES_WRONG);
        long judged = nowUsed - used + nowWrong - wrong;
        if (judged >= JUDGED_TOGETHER) {
            right = Math.max(LEAST, (right + (nowUsed - used) / (double) judged) / 2);
            used = nowUsed;
            wrong = nowWrong;
        }
    }

    /** Why a block's time was over before it was its turn. */
    MooncakeException refusal(BlockId id) {
        return new MooncakeException(Kind.BACK_PRESSURE, "block " + id + " was not fetched ahead: " + this
                + "; prefetch less, later, or what is used, or set prefetch.bandwidth higher");
    }

    /** For messages. */
    @Override
    public synchronized String toString() {
        return "the budget is " + Math.round(100 * right) + " % (the share of such guesses that proved right) of "
                + ByteSize.format(bytesPerSecond) + " a second";
    }
}
