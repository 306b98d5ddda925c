package io.mooncake.core.manager;

import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockState;
import io.mooncake.core.block.BlockWriter.Result;
import io.mooncake.core.block.Version;
import io.mooncake.core.pool.GuardTable;
import io.mooncake.core.pool.Stored;
import io.mooncake.core.transfer.UnitChecksums;
import java.util.function.LongSupplier;

/**
 * How blocks come into the table: whoever has the lease of a filled slot seals it, and the table names it if its version is higher than what
 * it names. Any thread, but for {@link #moved}.
 *
 * <pre>
 *   bytes, sums ─▶ guard := WRITTEN ─▶ entry of the slot ─▶ word := WRITTEN ─▶ the table names it ─▶ mark
 * </pre>
 *
 * <p>What holds by that order, by the numbers of the invariants: (8) a lease's owner publishes when every byte is there, and nobody pins the slot before
 * its word says WRITTEN. (5) Whoever pins it then finds the entry, and a guard that says WRITTEN in the same generation. Before the table names it, it can
 * be pinned by its guard alone, which nobody was told yet. (3) A slot that the table did not come to name, or names no more, is retired by whoever saw to
 * that, and by nobody else; this one's by whoever sealed it.
 */
final class Publication {
    private final SlotTable table;
    private final Copies blocks;
    private final ControlWords words;
    private final ForetoldUses foretold;
    private final LongSupplier nanoClock;
    /** The highest version counter of what was kept from before this process. */
    final long storedCounter;

    /** Takes in what the pools have kept from before this process. */
    Publication(SlotTable table, ForetoldUses foretold, LongSupplier nanoClock) {
        this.table = table;
        blocks = table.blocks;
        words = table.words;
        this.foretold = foretold;
        this.nanoClock = nanoClock;
        long highest = 0;
        for (Space space : table.spaces) {
            for (Stored stored : space.pool().stored()) {
                highest = Math.max(highest, adopt(space, stored));
            }
        }
        storedCounter = highest;
    }

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
                table.mark(own.slot);
                return new Published(Result.WRITTEN, own);
            }
            int order = sameContent ? 0 : version.compareTo(there.ref.version());
            if (order > 0) {
                if (blocks.replace(there, own)) {
                    table.mark(own.slot);
                    table.retireAll(there, SlotTable.REPLACED);
                    return new Published(Result.WRITTEN, own);
                }
            } else if (order == 0 && own.isFasterThan(there.tier)) {
                if (comesAbove(own, there)) {
                    return new Published(Result.WRITTEN, own);
                }
            } else if (!held || table.hold(there)) {
                withdraw(own, held);
                return new Published(order == 0 ? Result.ALREADY_WRITTEN : Result.SUPERSEDED, there);
            } else if (ControlWords.state(words.get(there.slot)) == BlockState.WRITTEN) {
                withdraw(own, held);
                throw table.tooManyPins(there);
            } else {
                // A policy is evicting it: help, so as not to wait for the conductor.
                table.removeCopy(there, SlotTable.REPLACED);
            }
        }
    }

    private Entry seal(Lease lease, Version version, long validBytes, boolean held) {
        Space space = lease.space();
        int slot = lease.slot();
        long guard = space.guards().written(lease.localSlot(), lease.generation());
        BlockRef ref = new BlockRef(lease.id(), version, table.self, space.region().id(), lease.offset(), validBytes,
                lease.localSlot(), guard);
        Entry entry = new Entry(lease, ref);
        table.filled(entry);
        words.brought(slot, nanoClock.getAsLong());
        foretold.apply(lease.id(), slot, words);
        if (held) {
            words.holdBegins(slot);
        }
        if (!words.written(slot, lease.generation(), held ? 1 : 0)) {
            throw table.corrupt(slot, "sealed");
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
        table.mark(own.slot);
        if (!same) {
            table.retireAll(there, SlotTable.REPLACED);
        }
        return true;
    }

    /**
     * A block's copy goes on in another place of its pool. False, with the lease as it was, when it is not in the table any
     * more. The conductor's.
     */
    boolean moved(Entry from, Lease lease) {
        if (!table.names(from)) {
            return false;
        }
        UnitChecksums checksums = lease.space().pool().checksums();
        if (checksums != null) {
            checksums.carry(lease.localSlot(), lease.offset(), from.localSlot());
        }
        Entry to = seal(lease, from.ref.version(), from.ref.length(), false);
        words.inherits(to.slot, from.slot);
        boolean goesOn = blocks.swap(from, to);
        table.retire(goesOn ? from : to, goesOn ? SlotTable.MOVED : SlotTable.UNSEEN);
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
                table.mark(own.slot);
                return new Published(Result.WRITTEN, own);
            }
        }
    }

    /** Whether nobody but a policy took a copy away, as far as its slot tells. */
    private boolean wentByPolicy(BlockRef ref) {
        int slot = table.slotOf(ref);
        long generation = ControlWords.word(GuardTable.generation(ref.guard()), BlockState.FREE, 0);
        return slot != SlotTable.NONE && words.fate(slot) == 0
                && ControlWords.generation(words.get(slot)) == ControlWords.generation(generation);
    }

    /** Of what was kept the highest version of an id counts. */
    private long adopt(Space space, Stored stored) {
        Lease lease = table.lease(space, stored.slot(), stored.id(), stored.length());
        Entry own = seal(lease, stored.version(), stored.length(), false);
        Entry there = blocks.putIfAbsent(own);
        if (there != null) {
            boolean newer = own.ref.version().compareTo(there.ref.version()) > 0 && blocks.replace(there, own);
            table.retire(newer ? there : own, SlotTable.UNSEEN);
        }
        table.mark(own.slot);
        return stored.version().counter();
    }

    private void withdraw(Entry own, boolean held) {
        if (held) {
            table.endHold(own);
        }
        table.retire(own, SlotTable.UNSEEN);
    }
}
