package io.mooncake.core.manager;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Counters;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockState;
import io.mooncake.core.block.Tier;
import io.mooncake.core.manager.BlockListener.EvictReason;
import io.mooncake.core.pool.GuardTable;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * The conductor's half: looks at marked slots and acts on what it finds there, and lets the {@link Evictor} work. One thread at a
 * time, but for {@link #want}.
 *
 * <p>What a marked slot asks for is not written down anywhere but in the slot: a mark may come late, twice, or for a block that is
 * gone, and is then harmless.
 */
final class Caretaker {
    private static final int MARKS_PER_CYCLE = 1024;
    private static final int LENT_PER_CYCLE = 256;

    /** The block was reported written. */
    private static final int ANNOUNCED = 1;
    /** The table does not name it any more, and whoever saw to that is done with the slot. */
    private static final int DETACHED = 2;
    /** Evicted and left by everybody here, but not by a reader of another process: it is looked at again and again. */
    private static final int LENT = 4;

    private final SlotTable table;
    private final BlockListener listener;
    private final Counters counters;
    private final byte[] flags;
    private final ArrayDeque<Entry> lent = new ArrayDeque<>();
    private boolean caughtUp;

    private final Compactor compactor;
    private final Evictor evictor;

    Caretaker(SlotTable table, Publication publication, ManagerConfig config, BlockListener listener) {
        this.table = table;
        this.listener = listener;
        counters = config.counters();
        flags = new byte[table.slots];
        compactor = new Compactor(table, publication, config, this::isSettled);
        evictor = new Evictor(table, config, compactor, this::leaves);
    }

    private boolean isSettled(int slot) {
        return flags[slot] == ANNOUNCED && evictor.isFree(slot);
    }

    /** Any thread: asks for a slot to be evicted; asking again before that is done changes nothing. */
    void want(BlockId id, long length, Tier tier) {
        if (evictor.want(id, length, tier)) {
            listener.onDue();
        }
    }

    /** Any thread: a block is to leave memory, being durable below. */
    void sink(Entry entry) {
        evictor.sink(entry);
        listener.onDue();
    }

    Evictor evictor() {
        return evictor;
    }

    Compactor compactor() {
        return compactor;
    }

    /** Any thread: {@link Compactor#ask}. */
    long compact() {
        long ticket = compactor.ask();
        listener.onDue();
        return ticket;
    }

    /** Whether the last duty cycle saw no mark left. */
    boolean isCaughtUp() {
        return caughtUp;
    }

    int doWork(long nowNs) {
        int work = table.streamEnds.doWork() + drainMarks() + freeLent() + (table.closed ? 0 : evictor.evict(nowNs));
        return work + compactor.work(nowNs, work > 0);
    }

    // ---- marks

    private int drainMarks() {
        int work = 0;
        caughtUp = false;
        while (work < MARKS_PER_CYCLE) {
            int slot = table.marks.take();
            if (slot == MarkStack.NONE) {
                caughtUp = true;
                break;
            }
            work++;
            act(slot);
        }
        return work;
    }

    private void act(int slot) {
        BlockState state = ControlWords.state(table.words.get(slot));
        long fate = table.words.fate(slot);
        if (state == BlockState.ALLOCATED && fate == SlotTable.RELEASED) {
            Space space = table.spaceOf(slot);
            long generation = GuardTable.generation(space.guards().read(slot - space.first()));
            table.free(space, slot, generation, BlockState.ALLOCATED);
            return;
        }
        Entry entry = table.entry(slot);
        if (entry == null || state == BlockState.ALLOCATED || state == BlockState.FREE) {
            return;
        }
        if (fate != 0) {
            if (fate == SlotTable.REPLACED) {
                announceSuccessor(entry);
            } else if (fate == SlotTable.MOVED) {
                moved(entry);
            }
            detach(entry, fate == SlotTable.REPLACED ? EvictReason.REPLACED : EvictReason.REQUESTED,
                    fate != SlotTable.UNSEEN && fate != SlotTable.MOVED);
            if (table.words.evictedUnheld(slot, entry.generation)) {
                entry.space.guards().evicted(entry.localSlot(), entry.generation);
            }
            freeIfLeft(entry);
        } else if (state == BlockState.WRITTEN) {
            announce(entry);
        }
    }

    /** What took a block's place is known before the block is gone, whichever was marked last: else for a moment there would be neither. */
    private void announceSuccessor(Entry replaced) {
        Entry next = table.blocks.get(replaced.ref.id());
        if (next != null && ControlWords.state(table.words.get(next.slot)) == BlockState.WRITTEN) {
            announce(next);
        }
    }

    /** Told in one step, so that nobody thinks that it is gone; unless whatever took it out of the table has been told already. */
    private void moved(Entry from) {
        Entry top = table.blocks.named(from.ref);
        Entry to = top == null ? null : top.in(from.tier);
        if (top == null || to == null
                || (flags[from.slot] & (ANNOUNCED | DETACHED)) != ANNOUNCED || (flags[to.slot] & ANNOUNCED) != 0) {
            return;
        }
        flags[to.slot] |= ANNOUNCED;
        evictor.arrived(to.slot);
        flags[from.slot] &= ~ANNOUNCED;
        evictor.left(from.slot);
        if (to.equals(top.forOthers())) {
            listener.onMoved(from.ref, to.ref);
        }
    }

    private void announce(Entry entry) {
        if ((flags[entry.slot] & ANNOUNCED) != 0) {
            evictor.changed(entry.slot);
        } else if (table.names(entry)) {
            // Else whoever took it out of the table, or is about to put it in, marks the slot after that.
            flags[entry.slot] |= ANNOUNCED;
            evictor.arrived(entry.slot);
            Entry top = table.blocks.get(entry.ref.id());
            listener.onWritten(entry.ref, top != null && entry.equals(top.forOthers()));
        }
    }

    private void detach(Entry entry, EvictReason reason, boolean counted) {
        int slot = entry.slot;
        int before = flags[slot];
        if ((before & DETACHED) != 0) {
            return;
        }
        flags[slot] = DETACHED;
        entry.space.pool().forget(entry.localSlot());
        if (counted) {
            counters.increment(switch (reason) {
                case POLICY -> Counter.EVICTIONS_POLICY;
                case REQUESTED -> Counter.EVICTIONS_REQUESTED;
                case REPLACED -> Counter.EVICTIONS_REPLACED;
            });
        }
        if ((before & ANNOUNCED) != 0) {
            evictor.left(slot);
            listener.onEvicted(entry.ref, left(entry), reason);
        }
    }

    /** What others are to ask for in the place of an entry that is about to go; null where they never asked for that, or nothing is left. */
    private @Nullable BlockRef left(Entry entry) {
        Entry top = table.blocks.named(entry.ref);
        if (top == null) {
            return null;
        }
        Entry best = top.forOthers();
        if ((flags[best.slot] & ANNOUNCED) == 0) {
            // Known before the other one is gone, and so that its own end will be told.
            announce(best);
        }
        boolean wasBest = entry.tier == Tier.DRAM || (!entry.slow && best.slow);
        return wasBest ? best.ref : null;
    }

    /**
     * EVICTED to FREE when the last pin is gone; a pin that is left marks the slot when it ends. Other processes mark nothing, so theirs
     * are looked for again and again; a closed manager writes no slot again, so it need not wait for them.
     */
    private boolean freeIfLeft(Entry entry) {
        int slot = entry.slot;
        if ((flags[slot] & DETACHED) == 0
                || table.words.get(slot) != ControlWords.word(entry.generation, BlockState.EVICTED, 0)) {
            return false;
        }
        if (!table.closed && entry.space.isPinnedElsewhere(slot)) {
            if ((flags[slot] & LENT) == 0) {
                flags[slot] |= LENT;
                lent.add(entry);
            }
            return false;
        }
        flags[slot] = 0;
        table.free(entry.space, slot, entry.generation, BlockState.EVICTED);
        return true;
    }

    private int freeLent() {
        int freed = 0;
        for (int left = Math.min(lent.size(), LENT_PER_CYCLE); left > 0; left--) {
            Entry entry = lent.remove();
            if (table.entry(entry.slot) == entry) {
                flags[entry.slot] &= ~LENT;
                freed += freeIfLeft(entry) ? 1 : 0;
            }
        }
        return freed;
    }

    // ---- policy

    /** What the policy evicted: taken out of the table and EVICTED just now. */
    private void leaves(Entry entry) {
        detach(entry, EvictReason.POLICY, true);
        freeIfLeft(entry);
    }
}
