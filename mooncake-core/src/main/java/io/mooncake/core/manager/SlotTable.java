package io.mooncake.core.manager;

import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockState;
import io.mooncake.core.block.BlockWriter.Result;
import io.mooncake.core.block.FreeRanges;
import io.mooncake.core.block.Tier;
import io.mooncake.core.block.Version;
import io.mooncake.core.pool.BlockPool;
import io.mooncake.core.pool.GuardTable;
import io.mooncake.core.pool.RangeBook;
import io.mooncake.core.pool.Stored;
import io.mooncake.core.transfer.UnitChecksums;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The table of blocks and the slots that they are in: what any thread may do with them. Hot paths allocate nothing and take no lock.
 *
 * <p>The slots of all pools are numbered through. A slot's control word decides; its entry is set before the word says WRITTEN and
 * read only by who has a pin, or by the conductor.
 */
final class SlotTable {
    static final int NONE = -1;

    /** Fates: why a slot is to be retired. Set once a generation, by who took the entry out of the table or never put it in. */
    static final long REQUESTED = 1;

    static final long REPLACED = 2;
    /** Never in the table: superseded, or there already. */
    static final long UNSEEN = 3;
    /** Given up with work outstanding. */
    static final long QUARANTINED = 4;
    /** That work has ended. */
    static final long RELEASED = 5;
    /** The block is in another slot of its pool now. */
    static final long MOVED = 6;

    final NodeId self;
    final Space[] spaces;
    final Tiers tiers;
    final int slots;
    final ControlWords words;
    final MarkStack marks;
    final Copies blocks = new Copies();
    final ForetoldUses foretold;
    final StreamEnds streamEnds = new StreamEnds();
    /** The highest version counter of what was kept from before this process. */
    final long storedCounter;

    private final LongSupplier nanoClock;
    private final Runnable onDue;
    private final @Nullable Entry[] entries;
    private final @Nullable BlockId[] names;

    volatile boolean closed;
    /** Does the conductor's work when that is gone, run by whoever gives something back then; null until then. */
    volatile @Nullable Runnable successor;

    SlotTable(ManagerConfig config, Runnable onDue) {
        this.onDue = onDue;
        self = config.self();
        nanoClock = config.nanoClock();
        List<PoolBinding> pools = config.pools();
        spaces = new Space[pools.size()];
        int first = 0;
        for (int i = 0; i < spaces.length; i++) {
            PoolBinding binding = pools.get(i);
            spaces[i] = new Space(binding.pool(), binding.region(), binding.foreignPins(), first);
            first = Math.addExact(first, binding.pool().slots());
        }
        tiers = new Tiers(spaces);
        slots = first;
        words = new ControlWords(slots);
        marks = new MarkStack(slots);
        foretold = new ForetoldUses(slots, config.counters());
        entries = new @Nullable Entry[slots];
        names = new @Nullable BlockId[slots];
        long highest = 0;
        for (Space space : spaces) {
            for (Stored stored : space.pool().stored()) {
                highest = Math.max(highest, adopt(space, stored));
            }
        }
        storedCounter = highest;
    }

    void checkOpen() {
        if (closed) {
            throw closedException();
        }
    }

    MooncakeException closedException() {
        return new MooncakeException(Kind.CLOSED, "the store of node " + self + " is closed");
    }

    // ---- slots that are being written

    /** Takes a free slot of a tier that is long enough; null when there is none. */
    @Nullable
    Lease reserve(BlockId id, long length, Tier tier) {
        for (Space space : spaces) {
            if (space.pool().tier() == tier && space.pool().largestSlotBytes() >= length) {
                int local = space.pool().reserve(length);
                if (local != BlockPool.NONE) {
                    return lease(space, local, id, length);
                }
            }
        }
        return null;
    }

    /** FREE to ALLOCATED, by who has reserved the slot. */
    Lease lease(Space space, int local, BlockId id, long length) {
        long generation = space.guards().allocated(local);
        int slot = space.first() + local;
        if (!words.allocated(slot, generation)) {
            throw corrupt(slot, "reserved");
        }
        names[slot] = id;
        return new Lease(space, slot, generation, id, length);
    }

    /** Whether a slot could be had now. */
    boolean hasRoom(long length, Tier tier) {
        for (Space space : spaces) {
            if (space.pool().tier() == tier && space.pool().largestSlotBytes() >= length) {
                int local = space.pool().reserve(length);
                if (local != BlockPool.NONE) {
                    space.pool().release(local);
                    return true;
                }
            }
        }
        return false;
    }

    FreeRanges freeRanges(Tier tier, boolean needsScratch) {
        long free = 0;
        long longest = 0;
        for (Space space : spaces) {
            RangeBook ranges = space.pool().tier() == tier ? space.pool().ranges() : null;
            free += ranges == null ? 0 : ranges.freeBytes();
            longest = ranges == null ? longest : Math.max(longest, ranges.longestFreeBytes());
        }
        return new FreeRanges(free, longest, needsScratch);
    }

