package io.mooncake.core.manager;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Tier;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * What the table knows of a block in one tier: where it is, in which generation of the slot; and where else, in slower tiers, the same version
 * is. Immutable but for that, which {@link Copies} alone changes, while it leads here; compared by identity.
 */
final class Entry {
    final Space space;
    final int slot;
    final long generation;
    final BlockRef ref;
    final long address;
    /** The valid bytes, made once so that no view makes them; null when the host can't address them. */
    final @Nullable MemorySegment bytes;
    final Tier tier;
    /** Readable only by a transfer. */
    final boolean slow;

    private volatile @Nullable Entry below;

    Entry(Lease lease, BlockRef ref) {
        space = lease.space();
        tier = space.pool().tier();
        slow = space.isSlow();
        slot = lease.slot();
        generation = lease.generation();
        this.ref = ref;
        Memory memory = space.memory(slot, ref.length());
        address = memory.address();
        bytes = memory instanceof HostMemory host ? host.segment().asReadOnly() : null;
    }

    @Nullable
    Entry below() {
        return below;
    }

    /** For {@link Copies}. */
    void putAbove(@Nullable Entry slower) {
        below = slower;
    }

    boolean isFasterThan(Tier other) {
        return tier.compareTo(other) < 0;
    }

    /** The copy in a tier, from this one on down. */
    @Nullable
    Entry in(Tier wanted) {
        Entry entry = this;
        while (entry != null && entry.isFasterThan(wanted)) {
            entry = entry.below;
        }
        return entry != null && entry.tier == wanted ? entry : null;
    }

    /** The last one above a tier, from this one, which is faster, on down. */
    Entry lastAbove(Tier wanted) {
        Entry above = this;
        for (Entry next = below; next != null && next.isFasterThan(wanted); next = next.below) {
            above = next;
        }
        return above;
    }

    /** What a reference names, from this one on down. */
    @Nullable
    Entry at(BlockRef wanted) {
        Entry entry = this;
        while (entry != null && !entry.ref.equals(wanted)) {
            entry = entry.below;
        }
        return entry;
    }

    /** What a reference of this version names; where it has been moved what is in its tier now, else this one, the fastest. */
    Entry nearest(BlockRef wanted) {
        Entry exact = at(wanted);
        Entry sameTier = exact == null ? in(wanted.tier()) : exact;
        return sameTier == null ? this : sameTier;
    }

    /** Whether an entry is in the chain from this one on down. */
    boolean leadsTo(Entry other) {
        Entry entry = this;
        while (entry != null && entry != other) {
            entry = entry.below;
        }
        return entry != null;
    }

    /** Of the chain from here on down what other nodes are to ask for: host memory, which they read; the rest has to come there first. */
    Entry forOthers() {
        Entry memory = in(Tier.DRAM);
        return memory == null ? this : memory;
    }

    int localSlot() {
        return slot - space.first();
    }

    @Override
    public String toString() {
        return "block " + ref.id() + " " + ref.version();
    }
}
