package io.mooncake.core.manager;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Counters;
import io.mooncake.core.block.BlockState;
import io.mooncake.core.manager.BlockListener.EvictReason;
import io.mooncake.core.pool.GuardTable;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.function.IntToLongFunction;

/**
 * The conductor's half: looks at marked slots and acts on what it finds there, and evicts by policy. One thread at a time, but
 * for {@link #want}.
 *
 * <p>What a marked slot asks for is not written down anywhere but in the slot: a mark may come late, twice, or for a block that is
 * gone, and is then harmless.
 */
final class Caretaker {
    private static final int MARKS_PER_CYCLE = 1024;
    private static final int CANDIDATES_PER_CYCLE = 256;

    /** The block was reported written. */
    private static final int ANNOUNCED = 1;
    /** The table does not name it any more, and whoever saw to that is done with the slot. */
    private static final int DETACHED = 2;
    /** Its policy knows the slot. */
    private static final int SEATED = 4;
    /** It was a candidate, but pinned: stands aside until the search is over. */
    private static final int PASSED = 8;
    /** Evicted and left by everybody here, but not by a reader of another process: it is looked at again and again. */
    private static final int LENT = 16;

    private final SlotTable table;
    private final BlockListener listener;
    private final Counters counters;
    private final int cachedBlocks;
    private final IntToLongFunction lastUse;
    private final byte[] flags;
    private final ArrayDeque<Entry> lent = new ArrayDeque<>();
    private int announced;
    private boolean caughtUp;

    /** Size classes of all pools: the room of a slot, and a policy for each. */
    private final long[] classBytes;
    private final short[] classOf;
    private final EvictionPolicy[] policies;
    /** By class: somebody found no slot and wants one to be evicted. Any thread sets it. */
    private final AtomicIntegerArray wanted;

    /** Whom the current search is for: 0 = too many blocks, 1 + class = who wants a slot of it. */
    private int need;
    private boolean searching;
    private int[] passed = new int[16];
    private int passedCount;

    Caretaker(SlotTable table, ManagerConfig config, BlockListener listener) {
        this.table = table;
        this.listener = listener;
        counters = config.counters();
        cachedBlocks = config.cachedBlocks();
        lastUse = table.words::lastUse;
        flags = new byte[table.slots];
        classOf = new short[table.slots];
        long[] found = new long[16];
        int classes = 0;
        for (Space space : table.spaces) {
            int firstClass = classes;
            for (int slot = space.first(); slot < space.end(); slot++) {
                long bytes = space.pool().slotBytes(slot - space.first());
                int c = firstClass;
                while (c < classes && found[c] != bytes) {
                    c++;
                }
                if (c == classes) {
                    found = classes == found.length ? Arrays.copyOf(found, 2 * classes) : found;
                    found[classes++] = bytes;
                }
                classOf[slot] = (short) c;
            }
        }
        classBytes = Arrays.copyOf(found, classes);
        policies = new EvictionPolicy[classes];
        Arrays.setAll(policies, c -> config.policy().get());
        wanted = new AtomicIntegerArray(classes);
    }

    /** Any thread: asks for a slot to be evicted; asking again before that is done changes nothing. */
    void want(long length) {
        int best = -1;
        for (int c = 0; c < classBytes.length; c++) {
            if (classBytes[c] >= length && (best < 0 || classBytes[c] < classBytes[best])) {
                best = c;
            }
        }
        if (best >= 0 && wanted.get(best) == 0) {
            wanted.set(best, 1);
            listener.onDue();
        }
    }

    /** Whether the last duty cycle saw no mark left. */
    boolean isCaughtUp() {
        return caughtUp;
    }

    int doWork() {
        return drainMarks() + freeLent() + evict();
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
            }
            detach(entry, fate == SlotTable.REPLACED ? EvictReason.REPLACED : EvictReason.REQUESTED,
                    fate != SlotTable.UNSEEN);
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

    private void announce(Entry entry) {
        // Not in the table: whoever took it out, or is about to put it in, marks the slot after that.
        if ((flags[entry.slot] & ANNOUNCED) == 0 && table.blocks.get(entry.ref.id()) == entry) {
            flags[entry.slot] |= ANNOUNCED;
            announced++;
            seat(entry.slot);
            listener.onWritten(entry.ref);
        }
    }

