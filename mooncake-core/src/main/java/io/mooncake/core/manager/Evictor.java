package io.mooncake.core.manager;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Counters;
import io.mooncake.core.block.BlockState;
import io.mooncake.core.block.NextUse;
import io.mooncake.core.block.Tier;
import io.mooncake.core.manager.eviction.EvictionPolicy;
import io.mooncake.core.manager.eviction.SlotUse;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Evicts by policy, for whoever needs room in a tier. The conductor's, but for {@link #want}.
 *
 * <p>Where there is a slower tier, a victim is made durable there before it goes; meanwhile its room counts as good as free, so that not
 * more leave than need be.
 */
final class Evictor {
    private static final int CANDIDATES_PER_CYCLE = 256;
    /** Slots that are looked at, for each cycle that evicts, for hints whose time is over. */
    private static final int HINTS_PER_CYCLE = 64;

    /** Its policy knows the slot. */
    private static final int SEATED = 1;
    /** It was a candidate, but pinned: stands aside until the search is over. */
    private static final int PASSED = 2;
    /** It is being made durable, to be evicted then. */
    private static final int LEAVING = 3;

    /** Blocks that are made durable at a time. */
    private static final int MAX_LEAVING = 16;
    /** A slow tier keeps one slot of so many free, and at least one: so what is demoted never waits for long. */
    private static final int SLOW_SPARE_SHARE = 64;
    private static final int TIERS = Tier.values().length;

    private record Leaving(Entry entry, long lastUse, BooleanSupplier over) {}

    private final SlotTable table;
    private final Consumer<Entry> evicted;
    private final Counters counters;
    /** By tier: blocks that are kept at most, and that are there. */
    private final int[] cachedBlocks = new int[TIERS];
    private final int[] blocks = new int[TIERS];
    private final byte[] flags;
    private final ArrayDeque<Leaving> leaving = new ArrayDeque<>();
    /** Blocks that are to leave memory, being durable below. */
    private final ConcurrentLinkedQueue<Entry> toSink = new ConcurrentLinkedQueue<>();
    private final ArrayDeque<Entry> sinking = new ArrayDeque<>();
    private @Nullable Demoter demoter;
    private int hintsAt;

    /** Size classes of all pools: the room of a slot, and a policy for each. */
    private final long[] classBytes;
    private final short[] classOf;
    private final Tier[] tierOf;
    private final EvictionPolicy[] policies;
    /** By class: somebody found no slot and wants one to be evicted. Any thread sets it. */
    private final AtomicIntegerArray wanted;

    /** Whom the current search is for: a tier that has too many blocks, or, after those, who wants a slot of a class. */
    private int need;
    private boolean searching;
    private int[] passed = new int[16];
    private int passedCount;

