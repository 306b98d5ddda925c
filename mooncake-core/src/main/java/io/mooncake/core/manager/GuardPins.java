package io.mooncake.core.manager;

import io.mooncake.core.base.Bounds;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.pool.GuardTable;
import io.mooncake.core.transfer.GuardSource;
import io.mooncake.core.transfer.UnitChecksums;
import org.jspecify.annotations.Nullable;

/**
 * The blocks as engines see them: a guard, and the bytes that it guards. Any thread; allocates nothing.
 *
 * <p>A pin is a count in the slot's control word and no object; its handle says which word, and the generation that was pinned:
 *
 * <pre>
 *   63         62 ............ 31         30 .......... 0
 *   ┌───┬─────────────────────────┬──────────────────────┐
 *   │ 0 │ generation, low 32 bits │ the manager's slot   │
 *   └───┴─────────────────────────┴──────────────────────┘
 * </pre>
 *
 * <p>All pins of one generation have the same handle. The handle of a block that was in the slot earlier is refused, unless the slot
 * has been written a multiple of 2^32 times since.
 */
final class GuardPins implements GuardSource {
    private static final int SLOT_BITS = 31;
    private static final long SLOT_MASK = (1L << SLOT_BITS) - 1;
    private static final long GENERATION_MASK = (1L << (63 - SLOT_BITS)) - 1;

    private final SlotTable table;

    GuardPins(SlotTable table) {
        this.table = table;
    }

    @Override
    public long pin(int region, long guardOffset, long expected, long offset, long length) {
        Space space = table.space(region);
        if (space == null || guardOffset % GuardTable.STRIDE != 0
                || !Bounds.contains(guardOffset, GuardTable.STRIDE, (long) space.pool().slots() * GuardTable.STRIDE)) {
            return REFUSED;
        }
        if (table.closed) {
            return STALE;
        }
        int slot = space.first() + (int) (guardOffset / GuardTable.STRIDE);
        Entry entry = table.pin(slot, expected);
        if (entry == null) {
            return STALE;
        }
        if (offset < 0 || !Bounds.contains(offset - entry.ref.offset(), length, entry.ref.length())) {
            table.unpin(entry);
            return REFUSED;
        }
        return ((entry.generation & GENERATION_MASK) << SLOT_BITS) | slot;
    }

    @Override
    public long guard(long handle) {
        Entry entry = pinned(handle);
        return entry.space.guards().read(entry.localSlot());
    }

    @Override
    public long checksum(long handle, long offset, long length) {
        Entry entry = pinned(handle);
        UnitChecksums checksums = entry.space.pool().checksums();
        return checksums == null ? NO_CHECKSUM : checksums.sum(entry.localSlot(), offset, length);
    }

    @Override
    public long unitRest(long handle, long offset) {
        Entry entry = pinned(handle);
        UnitChecksums checksums = entry.space.pool().checksums();
        return checksums == null ? Long.MAX_VALUE : checksums.unitRest(entry.localSlot(), offset);
    }

    @Override
    public void unpin(long handle) {
        table.unpin(pinned(handle));
    }

    @Override
    public @Nullable Memory table(int region) {
        Space space = table.space(region);
        return space == null ? null : Memory.of(space.guards().memory());
    }

    @Override
    public @Nullable UnitChecksums checksums(int region) {
        Space space = table.space(region);
        return space == null ? null : space.pool().checksums();
    }

    private Entry pinned(long handle) {
        int slot = (int) (handle & SLOT_MASK);
        if (handle >= 0 && slot < table.slots && ControlWords.pins(table.words.get(slot)) > 0) {
            Entry entry = table.entry(slot);
            if (entry != null && (entry.generation & GENERATION_MASK) == handle >>> SLOT_BITS) {
                return entry;
            }
        }
        throw new MooncakeException(Kind.ILLEGAL_STATE, "handle " + Long.toHexString(handle) + " is no pin of node "
                + table.self + ": end each pin once, with the handle that pin() answered");
    }
}
