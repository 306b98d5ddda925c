package io.mooncake.core.manager;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.block.BlockRef;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * What the table knows of a block: where it is, in which generation of the slot; and where else, in a slower tier, the same version is. Immutable
 * but for that; compared by identity.
 */
final class Entry {
    private static final VarHandle BELOW;

    static {
        try {
            BELOW = MethodHandles.lookup().findVarHandle(Entry.class, "below", Entry.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    final Space space;
    final int slot;
    final long generation;
    final BlockRef ref;
    final long address;
    /** The valid bytes, made once so that no view makes them; null when the host can't address them. */
    final @Nullable MemorySegment bytes;
    /** Readable only by a transfer. */
    final boolean slow;

    /** Durable there. Whoever takes it away sees to its slot. */
    private volatile @Nullable Entry below;

    Entry(Lease lease, BlockRef ref) {
        space = lease.space();
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

    /** False when there is one already. */
    boolean putBelow(Entry durable) {
        return BELOW.compareAndSet(this, (Entry) null, durable);
    }

    /** False when it is not that one, or not any more. */
    boolean takeBelow(@Nullable Entry durable) {
        return durable != null && BELOW.compareAndSet(this, durable, (Entry) null);
    }

    int localSlot() {
        return slot - space.first();
    }

    @Override
    public String toString() {
        return "block " + ref.id() + " " + ref.version();
    }
}
