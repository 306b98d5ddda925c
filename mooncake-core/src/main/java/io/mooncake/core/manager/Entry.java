package io.mooncake.core.manager;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.block.BlockRef;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** What the table knows of a block: where it is, in which generation of the slot. Immutable; compared by identity. */
final class Entry {
    final Space space;
    final int slot;
    final long generation;
    final BlockRef ref;
    final long address;
    /** The valid bytes, made once so that no view makes them; null when the host can't address them. */
    final @Nullable MemorySegment bytes;

    Entry(Lease lease, BlockRef ref) {
        space = lease.space();
        slot = lease.slot();
        generation = lease.generation();
        this.ref = ref;
        Memory memory = space.memory(slot, ref.length());
        address = memory.address();
        bytes = memory instanceof HostMemory host ? host.segment().asReadOnly() : null;
    }

    int localSlot() {
        return slot - space.first();
    }

    @Override
    public String toString() {
        return "block " + ref.id() + " " + ref.version();
    }
}
