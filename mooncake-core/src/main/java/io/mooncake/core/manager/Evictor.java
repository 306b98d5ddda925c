package io.mooncake.core.manager;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Counters;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockState;
import io.mooncake.core.block.NextUse;
import io.mooncake.core.block.Tier;
import io.mooncake.core.manager.Departures.Departure;
import io.mooncake.core.manager.eviction.EvictionPolicy;
import io.mooncake.core.manager.eviction.SlotUse;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Evicts by policy, for whoever needs room in a tier. The conductor's, but for {@link #want}.
 *
 * <p>Where there is a slower tier, a victim that is in no other one is brought there before it goes, into a file durably; meanwhile its room
 * counts as good as free, so that not more leave than need be. That takes its time where the slower tier is in the way: then what needs no demotion goes, and, for who waits for
 * room and would get none else, what cannot be made durable.
 */
final class Evictor {
    private static final int CANDIDATES_PER_CYCLE = 256;
    /** Slots that are looked at, for each cycle that evicts, for hints whose time is over. */
    private static final int HINTS_PER_CYCLE = 64;

    /** Its policy knows the slot. */
    private static final int SEATED = 1;
    /** It was a candidate, but pinned: stands aside until the search is over. */
    private static final int PASSED = 2;
    /** It is among the {@link Departures}. */
    private static final int LEAVING = 3;

    /** Device memory keeps one slot of so many free for who writes or loads. */
    private static final int VRAM_SPARE_SHARE = 16;
    /** A slow tier keeps one slot of so many free, and at least one: so what is demoted never waits for long. */
    private static final int SLOW_SPARE_SHARE = 64;
    private static final Tier[] TIERS = Tier.values();

    private final SlotTable table;
    private final Compactor compactor;
    private final Consumer<Entry> evicted;
    private final Counters counters;
    /** By tier: blocks that are kept at most, and that are there. */
    private final int[] cachedBlocks = new int[TIERS.length];
    private final int[] blocks = new int[TIERS.length];
    private final byte[] flags;
    private final Departures departures;
    private final boolean hasRanges;
    private long nowNs;
    /** Copies that are to leave their tier, being in a slower one. */
    private final ConcurrentLinkedQueue<Entry> toSink = new ConcurrentLinkedQueue<>();
    /** Each once, however often that is asked for while it is pinned. */
    private final LinkedHashSet<Entry> sinking = new LinkedHashSet<>();
    private @Nullable Demoter demoter;
    private int hintsAt;

    private final SizeClasses classes;
    /** By class and group. */
    private final EvictionPolicy[] policies;
    private final Shares shares;
    /** Of each slot that has arrived, its block's. */
    private final short[] groupOf;
    /** By class, and group of who wants it: for how many bytes at most somebody found no slot and wants one to be evicted. Any thread sets it. */
    private final AtomicLongArray wanted;

    /** Whom the current search is for: a tier that has too many blocks, or, after those, who wants a slot of a class. */
    private int need;
    private boolean searching;
    private int[] passed = new int[16];
    private int passedCount;

