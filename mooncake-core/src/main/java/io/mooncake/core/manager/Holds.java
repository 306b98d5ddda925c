package io.mooncake.core.manager;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Hold;
import io.mooncake.core.block.Tier;
import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;

/** The node's holds: begun and closed by any thread, ended by the conductor when their time is over. */
final class Holds {
    private static final int PER_CYCLE = 256;
    /** Ended holds that may lie in the queue beyond as many as are open. */
    private static final int SLACK = 256;

    private final SlotTable table;
    private final LongSupplier nanoClock;
    private final ConcurrentLinkedQueue<SlotHold> begun = new ConcurrentLinkedQueue<>();
    private final AtomicInteger open = new AtomicInteger();
    /** The conductor's alone. */
    private final PriorityQueue<SlotHold> byDeadline = new PriorityQueue<>(SlotHold::compareDeadline);

    Holds(SlotTable table, LongSupplier nanoClock) {
        this.table = table;
        this.nanoClock = nanoClock;
    }

    static void checkTtl(long ttlNs) {
        if (ttlNs <= 0) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT, "a time to live of " + ttlNs + " ns must be positive");
        }
    }

    /** {@link BlockManager#hold(List, Tier, long)}. */
    Hold hold(List<BlockId> ids, Tier tier, long ttlNs) {
        checkTtl(ttlNs);
        List<Entry> held = new ArrayList<>(ids.size());
        for (BlockId id : List.copyOf(ids)) {
            Entry top = table.blocks.get(id);
            Entry entry = top == null ? null : top.in(tier);
            if (entry == null || !table.hold(entry)) {
                break;
            }
            held.add(entry);
        }
        return begin(List.copyOf(held), ttlNs);
    }

    /** {@link BlockManager#hold(List, long)}. */
    Hold hold(List<BlockRef> refs, long ttlNs) {
        checkTtl(ttlNs);
        List<Entry> held = new ArrayList<>(refs.size());
        // Copied first: whatever is wrong with the list must show before anything is pinned.
        for (BlockRef ref : List.copyOf(refs)) {
            Entry entry = table.hold(ref);
            if (entry == null) {
                break;
            }
            held.add(entry);
        }
        return begin(List.copyOf(held), ttlNs);
    }

    /** Any thread: promises what the entries' pins keep. */
    SlotHold begin(List<Entry> held, long ttlNs) {
        SlotHold hold = new SlotHold(this, held, nowNs() + ttlNs);
        open.incrementAndGet();
        begun.add(hold);
        if (table.closed) {
            // endAll() may have been just before: nobody else would end this one.
            hold.close();
        }
        return hold;
    }

    /** Any thread. */
    void ended(List<Entry> entries) {
        open.decrementAndGet();
        entries.forEach(table::endHold);
    }

    long nowNs() {
        return nanoClock.getAsLong();
    }

    /** Conductor. */
    int endExpired(long nowNs) {
        int work = sort();
        int ended = 0;
        SlotHold first = byDeadline.peek();
        while (ended < PER_CYCLE && first != null && (first.isEnded() || first.isExpired(nowNs))) {
            byDeadline.poll();
            first.close();
            ended++;
            first = byDeadline.peek();
        }
        if (byDeadline.size() > 2 * open.get() + SLACK) {
            byDeadline.removeIf(SlotHold::isEnded);
        }
        return work + ended;
    }

    private int sort() {
        int sorted = 0;
        SlotHold hold = null;
        while (sorted < PER_CYCLE && (hold = begun.poll()) != null) {
            byDeadline.add(hold);
            sorted++;
        }
        return sorted;
    }

    /** Conductor, or who closes in its place. */
    void endAll() {
        while (sort() > 0) {
            // All of them, whatever the limit of a cycle.
        }
        // One by one, since closing one may run the conductor's work, and with it this queue's.
        SlotHold hold = byDeadline.poll();
        while (hold != null) {
            hold.close();
            hold = byDeadline.poll();
        }
    }
}
