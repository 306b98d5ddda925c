package io.mooncake.core.schedule;

import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.NextUse;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;

/**
 * When the requests that are queued will use which blocks: what {@code BlockStore.hint} is told. One thread at a time.
 *
 * <pre>
 *   queued(ids, when);   store.hint(ids, nextUses(ids))    a request came
 *   left(ids, when);     store.hint(ids, nextUses(ids))    it begins, or is given up
 * </pre>
 */
public final class LookAhead {
    private final Map<BlockId, PriorityQueue<Long>> uses = new HashMap<>();

    /** Nothing is queued. */
    public LookAhead() {}

    /**
     * A request is queued.
     *
     * @param ids its blocks
     * @param whenNs when it is expected to use them, on the node's clock
     */
    public void queued(List<BlockId> ids, long whenNs) {
        for (BlockId id : ids) {
            // By the difference, since clocks wrap.
            uses.computeIfAbsent(id, _ -> new PriorityQueue<>(2, (a, b) -> Long.signum(a - b))).add(whenNs);
        }
    }

    /**
     * A request is not queued any more.
     *
     * @param ids as queued
     * @param whenNs as queued
     */
    public void left(List<BlockId> ids, long whenNs) {
        for (BlockId id : ids) {
            PriorityQueue<Long> times = uses.get(id);
            if (times != null && times.remove(whenNs) && times.isEmpty()) {
                uses.remove(id);
            }
        }
    }

    /**
     * When a queued request uses a block next.
     *
     * @param id the block
     * @return as queued; {@link NextUse#UNKNOWN} when none does
     */
    public long nextUse(BlockId id) {
        PriorityQueue<Long> times = uses.get(id);
        Long first = times == null ? null : times.peek();
        return first == null ? NextUse.UNKNOWN : first;
    }

    /**
     * The same for the blocks of a request.
     *
     * @param ids blocks
     * @return one time for each
     */
    public long[] nextUses(List<BlockId> ids) {
        long[] times = new long[ids.size()];
        for (int i = 0; i < times.length; i++) {
            times[i] = nextUse(ids.get(i));
        }
        return times;
    }
}