    long largestSlotBytes(Tier tier) {
        long largest = 0;
        for (Space space : spaces) {
            largest = space.pool().tier() == tier ? Math.max(largest, space.pool().largestSlotBytes()) : largest;
        }
        return largest;
    }

    void giveBack(Lease lease) {
        free(lease.space(), lease.slot(), lease.generation(), BlockState.ALLOCATED);
        afterGiveBack();
    }

    void quarantine(Lease lease) {
        words.fate(lease.slot(), QUARANTINED);
        lease.space().pool().quarantine(lease.localSlot());
    }

    void released(Lease lease) {
        words.fate(lease.slot(), RELEASED);
        mark(lease.slot());
    }

    /** To FREE: the guard first, then the word, then the pool. */
    void free(Space space, int slot, long generation, BlockState from) {
        space.guards().freed(slot - space.first(), generation);
        entries[slot] = null;
        names[slot] = null;
        if (!words.freed(slot, generation, from)) {
            throw corrupt(slot, "freed");
        }
        space.pool().release(slot - space.first());
    }

    private IllegalStateException corrupt(int slot, String what) {
        return new IllegalStateException("slot " + slot + " of node " + self + " was " + what + " but is "
                + ControlWords.describe(words.get(slot)));
    }

    // ---- commit

    /** What became of a slot that was sealed. The entry is that of the block in the table; held if that was asked for. */
    record Published(Result result, Entry entry) {}

    /**
     * ALLOCATED to WRITTEN, then into the table by a higher version only.
     *
     * @param sameContent whether any version of the id has these bytes
     */
    Published publish(Lease lease, Version version, long validBytes, boolean held, boolean sameContent) {
        sumUp(lease, validBytes);
        Entry own = seal(lease, version, validBytes, held);
        while (true) {
            Entry there = blocks.putIfAbsent(own);
            if (there == null) {
                mark(own.slot);
                return new Published(Result.WRITTEN, own);
            }
            int order = sameContent ? 0 : version.compareTo(there.ref.version());
            if (order > 0) {
                if (blocks.replace(there, own)) {
                    mark(own.slot);
                    retireAll(there, REPLACED);
                    return new Published(Result.WRITTEN, own);
                }
            } else if (order == 0 && own.isFasterThan(there.tier)) {
                if (comesAbove(own, there)) {
                    return new Published(Result.WRITTEN, own);
                }
            } else if (!held || hold(there)) {
                withdraw(own, held);
                return new Published(order == 0 ? Result.ALREADY_WRITTEN : Result.SUPERSEDED, there);
            } else if (ControlWords.state(words.get(there.slot)) == BlockState.WRITTEN) {
                withdraw(own, held);
                throw tooManyPins(there);
            } else {
                // A policy is evicting it: help, so as not to wait for the conductor.
                removeCopy(there, REPLACED);
            }
        }
    }

    private Entry seal(Lease lease, Version version, long validBytes, boolean held) {
        Space space = lease.space();
        int slot = lease.slot();
        long guard = space.guards().written(lease.localSlot(), lease.generation());
        BlockRef ref = new BlockRef(lease.id(), version, self, space.region().id(), lease.offset(), validBytes,
                lease.localSlot(), guard);
        Entry entry = new Entry(lease, ref);
        entries[slot] = entry;
        words.brought(slot, nanoClock.getAsLong());
        foretold.apply(lease.id(), slot, words);
        if (held) {
            words.holdBegins(slot);
        }
        if (!words.written(slot, lease.generation(), held ? 1 : 0)) {
            throw corrupt(slot, "sealed");
        }
        return entry;
    }

    /** The sums of a block that the host can read, where the pool has a place for them. */
    private static void sumUp(Lease lease, long validBytes) {
        UnitChecksums checksums = lease.space().pool().checksums();
        if (checksums == null) {
            return;
        }
        if (lease.memory() instanceof HostMemory host) {
            checksums.seal(lease.localSlot(), lease.offset(), host.segment().asSlice(0, validBytes));
        } else {
            checksums.clear(lease.localSlot());
        }
    }

    /** The block is in a slower tier: it is in this one, too, from now on. False when it is not there any more. */
    private boolean comesAbove(Entry own, Entry there) {
        boolean same = own.ref.version().equals(there.ref.version());
        if (!(same ? blocks.putAbove(there, own) : blocks.replace(there, own))) {
            return false;
        }
        mark(own.slot);
        if (!same) {
            retireAll(there, REPLACED);
        }
        return true;
    }

