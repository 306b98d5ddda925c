package io.mooncake.core.sim;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockState;
import io.mooncake.core.pool.BlockPool;
import io.mooncake.core.pool.GuardTable;
import io.mooncake.core.transfer.GuardSource;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** The slots of one node as a peer sees them, by their guards: which edges they took, and that the node's own words say the same. */
final class SlotWatch implements Memories.Owners {
    private static final int FIRST_REGION = 1;

    private final SimNode node;
    private final MemorySegment guards;
    private final long slotBytes;
    private final long[] last;

    SlotWatch(SimNode node, MemorySegment guards, int slots, long slotBytes) {
        this.node = node;
        this.guards = guards;
        this.slotBytes = slotBytes;
        last = new long[slots];
        for (int slot = 0; slot < slots; slot++) {
            last[slot] = guard(slot);
        }
    }

    long guard(int slot) {
        return guards.get(ValueLayout.JAVA_LONG, (long) slot * GuardTable.STRIDE);
    }

    /** A slot that is being written belongs to that generation; no other slot is a transfer's to write. */
    @Override
    public long owner(long offset) {
        long guard = guard((int) (offset / slotBytes));
        return GuardTable.state(guard) == BlockState.ALLOCATED ? guard : 0;
    }

    @Override
    public String describe(long offset) {
        int slot = (int) (offset / slotBytes);
        return "slot " + slot + " of node " + node.id + " (" + text(guard(slot)) + ")";
    }

    void check(BlockPool.Usage usage, GuardSource pins) {
        int free = 0;
        for (int slot = 0; slot < last.length; slot++) {
            long before = last[slot];
            long now = guard(slot);
            if (now != before) {
                tally(slot, before, now);
                last[slot] = now;
            }
            if (GuardTable.state(now) == BlockState.FREE) {
                free++;
            }
        }
        checkWords(pins);
        if (usage.capacity() != last.length || usage.free() != free) {
            throw new Violation(3, "node " + node.id + ": " + usage + " with " + free + " of " + last.length
                    + " slots FREE by their guards");
        }
    }

    /** A slot's word lets nobody pin what its guard does not say, neither in this generation nor in the one before. */
    void checkWords(GuardSource pins) {
        for (int slot = 0; slot < last.length; slot++) {
            long now = guard(slot);
            long written = GuardTable.guard(GuardTable.generation(now), BlockState.WRITTEN);
            if (now != written) {
                checkNotPinned(slot, written, pins);
            }
            checkNotPinned(slot, GuardTable.guard(GuardTable.generation(now) - 1, BlockState.WRITTEN), pins);
        }
    }

    private void checkNotPinned(int slot, long written, GuardSource pins) {
        long pin;
        try {
            pin = pins.pin(FIRST_REGION, (long) slot * GuardTable.STRIDE, written, slot * slotBytes, 1);
        } catch (MooncakeException e) {
            throw new Violation(5, "slot " + slot + " of node " + node.id + ", whose guard is " + text(guard(slot))
                    + ", was pinned as " + text(written) + ": " + e.getMessage());
        }
        if (pin >= 0) {
            pins.unpin(pin);
            throw new Violation(5, "slot " + slot + " of node " + node.id + ", whose guard is " + text(guard(slot))
                    + ", can be pinned as " + text(written));
        }
    }

    void checkAnnounced(BlockRef ref) {
        if (GuardTable.generation(guard(ref.guardIndex())) < GuardTable.generation(ref.guard())) {
            throw new Violation(5, "node " + node.id + " announced " + ref + " before its guard said WRITTEN");
        }
    }

    void checkWithdrawn(BlockRef ref) {
        if (guard(ref.guardIndex()) == ref.guard()) {
            throw new Violation(5, "node " + node.id + " evicted " + ref + ", but its guard still says WRITTEN");
        }
    }

    private void tally(int slot, long before, long now) {
        long passed = GuardTable.generation(now) - GuardTable.generation(before);
        if (passed < 0 || (passed == 0 && !isForward(GuardTable.state(before), GuardTable.state(now)))) {
            throw new Violation(5, "slot " + slot + " of node " + node.id + " went from " + text(before) + " to "
                    + text(now));
        }
        Tally tally = node.world.tally;
        if (passed == 0) {
            tally.hit("block " + GuardTable.state(before) + " -> " + GuardTable.state(now));
            return;
        }
        if (GuardTable.state(before) == BlockState.EVICTED) {
            tally.hit("block EVICTED -> FREE");
        }
        tally.hit("block FREE -> ALLOCATED");
        if (GuardTable.state(now) == BlockState.WRITTEN) {
            tally.hit("block ALLOCATED -> WRITTEN");
        }
    }

    /** Several edges may lie between two looks. */
    private static boolean isForward(BlockState before, BlockState now) {
        return switch (before) {
            case FREE -> false;
            case ALLOCATED -> true;
            case WRITTEN -> now != BlockState.ALLOCATED;
            case EVICTED -> now == BlockState.FREE;
        };
    }

    private static String text(long guard) {
        return GuardTable.state(guard) + " in generation " + GuardTable.generation(guard);
    }
}