    private void detach(Entry entry, EvictReason reason, boolean counted) {
        int slot = entry.slot;
        int before = flags[slot];
        if ((before & DETACHED) != 0) {
            return;
        }
        unseat(slot);
        flags[slot] = DETACHED;
        if (counted) {
            counters.increment(switch (reason) {
                case POLICY -> Counter.EVICTIONS_POLICY;
                case REQUESTED -> Counter.EVICTIONS_REQUESTED;
                case REPLACED -> Counter.EVICTIONS_REPLACED;
            });
        }
        if ((before & ANNOUNCED) != 0) {
            announced--;
            listener.onEvicted(entry.ref, reason);
        }
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
        for (int left = Math.min(lent.size(), CANDIDATES_PER_CYCLE); left > 0; left--) {
            Entry entry = lent.remove();
            if (table.entry(entry.slot) == entry) {
                flags[entry.slot] &= ~LENT;
                freed += freeIfLeft(entry) ? 1 : 0;
            }
        }
        return freed;
    }

    // ---- policy

    private void seat(int slot) {
        flags[slot] |= SEATED;
        policies[classOf[slot]].add(slot, table.words.lastUse(slot));
    }

    private void unseat(int slot) {
        if ((flags[slot] & SEATED) != 0) {
            flags[slot] &= ~SEATED;
            policies[classOf[slot]].remove(slot);
        }
    }

    /**
     * Evicts for whoever needs it, in turn. A search goes on over cycles until it has found a victim or seen every candidate, so that
     * any number of pinned ones can't hide the others; then those that it passed are put back.
     */
    private int evict() {
        if (table.closed) {
            return 0;
        }
        int work = 0;
        int budget = CANDIDATES_PER_CYCLE;
        for (int turns = 0; turns <= classBytes.length && budget > 0;) {
            if (!searching && passedCount > 0) {
                putBack(passed[--passedCount]);
                budget--;
                continue;
            }
            int slot = isNeeded() ? oldest(need == 0 ? 0 : classBytes[need - 1]) : EvictionPolicy.NONE;
            if (slot == EvictionPolicy.NONE) {
                searching = false;
                need = need == classBytes.length ? 0 : need + 1;
                turns++;
                continue;
            }
            searching = true;
            budget--;
            work += tryEvict(slot);
        }
        return work;
    }

    private boolean isNeeded() {
        if (need == 0) {
            return announced > cachedBlocks;
        }
        if (wanted.get(need - 1) == 0) {
            return false;
        }
        if (table.hasRoom(classBytes[need - 1])) {
            wanted.set(need - 1, 0);
            return false;
        }
        return true;
    }

    /** Of the candidates of all classes with enough room the one that was used least recently. */
    private int oldest(long atLeastBytes) {
        int oldest = EvictionPolicy.NONE;
        for (int c = 0; c < policies.length; c++) {
            int slot = classBytes[c] >= atLeastBytes ? policies[c].candidate(lastUse) : EvictionPolicy.NONE;
            if (slot != EvictionPolicy.NONE && (oldest == EvictionPolicy.NONE
                    || lastUse.applyAsLong(slot) - lastUse.applyAsLong(oldest) < 0)) {
                oldest = slot;
            }
        }
        return oldest;
    }

    private int tryEvict(int slot) {
        unseat(slot);
        Entry entry = table.entry(slot);
        if (entry == null) {
            throw new IllegalStateException("slot " + slot + " was announced and has no block");
        }
        if (entry.space.isPinnedElsewhere(slot) || !table.words.evictedUnpinned(slot, entry.generation)) {
            pass(slot);
            return 0;
        }
        boolean removed = table.blocks.remove(entry.ref.id(), entry);
        entry.space.guards().evicted(entry.localSlot(), entry.generation);
        if (removed) {
            detach(entry, EvictReason.POLICY, true);
            freeIfLeft(entry);
        }
        // Else somebody took it out of the table just now: the slot is freed at his mark.
        return 1;
    }

    private void pass(int slot) {
        if (passedCount == passed.length) {
            passed = Arrays.copyOf(passed, 2 * passedCount);
        }
        passed[passedCount++] = slot;
        flags[slot] |= PASSED;
    }

    private void putBack(int slot) {
        // Gone meanwhile, and perhaps another block in the slot: that one was not passed.
        if ((flags[slot] & PASSED) != 0) {
            flags[slot] &= ~PASSED;
            seat(slot);
        }
    }
}