    /**
     * A block's copy goes on in another place of its pool. False, with the lease as it was, when it is not in the table any
     * more. The conductor's.
     */
    boolean moved(Entry from, Lease lease) {
        if (!names(from)) {
            return false;
        }
        UnitChecksums checksums = lease.space().pool().checksums();
        if (checksums != null) {
            checksums.carry(lease.localSlot(), lease.offset(), from.localSlot());
        }
        Entry to = seal(lease, from.ref.version(), from.ref.length(), false);
        words.inherits(to.slot, from.slot);
        boolean goesOn = blocks.swap(from, to);
        retire(goesOn ? from : to, goesOn ? MOVED : UNSEEN);
        return true;
    }

    /**
     * ALLOCATED to WRITTEN in one more tier, if the table has the version still: what somebody removed meanwhile does not come back. What a policy
     * did, since nobody had used it there, goes on further up.
     */
    Published publishBeside(Lease lease, BlockRef source) {
        if (!lease.space().isSlow()) {
            // A file's are made as it is written.
            sumUp(lease, lease.length());
        }
        Entry own = seal(lease, source.version(), lease.length(), false);
        while (true) {
            Entry top = blocks.get(lease.id());
            boolean isGone = top == null
                    ? !own.isFasterThan(source.tier()) || !wentByPolicy(source)
                    : !top.ref.version().equals(source.version());
            Entry there = top == null || isGone ? null : top.in(own.tier);
            if (isGone || there != null) {
                withdraw(own, false);
                return there == null
                        ? new Published(Result.SUPERSEDED, own)
                        : new Published(Result.ALREADY_WRITTEN, there);
            }
            if (top == null
                    ? blocks.putIfAbsent(own) == null
                    : own.isFasterThan(top.tier) ? blocks.putAbove(top, own) : blocks.putBelow(own)) {
                mark(own.slot);
                return new Published(Result.WRITTEN, own);
            }
        }
    }

    /** Whether nobody but a policy took a copy away, as far as its slot tells. */
    private boolean wentByPolicy(BlockRef ref) {
        int slot = slotOf(ref);
        long generation = ControlWords.word(GuardTable.generation(ref.guard()), BlockState.FREE, 0);
        return slot != NONE && words.fate(slot) == 0
                && ControlWords.generation(words.get(slot)) == ControlWords.generation(generation);
    }

    /** Takes in what a pool has kept from before this process. The highest version known of an id counts. */
    private long adopt(Space space, Stored stored) {
        Lease lease = lease(space, stored.slot(), stored.id(), stored.length());
        Entry own = seal(lease, stored.version(), stored.length(), false);
        Entry there = blocks.putIfAbsent(own);
        if (there != null) {
            boolean newer = own.ref.version().compareTo(there.ref.version()) > 0 && blocks.replace(there, own);
            retire(newer ? there : own, UNSEEN);
        }
        mark(own.slot);
        return stored.version().counter();
    }

    private void withdraw(Entry own, boolean held) {
        if (held) {
            endHold(own);
        }
        retire(own, UNSEEN);
    }

    // ---- pins and holds

    /** Pins the block that the table names; null when there is none. */
    @Nullable
    Entry pin(BlockId id) {
        Entry entry = blocks.get(id);
        while (entry != null && !entry.slow) {
            // Before the pin, so that the line of a hot block comes over once for both. If the slot has gone to another block just
            // now, that one is as recent.
            words.used(entry.slot, nanoClock.getAsLong());
            if (words.pin(entry.slot, entry.generation)) {
                return entry;
            }
            Entry now = blocks.get(id);
            if (now == entry) {
                long word = words.get(entry.slot);
                if (ControlWords.state(word) != BlockState.WRITTEN
                        || ControlWords.word(entry.generation, BlockState.WRITTEN, ControlWords.pins(word)) != word) {
                    // Evicted, and about to leave the table, which names what is below it then.
                    Entry below = entry.below();
                    return below != null && pinUsed(below) ? below : null;
                }
                if (ControlWords.pins(word) == ControlWords.MAX_PINS) {
                    throw tooManyPins(entry);
                }
            }
            entry = now;
        }
        return null;
    }

    /** Pins exactly what a reference names, if that is in the table or a hold keeps it. */
    @Nullable
    Entry pin(BlockRef ref) {
        Entry entry = blocks.get(ref.id());
        if (entry != null && entry.ref.version().equals(ref.version())) {
            Entry below = entry.below();
            if (pinUsed(entry)) {
                return entry;
            }
            if (below != null && pinUsed(below)) {
                return below;
            }
        }
        int slot = slotOf(ref);
        if (slot == NONE || spaceOf(slot).isSlow()) {
            return null;
        }
        Entry kept = pin(slot, ref.guard());
        if (kept != null && (!kept.ref.equals(ref) || words.holds(slot) == 0)) {
            unpin(kept);
            return null;
        }
        return kept;
    }

