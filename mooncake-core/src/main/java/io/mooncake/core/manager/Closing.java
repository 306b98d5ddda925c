package io.mooncake.core.manager;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.Waiter;
import io.mooncake.core.pool.BlockPool;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;

/**
 * How a manager ends: evicts everything, waits, and closes the pools; those that are still in use, later, by whoever ends the last use.
 *
 * <p>The conductor's thread has ended before. Its work is done under the lock from then on: by close while that waits, afterwards by
 * the table's {@link SlotTable#successor}, in the thread of each who gives something back.
 */
final class Closing {
    private final SlotTable table;
    private final Holds holds;
    private final Caretaker caretaker;
    private final Waiter waiter;
    private final LongSupplier nanoClock;

    private final Object lock = new Object();
    /** Under the lock, by the thread that has it: giving back may come of the work itself, and then leaves it to that. */
    private boolean finishing;

    Closing(SlotTable table, ManagerConfig config, Holds holds, Caretaker caretaker) {
        this.table = table;
        this.holds = holds;
        this.caretaker = caretaker;
        waiter = config.waiter();
        nanoClock = config.nanoClock();
    }

    /** {@link BlockManager#close}. */
    void close(long deadlineNs) {
        table.closed = true;
        synchronized (lock) {
            work();
        }
        // What was evicted or replaced before has left every pool by now; what is evicted from here on stays in those that do not forget.
        for (Space space : table.spaces) {
            space.pool().keep();
        }
        waiter.await(this::drained, deadlineNs);
        synchronized (lock) {
            // In this order: who ends a pin after this sees that he is to do the conductor's work.
            table.successor = this::finish;
            holds.endAll();
        }
        finish();
        List<String> kept = new ArrayList<>();
        for (Space space : table.spaces) {
            if (!isIdle(space)) {
                kept.add(space.pool().name());
            }
        }
        if (!kept.isEmpty()) {
            throw new MooncakeException(Kind.IN_USE, "node " + table.self + " keeps the memory of " + kept
                    + " mapped until these end: " + Census.holders(table) + "; close them");
        }
    }

    private boolean drained() {
        synchronized (lock) {
            drain();
        }
        for (Space space : table.spaces) {
            if (!isIdle(space)) {
                return false;
            }
        }
        return true;
    }

    private void drain() {
        for (Entry entry : table.blocks.all()) {
            table.remove(entry, SlotTable.REQUESTED);
        }
        work();
    }

    private void work() {
        long nowNs;
        do {
            nowNs = nanoClock.getAsLong();
            // Bounded by what there is: nothing new comes to a closed manager.
        } while (holds.endExpired(nowNs) + caretaker.doWork(nowNs) > 0);
    }

    /** For whoever gave something back after the conductor was gone. */
    private void finish() {
        synchronized (lock) {
            if (finishing) {
                return;
            }
            finishing = true;
            try {
                drain();
                for (Space space : table.spaces) {
                    if (isIdle(space)) {
                        space.pool().close();
                    }
                }
            } finally {
                finishing = false;
            }
        }
    }

    private static boolean isIdle(Space space) {
        BlockPool.Usage usage = space.pool().usage();
        return usage.used() == 0 && usage.quarantined() == 0;
    }
}
