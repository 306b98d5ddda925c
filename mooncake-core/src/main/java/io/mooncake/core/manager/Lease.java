package io.mooncake.core.manager;

import io.mooncake.core.base.Memory;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.Tier;

/**
 * A slot that is ALLOCATED: whoever has the lease is its only writer. Ends once, by being sealed, given back, or quarantined and later
 * released; its owner sees to the once.
 *
 * @param space the slot's pool
 * @param slot the manager's number of it
 * @param generation of this allocation
 * @param id what is being written
 * @param length bytes asked for
 */
record Lease(Space space, int slot, long generation, BlockId id, long length) {
    boolean isFasterThan(Tier other) {
        return space.pool().tier().compareTo(other) < 0;
    }

    int localSlot() {
        return slot - space.first();
    }

    Memory memory() {
        return space.memory(slot, length);
    }

    long offset() {
        return space.pool().offset(localSlot());
    }
}