    Evictor(SlotTable table, ManagerConfig config, Consumer<Entry> evicted) {
        this.table = table;
        this.evicted = evicted;
        counters = config.counters();
        cachedBlocks[Tier.DRAM.ordinal()] = config.cachedBlocks();
        flags = new byte[table.slots];
        classOf = new short[table.slots];
        long[] found = new long[16];
        Tier[] tiers = new Tier[16];
        int classes = 0;
        for (Space space : table.spaces) {
            int firstClass = classes;
            if (space.isSlow()) {
                cachedBlocks[Tier.SLOW.ordinal()] += space.pool().slots()
                        - Math.max(1, space.pool().slots() / SLOW_SPARE_SHARE);
            }
            for (int slot = space.first(); slot < space.end(); slot++) {
                long bytes = space.pool().slotBytes(slot - space.first());
                int c = firstClass;
                while (c < classes && found[c] != bytes) {
                    c++;
                }
                if (c == classes) {
                    found = classes == found.length ? Arrays.copyOf(found, 2 * classes) : found;
                    tiers = Arrays.copyOf(tiers, found.length);
                    tiers[classes] = space.pool().tier();
                    found[classes++] = bytes;
                }
                classOf[slot] = (short) c;
            }
        }
        classBytes = Arrays.copyOf(found, classes);
        tierOf = Arrays.copyOf(tiers, classes);
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

    void demoteBy(Demoter by) {
        demoter = by;
    }

    int blocks(Tier tier) {
        return blocks[tier.ordinal()];
    }

    /** Any thread: asks for a slot to be evicted; false when there is none, or when that is asked already. */
    boolean want(long length, Tier tier) {
        int best = -1;
        for (int c = 0; c < classBytes.length; c++) {
            if (tierOf[c] == tier && classBytes[c] >= length && (best < 0 || classBytes[c] < classBytes[best])) {
                best = c;
            }
        }
        return best >= 0 && wanted.get(best) == 0 && wanted.getAndSet(best, 1) == 0;
    }

    /** Any thread: the block leaves memory as soon as nobody has it pinned, if it is durable below by then. */
    void sink(Entry entry) {
        toSink.add(entry);
    }

    /** A block has come. */
    void arrived(int slot) {
        blocks[tier(slot)]++;
        seat(slot);
    }

    /** It has gone, or will as soon as nobody keeps it. */
    void left(int slot) {
        blocks[tier(slot)]--;
        unseat(slot);
    }

    private int tier(int slot) {
        return tierOf[classOf[slot]].ordinal();
    }

    private void seat(int slot) {
        flags[slot] = SEATED;
        policies[classOf[slot]].add(slot);
    }

    private void unseat(int slot) {
        if (flags[slot] == SEATED) {
            policies[classOf[slot]].remove(slot);
        }
        flags[slot] = 0;
    }

    /** What is known of its next use may have changed. */
    void changed(int slot) {
        if (flags[slot] == SEATED) {
            policies[classOf[slot]].changed(slot);
        }
    }

    /**
     * Evicts for whoever needs it, in turn. A search goes on over cycles until it has found a victim or seen every candidate, so that
     * any number of pinned ones can't hide the others; then those that it passed are put back.
     *
     * @param nowNs on the node's clock
     */
    int evict(long nowNs) {
        int work = endLeaving() + endSinking();
        int budget = CANDIDATES_PER_CYCLE;
        int needs = TIERS + classBytes.length;
        for (int turns = 0; turns < needs && budget > 0;) {
            if (!searching && passedCount > 0) {
                putBack(passed[--passedCount]);
                budget--;
                continue;
            }
            int slot = isNeeded() ? oldest() : EvictionPolicy.NONE;
            if (slot == EvictionPolicy.NONE) {
                searching = false;
                need = need + 1 == needs ? 0 : need + 1;
                turns++;
                continue;
            }
            searching = true;
            budget--;
            work += tryEvict(slot) ? 1 : 0;
        }
        if (work > 0) {
            endHints(nowNs);
        }
        return work;
    }

    private boolean isNeeded() {
        if (need < TIERS) {
            boolean demotes = need == Tier.DRAM.ordinal();
            return blocks[need] - (demotes ? leaving.size() : 0) > cachedBlocks[need]
                    && !(demotes && leaving.size() == MAX_LEAVING);
        }
        int wantedClass = need - TIERS;
        if (wanted.get(wantedClass) == 0) {
            return false;
        }
        if (table.hasRoom(classBytes[wantedClass], tierOf[wantedClass])) {
            wanted.set(wantedClass, 0);
            return false;
        }
        return tierOf[wantedClass] != Tier.DRAM || leaving.isEmpty();
    }

    /** Of the candidates of all classes of the tier with enough room the one that was used least recently. */
    private int oldest() {
        int oldest = EvictionPolicy.NONE;
        int tier = need < TIERS ? need : tierOf[need - TIERS].ordinal();
        long atLeastBytes = need < TIERS ? 0 : classBytes[need - TIERS];
        for (int c = 0; c < policies.length; c++) {
            int slot = tierOf[c].ordinal() == tier && classBytes[c] >= atLeastBytes
                    ? policies[c].candidate()
                    : EvictionPolicy.NONE;
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
        boolean free = !entry.space.isPinnedElsewhere(slot)
                && table.words.get(slot) == ControlWords.word(entry.generation, BlockState.WRITTEN, 0);
        if (free && !entry.slow && entry.below() == null && demoter != null) {
            BooleanSupplier over = demoter.demote(entry.ref);
            if (over != null) {
                unseat(slot);
                flags[slot] = LEAVING;
                leaving.add(new Leaving(entry, table.words.lastUse(slot), over));
                return true;
            }
            free = false;
        }
        if (!free || !evictNow(entry)) {
            unseat(slot);
            pass(slot);
            return false;
        }
        return true;
    }

    /** False when somebody has it pinned. */
    private boolean evictNow(Entry entry) {
        int slot = entry.slot;
        if (entry.space.isPinnedElsewhere(slot) || !table.words.evictedUnpinned(slot, entry.generation)) {
            return false;
        }
        if (flags[slot] == SEATED) {
            policies[classOf[slot]].evicted(slot);
        }
        flags[slot] = 0;
        boolean removed = leavesTable(entry);
        entry.space.guards().evicted(entry.localSlot(), entry.generation);
        if (removed) {
            evicted.accept(entry);
        }
        // Else somebody took it out of the table just now: the slot is freed at his mark.
        return true;
    }

    /** What is below comes up in the same step. */
    private boolean leavesTable(Entry entry) {
        Entry below = entry.below();
        if (below != null) {
            table.words.inherits(below.slot, entry.slot);
            changed(below.slot);
            return table.blocks.replace(entry.ref.id(), entry, below);
        }
        if (table.blocks.remove(entry.ref.id(), entry)) {
            return true;
        }
        Entry above = entry.slow ? table.blocks.get(entry.ref.id()) : null;
        return above != null && above.takeBelow(entry);
    }

    /** What is durable now goes, unless it was used again meanwhile; what could not be made durable goes, too. */
    private int endLeaving() {
        int ended = 0;
        for (int left = leaving.size(); left > 0; left--) {
            Leaving next = leaving.remove();
            Entry entry = next.entry;
            if (!next.over.getAsBoolean()) {
                leaving.add(next);
            } else if (table.entry(entry.slot) == entry && flags[entry.slot] == LEAVING) {
                ended++;
                boolean durable = entry.below() != null;
                if ((durable && table.words.lastUse(entry.slot) != next.lastUse) || !evictNow(entry)) {
                    seat(entry.slot);
                } else if (!durable) {
                    counters.increment(Counter.DEMOTIONS_FAILED);
                }
            }
        }
        return ended;
    }

    private int endSinking() {
        for (Entry entry = toSink.poll(); entry != null; entry = toSink.poll()) {
            sinking.add(entry);
        }
        int ended = 0;
        for (int left = sinking.size(); left > 0; left--) {
            Entry entry = sinking.remove();
            boolean isAbove = table.entry(entry.slot) == entry && entry.below() != null
                    && table.blocks.get(entry.ref.id()) == entry;
            // One that was not announced yet is looked at again, as one is that is pinned.
            if (isAbove && (flags[entry.slot] == 0 || !evictNow(entry))) {
                sinking.add(entry);
            } else {
                ended++;
            }
        }
        return ended;
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
            if (flags[slot] == SEATED && nextUse != NextUse.UNKNOWN && nextUse != NextUse.NEVER
                    && nextUse - nowNs < 0) {
                if (table.words.endNextUse(slot, nextUse)) {
                    changed(slot);
                }
            }
        }
    }
}