    private boolean pinUsed(Entry entry) {
        if (entry.slow || !words.pin(entry.slot, entry.generation)) {
            return false;
        }
        words.used(entry.slot, nanoClock.getAsLong());
        return true;
    }

    /** Pins what a guard guards; null when the guard has another value. */
    @Nullable
    Entry pin(int slot, long guard) {
        long generation = GuardTable.generation(guard);
        if (GuardTable.state(guard) != BlockState.WRITTEN || !words.pin(slot, generation)) {
            return null;
        }
        Entry entry = entries[slot];
        // The word has 40 bits of the generation, the guard has all.
        if (entry == null || entry.ref.guard() != guard) {
            if (words.unpin(slot, generation)) {
                mark(slot);
            }
            return null;
        }
        return entry;
    }

    void unpin(Entry entry) {
        if (words.unpin(entry.slot, entry.generation)) {
            mark(entry.slot);
        }
    }

    /** A hold counts itself before it pins: see {@link ControlWords#evictedUnheld}. */
    boolean hold(Entry entry) {
        words.holdBegins(entry.slot);
        if (words.pin(entry.slot, entry.generation)) {
            return true;
        }
        if (words.holdEnds(entry.slot)) {
            mark(entry.slot);
        }
        return false;
    }

    /** Holds the version that a reference names, where it was, or wherever it is by now; null when it is not in the table any more. */
    @Nullable
    Entry hold(BlockRef ref) {
        Entry top = blocks.get(ref.id());
        boolean isHere = top != null && ref.node().equals(self) && top.ref.version().equals(ref.version());
        Entry entry = top == null || !isHere ? null : top.nearest(ref);
        while (entry != null && !hold(entry)) {
            // About to leave that tier, for one below.
            entry = entry.below();
        }
        if (entry != null) {
            words.used(entry.slot, nanoClock.getAsLong());
        }
        return entry;
    }

    void endHold(Entry entry) {
        unpin(entry);
        if (words.holdEnds(entry.slot)) {
            mark(entry.slot);
        }
    }

    private MooncakeException tooManyPins(Entry entry) {
        return new MooncakeException(Kind.IN_USE,
                entry + " has all " + ControlWords.MAX_PINS
                        + " pins that a slot can have: close views and holds of it");
    }

    /** The slot that a reference of this node names, whatever is in it now. */
    private int slotOf(BlockRef ref) {
        Space space = ref.node().equals(self) ? space(ref.region()) : null;
        return space == null || ref.guardIndex() >= space.pool().slots() ? NONE : space.first() + ref.guardIndex();
    }

    @Nullable
    Space space(int region) {
        for (Space space : spaces) {
            if (space.region().id() == region) {
                return space;
            }
        }
        return null;
    }

    Space spaceOf(int slot) {
        int i = spaces.length - 1;
        while (spaces[i].first() > slot) {
            i--;
        }
        return spaces[i];
    }

    /** For who has a pin, and the conductor. */
    @Nullable
    Entry entry(int slot) {
        return entries[slot];
    }

    /** What is, or was last, written into the slot; for messages. */
    @Nullable
    BlockId name(int slot) {
        return names[slot];
    }

    // ---- the conductor's way

    /** Whether a copy is in the table still, in whatever tier. */
    boolean names(Entry entry) {
        Entry top = blocks.get(entry.ref.id());
        return top != null && top.leadsTo(entry);
    }

    /** Takes a block out of the table, all of its copies, if it is there; who succeeds has decided the slots' fates. */
    boolean remove(Entry entry, long fate) {
        if (blocks.remove(entry)) {
            retireAll(entry, fate);
            return true;
        }
        return false;
    }

    /** The same for a copy in one tier; what is above it or below it stays. */
    boolean removeCopy(Entry entry, long fate) {
        if (!blocks.takeOut(entry)) {
            return false;
        }
        goesOnBelow(entry);
        retire(entry, fate);
        return true;
    }

    /** What is known of the use of a copy that goes is known of the one below it from now on. */
    void goesOnBelow(Entry entry) {
        Entry below = entry.below();
        if (below != null) {
            words.inherits(below.slot, entry.slot);
            mark(below.slot);
        }
    }

    /** Nobody else changes a chain that the table does not name any more. */
    private void retireAll(Entry first, long fate) {
        retire(first, fate);
        for (Entry below = first.below(); below != null; below = below.below()) {
            retire(below, UNSEEN);
        }
    }

    private void retire(Entry entry, long fate) {
        words.fate(entry.slot, fate);
        mark(entry.slot);
    }

    void mark(int slot) {
        marks.mark(slot);
        onDue.run();
        afterGiveBack();
    }

    private void afterGiveBack() {
        Runnable next = successor;
        if (next != null) {
            next.run();
        }
    }
}
