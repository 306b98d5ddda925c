package io.mooncake.core.registry;

import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * References by block id, one an id, in one array: 4 to 12 bytes a reference where a hash map takes 40, which counts when an owner has a
 * million. Open addressing with linear probing; one thread.
 */
final class RefTable {
    private static final int LEAST = 16;

    private @Nullable BlockRef[] slots = new @Nullable BlockRef[LEAST];
    private int size;

    int size() {
        return size;
    }

    /** Puts a reference in; the one that had its id before, if any. */
    @Nullable
    BlockRef put(BlockRef ref) {
        if (4 * (size + 1) > 3 * slots.length) {
            grow();
        }
        int at = find(ref.id());
        BlockRef before = slots[at];
        slots[at] = ref;
        size += before == null ? 1 : 0;
        return before;
    }

    @Nullable
    BlockRef get(BlockId id) {
        return slots[find(id)];
    }

    /** Takes the reference of an id out, if there is one. */
    void remove(BlockId id) {
        int hole = find(id);
        if (slots[hole] == null) {
            return;
        }
        size--;
        slots[hole] = null;
        // Whoever was pushed beyond the hole comes back, so that a search still ends at the first empty slot.
        for (int at = next(hole); slots[at] != null; at = next(at)) {
            BlockRef moved = slots[at];
            slots[at] = null;
            slots[find(moved.id())] = moved;
        }
    }

    void forEach(Consumer<BlockRef> action) {
        for (BlockRef ref : slots) {
            if (ref != null) {
                action.accept(ref);
            }
        }
    }

    void clear() {
        slots = new @Nullable BlockRef[LEAST];
        size = 0;
    }

    /** Where an id is, or would be. */
    private int find(BlockId id) {
        int at = id.hashCode() & slots.length - 1;
        for (BlockRef ref = slots[at]; ref != null && !ref.id().equals(id); ref = slots[at]) {
            at = next(at);
        }
        return at;
    }

    private int next(int at) {
        return at + 1 & slots.length - 1;
    }

    private void grow() {
        @Nullable
        BlockRef[] old = slots;
        slots = new @Nullable BlockRef[2 * old.length];
        for (BlockRef ref : old) {
            if (ref != null) {
                slots[find(ref.id())] = ref;
            }
        }
    }
}
