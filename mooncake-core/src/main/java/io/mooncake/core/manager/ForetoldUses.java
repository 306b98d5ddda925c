package io.mooncake.core.manager;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Counters;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.NextUse;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/** Hints of blocks that are not here yet: the last so many, each until its block comes. Any thread. */
final class ForetoldUses {
    private static final int PER_SLOT = 4;
    private static final int LEAST = 1024;

    private record Foretold(long nextUse, int depth) {}

    private final ConcurrentHashMap<BlockId, Foretold> byId = new ConcurrentHashMap<>();
    /** In the order in which they were given; some have come, or were taken back, meanwhile. */
    private final ConcurrentLinkedQueue<BlockId> given = new ConcurrentLinkedQueue<>();
    private final AtomicInteger count = new AtomicInteger();
    private final Counters counters;
    private final int limit;

    ForetoldUses(int slots, Counters counters) {
        this.counters = counters;
        limit = (int) Math.min(Integer.MAX_VALUE - 8, (long) PER_SLOT * slots + LEAST);
    }

    void put(BlockId id, long nextUse, int depth) {
        if (nextUse == NextUse.UNKNOWN) {
            byId.remove(id);
        } else if (byId.put(id, new Foretold(nextUse, depth)) == null) {
            given.add(id);
            BlockId oldest = count.incrementAndGet() > limit ? given.poll() : null;
            if (oldest != null) {
                count.decrementAndGet();
                if (byId.remove(oldest) != null) {
                    counters.increment(Counter.HINTS_DROPPED);
                }
            }
        }
    }

    /** The block has come: what was foretold of it is known of its slot now. */
    void apply(BlockId id, int slot, ControlWords words) {
        Foretold hint = byId.remove(id);
        if (hint != null) {
            words.foretold(slot, hint.nextUse, hint.depth);
        }
    }
}