    Evictor(SlotTable table, ManagerConfig config, Compactor compactor, Consumer<Entry> evicted) {
        this.table = table;
        this.compactor = compactor;
        this.evicted = evicted;
        counters = config.counters();
        departures = new Departures(config.allocateTimeoutNs() / 2);
        cachedBlocks[Tier.DRAM.ordinal()] = config.cachedBlocks();
        flags = new byte[table.slots];
        hasRanges = Arrays.stream(table.spaces).anyMatch(space -> space.pool().ranges() != null);
        for (Space space : table.spaces) {
            Tier tier = space.pool().tier();
            if (tier != Tier.DRAM) {
                int share = tier == Tier.SLOW ? SLOW_SPARE_SHARE : VRAM_SPARE_SHARE;
                cachedBlocks[tier.ordinal()] += space.pool().slots() - Math.max(1, space.pool().slots() / share);
            }
        }
        classes = new SizeClasses(table.spaces, table.slots);
        shares = new Shares(table, config.shares(), cachedBlocks);
        groupOf = new short[table.slots];
        policies = new EvictionPolicy[classes.count() * shares.groups()];
        SlotUse use = new Use(table);
        Arrays.setAll(policies, c -> config.policy().apply(use));
        wanted = new AtomicLongArray(policies.length);
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

    /** Any thread: asks for a slot to be evicted for a block; false when there is none, or when that is asked already. */
    boolean want(BlockId id, long length, Tier tier) {
        int best = classes.smallest(tier, length);
        int at = best * shares.groups() + shares.group(id);
        return best != SizeClasses.NONE && wanted.get(at) < length
                && wanted.getAndAccumulate(at, length, Math::max) < length;
    }

    /** Any thread: the copy goes as soon as nobody has it pinned, if there is one in a slower tier by then. */
    void sink(Entry entry) {
        toSink.add(entry);
    }

    /** A block has come. */
    void arrived(int slot) {
        Entry entry = table.entry(slot);
        groupOf[slot] = (short) (entry == null ? 0 : shares.group(entry.ref.id()));
        blocks[tier(slot)]++;
        seat(slot);
    }

    /** It has gone, or will as soon as nobody keeps it. */
    void left(int slot) {
        blocks[tier(slot)]--;
        unseat(slot);
    }

    private long bytes(int slot) {
        Space space = table.spaceOf(slot);
        return space.pool().slotBytes(slot - space.first());
    }

    private EvictionPolicy policy(int slot) {
        return policies[classes.of(slot) * shares.groups() + groupOf[slot]];
    }

    private int tier(int slot) {
        return classes.tier(classes.of(slot)).ordinal();
    }

    private void seat(int slot) {
        flag(slot, SEATED);
        policy(slot).add(slot);
    }

    private void unseat(int slot) {
        if (flags[slot] == SEATED) {
            policy(slot).remove(slot);
        }
        flag(slot, 0);
    }

    private void flag(int slot, int now) {
        int counts = (isSettled((byte) now) ? 1 : 0) - (isSettled(flags[slot]) ? 1 : 0);
        flags[slot] = (byte) now;
        if (counts != 0) {
            shares.add(groupOf[slot], tier(slot), counts * bytes(slot));
        }
    }

    /** Whether the policy knows the slot of such a flag, or will again, and nobody has plans with it. */
    private static boolean isSettled(byte flag) {
        return flag == SEATED || flag == PASSED;
    }

    /** What is known of its next use may have changed. */
    void changed(int slot) {
        if (flags[slot] == SEATED) {
            policy(slot).changed(slot);
        }
    }

    /**
     * Evicts for whoever needs it, in turn. A search goes on over cycles until it has found a victim or seen every candidate, so that
     * any number of pinned ones can't hide the others; then those that it passed are put back.
     *
     * @param nowNs on the node's clock
     */
    int evict(long nowNs) {
        this.nowNs = nowNs;
        int work = endLeaving() + endSinking();
        int budget = CANDIDATES_PER_CYCLE;
        int needs = TIERS.length + policies.length;
        for (int turns = 0; turns < needs && budget > 0;) {
            if (!searching && passedCount > 0) {
                putBack(passed[--passedCount]);
                budget--;
                continue;
            }
            boolean needed = isNeeded();
            int slot = needed ? oldest() : EvictionPolicy.NONE;
            if (slot == EvictionPolicy.NONE) {
                work += needed && need >= TIERS.length ? dropLate() : 0;
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
        if (need < TIERS.length) {
            Tier tier = TIERS[need];
            return blocks[need] - departures.soon(tier) > cachedBlocks[need] && departures.hasRoom(tier);
        }
        long bytes = wanted.get(need - TIERS.length);
        if (bytes == 0) {
            return false;
        }
        Tier tier = classes.tier(wantedClass());
        if (table.hasRoom(bytes, tier)) {
            wanted.set(need - TIERS.length, 0);
            return false;
        }
        return isTooLittleLeaving(tier, bytes) && !compacts(tier, bytes);
    }

    /** One block makes room for another, but of ranges a long one needs the room of many. */
    private boolean isTooLittleLeaving(Tier tier, long bytes) {
        int soon = departures.soon(tier);
        long free = soon == 0 ? 0 : table.tiers.freeRanges(tier, false).bytes();
        return soon == 0 || (hasRanges && departures.hasRoom(tier) && free + departures.soonBytes(tier) < bytes);
    }

    private int wantedClass() {
        return (need - TIERS.length) / shares.groups();
    }

    /** Whether a block may go for who needs it: nobody takes of a tenant's share but himself. */
    private boolean mayGo(int group, int tier, long bytes) {
        boolean own = need >= TIERS.length && (need - TIERS.length) % shares.groups() == group;
        return own || shares.isAbove(group, tier, bytes);
    }

    /** Whether there are bytes enough, which are about to become one range. */
    private boolean compacts(Tier tier, long bytes) {
        for (Space space : table.spaces) {
            if (space.pool().tier() == tier && space.pool().largestSlotBytes() >= bytes
                    && compactor.makesRoom(space, bytes, nowNs)) {
                return true;
            }
        }
        return false;
    }

    /** Whether nobody has plans with it. */
    boolean isFree(int slot) {
        return isSettled(flags[slot]);
    }

    /** Of the candidates of all classes of the tier with enough room the one that was used least recently. */
    private int oldest() {
        int oldest = EvictionPolicy.NONE;
        Tier tier = need < TIERS.length ? TIERS[need] : classes.tier(wantedClass());
        long atLeastBytes = need < TIERS.length ? 0 : classes.bytes(wantedClass());
        for (int p = 0; p < policies.length; p++) {
            int slot = classes.fits(p / shares.groups(), tier, atLeastBytes)
                    ? policies[p].candidate()
                    : EvictionPolicy.NONE;
            if (slot != EvictionPolicy.NONE && mayGo(groupOf[slot], tier.ordinal(), bytes(slot))
                    && (oldest == EvictionPolicy.NONE
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
        Tier down = table.tiers.below(entry.tier);
        if (free && down != null && demoter != null && isAlone(entry) && demoter.isWorthIt(entry.ref)) {
            BooleanSupplier over = departures.mayBegin(entry.tier) ? demoter.demote(entry.ref, down) : null;
            if (over != null) {
                unseat(slot);
                flag(slot, LEAVING);
                departures.begin(new Departure(entry, bytes(slot), table.words.lastUse(slot), over, nowNs));
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

    /** Whether the block is in no other tier, or only in one that it is just leaving for this one. */
    private boolean isAlone(Entry entry) {
        Entry top = table.blocks.get(entry.ref.id());
        return entry.below() == null && top != null
                && (top == entry || (flags[top.slot] == LEAVING && top.leadsTo(entry)));
    }

    /** False when somebody has it pinned. */
    boolean evictNow(Entry entry) {
        int slot = entry.slot;
        if (entry.space.isPinnedElsewhere(slot) || !table.words.evictedUnpinned(slot, entry.generation)) {
            return false;
        }
        if (flags[slot] == SEATED) {
            policy(slot).evicted(slot);
        }
        if (!entry.slow && table.words.isAhead(slot)) {
            counters.increment(table.words.uses(slot) > 0 ? Counter.PREFETCHES_USED : Counter.PREFETCHES_WRONG);
        }
        flag(slot, 0);
        table.goesOnBelow(entry);
        boolean removed = table.blocks.takeOut(entry);
        entry.space.guards().evicted(entry.localSlot(), entry.generation);
        if (removed) {
            evicted.accept(entry);
        }
        // Else somebody took it out of the table just now: the slot is freed at his mark.
        return true;
    }

    /** What is further down now goes, unless it was used again meanwhile; what could not be brought there goes, too. */
    private int endLeaving() {
        int ended = 0;
        for (Departure next : departures.takeEnded(nowNs)) {
            Entry entry = next.entry();
            if (isLeaving(entry)) {
                ended++;
                boolean durable = entry.below() != null;
                if ((durable && table.words.lastUse(entry.slot) != next.lastUse()) || !evictNow(entry)) {
                    seat(entry.slot);
                } else if (!durable) {
                    counters.increment(Counter.DEMOTIONS_FAILED);
                }
            }
        }
        return ended;
    }

    private boolean isLeaving(Entry entry) {
        return table.entry(entry.slot) == entry && flags[entry.slot] == LEAVING;
    }

    /** Somebody waits for room, and nothing else can make it: what has been leaving for so long goes, and is lost. */
    private int dropLate() {
        for (Departure one : departures.late(nowNs)) {
            int slot = one.entry().slot;
            if (isLeaving(one.entry())
                    && classes.fits(classes.of(slot), classes.tier(wantedClass()), classes.bytes(wantedClass()))
                    && mayGo(groupOf[slot], tier(slot), bytes(slot)) && evictNow(one.entry())) {
                counters.increment(Counter.DEMOTIONS_FAILED);
                return 1;
            }
        }
        return 0;
    }

    private int endSinking() {
        for (Entry entry = toSink.poll(); entry != null; entry = toSink.poll()) {
            sinking.add(entry);
        }
        if (sinking.isEmpty()) {
            return 0;
        }
        int ended = 0;
        List<Entry> due = List.copyOf(sinking);
        sinking.clear();
        for (Entry entry : due) {
            Entry now = table.blocks.named(entry.ref);
            if (now != null) {
                // Where it is now, if it was moved.
                now = now.in(entry.tier);
                entry = now == null ? entry : now;
            }
            boolean isAbove = table.entry(entry.slot) == entry && entry.below() != null && table.names(entry);
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
        flag(slot, PASSED);
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
