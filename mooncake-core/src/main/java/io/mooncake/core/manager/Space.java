package io.mooncake.core.manager;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.Memory.DeviceMemory;
import io.mooncake.core.base.Memory.FileMemory;
import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.block.Tier;
import io.mooncake.core.pool.BlockPool;
import io.mooncake.core.pool.GuardTable;
import io.mooncake.core.pool.StreamOrder;
import io.mooncake.core.transfer.ForeignPins;
import io.mooncake.core.transfer.Region;

/**
 * A pool within the node: its slots are {@code [first, first + pool.slots())} of the manager's numbering. Immutable.
 *
 * @param pool the space
 * @param region of its memory
 * @param foreignPins who else pins its blocks
 * @param first the manager's number of the pool's slot 0
 */
record Space(BlockPool pool, Region region, ForeignPins foreignPins, int first) {
    GuardTable guards() {
        return pool.guards();
    }

    /** Whether a reader of another process has the slot pinned. */
    boolean isPinnedElsewhere(int slot) {
        return foreignPins.isPinned((long) (slot - first) * GuardTable.STRIDE);
    }

    /** Whether its blocks can be read only by a transfer. */
    boolean isSlow() {
        return pool.tier() == Tier.SLOW;
    }

    /** Whether kernels of a device read its blocks in place. */
    boolean isAddressableOn(int device) {
        StreamOrder order = pool.streams();
        return pool.device() == device || (order != null && order.isAddressableOn(device));
    }

    int end() {
        return first + pool.slots();
    }

    /** A part of a slot's memory, from its first byte on. */
    Memory memory(int slot, long length) {
        long offset = pool.offset(slot - first);
        return switch (pool.memory()) {
            case HostMemory host -> Memory.of(host.segment().asSlice(offset, length));
            case DeviceMemory device -> device.part(offset, length);
            case FileMemory file -> new FileMemory(file.path(), length);
        };
    }
}
