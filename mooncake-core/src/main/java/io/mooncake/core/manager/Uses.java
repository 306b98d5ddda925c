package io.mooncake.core.manager;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Counters;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.Version;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * What callers say of the use of blocks, kept for the policies: that they were used, and when they will be. Any thread.
 *
 * <p>It is advice, stored without a pin: where a slot has gone to another block just now, that one is as recent. No invariant hangs on it, since a
 * policy that goes by it evicts by the control word alone.
 */
final class Uses {
    private final SlotTable table;
    private final ForetoldUses foretold;
    private final Counters counters;
    private final LongSupplier nanoClock;
    private final AtomicLong lastTouch;

    Uses(SlotTable table, ForetoldUses foretold, ManagerConfig config) {
        this.table = table;
        this.foretold = foretold;
        counters = config.counters();
        nanoClock = config.nanoClock();
        lastTouch = new AtomicLong(nanoClock.getAsLong());
    }

    /** {@link BlockManager#touch(List)}. */
    void touch(List<BlockId> ids) {
        int count = ids.size();
        long first = nextTicks(count);
        for (int i = 0; i < count; i++) {
            Entry entry = table.blocks.get(ids.get(i));
            if (entry != null && table.words.used(entry.slot, first + i, i)) {
                counters.increment(Counter.PREFETCHES_USED);
            }
        }
    }

    /** {@link BlockManager#touch(BlockId)}. */
    void touch(BlockId id) {
        Entry entry = table.blocks.get(id);
        if (entry != null) {
            table.words.used(entry.slot, nanoClock.getAsLong());
        }
    }

    /** {@link BlockManager#broughtAhead}. */
    void broughtAhead(BlockId id, Version version) {
        Entry entry = table.blocks.get(id);
        if (entry != null && !entry.slow && entry.ref.version().equals(version)) {
            table.words.ahead(entry.slot);
            counters.increment(Counter.BLOCKS_PREFETCHED);
        }
    }

    /** Ticks that no other call of touch gets, now or as soon after as that allows. */
    private long nextTicks(int count) {
        while (true) {
            long last = lastTouch.get();
            long now = nanoClock.getAsLong();
            long first = now - last > 0 ? now : last + 1;
            if (lastTouch.compareAndSet(last, first + count - 1)) {
                return first;
            }
        }
    }

    /** {@link BlockManager#hint}. */
    void hint(List<BlockId> ids, long[] nextUseNs) {
        if (ids.size() != nextUseNs.length) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT, ids.size() + " blocks and " + nextUseNs.length
                    + " times of their next use: give as many times as blocks");
        }
        for (int i = 0; i < nextUseNs.length; i++) {
            foretell(ids.get(i), nextUseNs[i], i);
        }
    }

    private void foretell(BlockId id, long nextUseNs, int depth) {
        Entry entry = table.blocks.get(id);
        if (entry == null) {
            foretold.put(id, nextUseNs, depth);
            // It may have come between the look and the note.
            entry = table.blocks.get(id);
        }
        if (entry != null && table.words.nextUse(entry.slot) != nextUseNs) {
            table.words.foretold(entry.slot, nextUseNs, depth);
            table.mark(entry.slot);
        }
    }
}
