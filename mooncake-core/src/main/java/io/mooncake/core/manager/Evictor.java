package io.mooncake.core.manager;

import io.mooncake.core.block.NextUse;
import io.mooncake.core.manager.eviction.EvictionPolicy;
import io.mooncake.core.manager.eviction.SlotUse;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.function.Consumer;

/** Evicts by policy, for whoever needs room. The conductor's, but for {@link #want}. */
final class Evictor {
    private static final int CANDIDATES_PER_CYCLE = 256;
    /** Slots that are looked at, for each cycle that evicts, for hints whose time is over. */
    private static final int HINTS_PER_CYCLE = 64;

    /** Its policy knows the slot. */
    private static final int SEATED = 1;
    /** It was a candidate, but pinned: stands aside until the search is over. */
    private static final int PASSED = 2;

    private final SlotTable table;
    private final Consumer<Entry> evicted;
    private final int cachedBlocks;
    private final byte[] flags;
    private int hintsAt;

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

    Evictor(SlotTable table, ManagerConfig config, Consumer<Entry> evicted) {
        this.table = table;
        this.evicted = evicted;
        cachedBlocks = config.cachedBlocks();
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
        SlotUse use = new Use(table);
        Arrays.setAll(policies, c -> config.policy().apply(use));
        wanted = new AtomicIntegerArray(classes);
    }

    /** What the policies go by. */
    private record Use(SlotTable table) implements SlotUse {
        @Override
        public long lastUse(int slot) {
            return table.words.lastUse(slot);
        }

        @Override
        public int uses(int slot) {
            return table.words.uses(slot);
        }

        @Override
        public int depth(int slot) {
            return table.words.depth(slot);
        }

        @Override
        public long nextUse(int slot) {
            return table.words.nextUse(slot);
        }

        @Override
        public long key(int slot) {
            Entry entry = table.entry(slot);
            return entry == null ? 0 : entry.ref.id().hash();
        }
    }

    /** Any thread: asks for a slot to be evicted; false when there is none, or when that is asked already. */
    boolean want(long length) {
        int best = -1;
        for (int c = 0; c < classBytes.length; c++) {
            if (classBytes[c] >= length && (best < 0 || classBytes[c] < classBytes[best])) {
                best = c;
            }
        }
        return best >= 0 && wanted.get(best) == 0 && wanted.getAndSet(best, 1) == 0;
    }

    void seat(int slot) {
        flags[slot] = SEATED;
        policies[classOf[slot]].add(slot);
    }

    void unseat(int slot) {
        if ((flags[slot] & SEATED) != 0) {
            policies[classOf[slot]].remove(slot);
        }
        flags[slot] = 0;
    }

    /** What is known of its next use may have changed. */
    void changed(int slot) {
        if ((flags[slot] & SEATED) != 0) {
            policies[classOf[slot]].changed(slot);
        }
    }

    /**
     * Evicts for whoever needs it, in turn. A search goes on over cycles until it has found a victim or seen every candidate, so that
     * any number of pinned ones can't hide the others; then those that it passed are put back.
     *
     * @param blocks that are announced
     * @param nowNs on the node's clock
     */
    int evict(int blocks, long nowNs) {
        int left = blocks;
        int work = 0;
        int budget = CANDIDATES_PER_CYCLE;
        for (int turns = 0; turns <= classBytes.length && budget > 0;) {
            if (!searching && passedCount > 0) {
                putBack(passed[--passedCount]);
                budget--;
                continue;
            }
            int slot = isNeeded(left) ? oldest(need == 0 ? 0 : classBytes[need - 1]) : EvictionPolicy.NONE;
            if (slot == EvictionPolicy.NONE) {
                searching = false;
                need = need == classBytes.length ? 0 : need + 1;
                turns++;
                continue;
            }
            searching = true;
            budget--;
            if (tryEvict(slot)) {
                left--;
                work++;
            }
        }
        if (work > 0) {
            endHints(nowNs);
        }
        return work;
    }

    private boolean isNeeded(int blocks) {
        if (need == 0) {
            return blocks > cachedBlocks;
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
            int slot = classBytes[c] >= atLeastBytes ? policies[c].candidate() : EvictionPolicy.NONE;
            if (slot != EvictionPolicy.NONE && (oldest == EvictionPolicy.NONE
                    || table.words.lastUse(slot) - table.words.lastUse(oldest) < 0)) {
                oldest = slot;
            }
        }
        return oldest;
    }

    private boolean tryEvict(int slot) {
        Entry entry = table.entry(slot);
        if (entry == null) {
            throw new IllegalStateException("slot " + slot + " was announced and has no block");
        }
        if (entry.space.isPinnedElsewhere(slot) || !table.words.evictedUnpinned(slot, entry.generation)) {
            unseat(slot);
            pass(slot);
            return false;
        }
        policies[classOf[slot]].evicted(slot);
        flags[slot] = 0;
        boolean removed = table.blocks.remove(entry.ref.id(), entry);
        entry.space.guards().evicted(entry.localSlot(), entry.generation);
        if (removed) {
            evicted.accept(entry);
        }
        // Else somebody took it out of the table just now: the slot is freed at his mark.
        return true;
    }

    private void pass(int slot) {
        if (passedCount == passed.length) {
            passed = Arrays.copyOf(passed, 2 * passedCount);
        }
        passed[passedCount++] = slot;
        flags[slot] = PASSED;
    }

    private void putBack(int slot) {
        // Gone meanwhile, and perhaps another block in the slot: that one was not passed.
        if (flags[slot] == PASSED) {
            seat(slot);
        }
    }

    /** A use that was foretold and whose time is over counts as a use of that time, and foretells nothing more. */
    private void endHints(long nowNs) {
        for (int left = Math.min(HINTS_PER_CYCLE, flags.length); left > 0; left--) {
            int slot = hintsAt;
            hintsAt = hintsAt + 1 == flags.length ? 0 : hintsAt + 1;
            long nextUse = table.words.nextUse(slot);
            if ((flags[slot] & SEATED) != 0 && nextUse != NextUse.UNKNOWN && nextUse != NextUse.NEVER
                    && nextUse - nowNs < 0) {
                if (table.words.endNextUse(slot, nextUse)) {
                    changed(slot);
                }
            }
        }
    }
}
