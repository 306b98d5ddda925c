package io.mooncake.core.manager;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockState;
import io.mooncake.core.block.Tier;
import io.mooncake.core.pool.BlockPool;
import io.mooncake.core.pool.GuardTable;
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
    final StreamEnds streamEnds = new StreamEnds();

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
        entries = new @Nullable Entry[slots];
        names = new @Nullable BlockId[slots];
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

    /** A slot has its block: before its word says WRITTEN, so that whoever has a pin finds the entry. */
    void filled(Entry entry) {
        entries[entry.slot] = entry;
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

    IllegalStateException corrupt(int slot, String what) {
        return new IllegalStateException("slot " + slot + " of node " + self + " was " + what + " but is "
                + ControlWords.describe(words.get(slot)));
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
        Entry entry = blocks.named(ref);
        if (entry != null) {
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
        Entry top = ref.node().equals(self) ? blocks.named(ref) : null;
        Entry entry = top == null ? null : top.nearest(ref);
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

    MooncakeException tooManyPins(Entry entry) {
        return new MooncakeException(Kind.IN_USE,
                entry + " has all " + ControlWords.MAX_PINS
                        + " pins that a slot can have: close views and holds of it");
    }

    /** The slot that a reference of this node names, whatever is in it now. */
    int slotOf(BlockRef ref) {
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
    void retireAll(Entry first, long fate) {
        retire(first, fate);
        for (Entry below = first.below(); below != null; below = below.below()) {
            retire(below, UNSEEN);
        }
    }

    void retire(Entry entry, long fate) {
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
