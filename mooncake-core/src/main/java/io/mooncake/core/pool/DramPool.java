package io.mooncake.core.pool;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.Tier;
import io.mooncake.core.transfer.UnitChecksums;
import java.lang.foreign.Arena;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Host memory cut into slots of one or more lengths, or into ranges as blocks need them. Any thread; of slots reserve, release and
 * quarantine are O(1) in their number, take no lock and allocate nothing.
 *
 * <p>One reservation and one guard table are made at start and live in one shared arena until {@link #close()}; nothing is mapped or
 * unmapped in between. Slots start on multiples of 64 bytes; a {@link Book} says who has them.
 */
public final class DramPool extends SlottedPool {
    private static final long SLOT_ALIGNMENT = 64;
    private static final long ALIGNMENT = 4096;

    private final String name;
    private final Arena arena = Arena.ofShared();
    private final Memory memory;
    private final GuardTable guards;
    private final @Nullable UnitChecksums checksums;
    private final Book book;
    private boolean unmapped;

    /**
     * Reserves all of the memory of a pool whose blocks get no checksums.
     *
     * @param name names the pool in messages
     * @param classes slots by length, in any order, at least one
     * @param source where the reservation and the guard table come from
     * @throws MooncakeException CONFIG_ERROR for no class or a sum that overflows, OUT_OF_MEMORY from the source
     */
    public DramPool(String name, List<SizeClass> classes, MemorySource source) {
        this(name, classes, source, false);
    }

    /**
     * Reserves all of the pool's memory.
     *
     * @param name names the pool in messages
     * @param classes slots by length, in any order, at least one
     * @param source asked for the slots, then for the guard table, then for the checksums where there are any
     * @param withChecksums whether blocks get checksums when they are sealed
     * @throws MooncakeException CONFIG_ERROR for no class or a sum that overflows, OUT_OF_MEMORY from the source
     */
    public DramPool(String name, List<SizeClass> classes, MemorySource source, boolean withChecksums) {
        this(name, new SlotBook(name, classes, SLOT_ALIGNMENT), source, withChecksums);
    }

    /**
     * Reserves a pool whose blocks take as many bytes as they need, from multiples of 4096 on where there is room for that.
     *
     * @param name names the pool in messages
     * @param largest bytes of the longest block, and how many blocks there are at most
     * @param bytes of all of it
     * @param source asked as by {@link #DramPool(String, List, MemorySource, boolean)}
     * @param withChecksums whether blocks get checksums when they are sealed
     * @return the pool
     * @throws MooncakeException CONFIG_ERROR when there is no room for the longest block, OUT_OF_MEMORY from the source
     */
    public static DramPool ofRanges(String name, SizeClass largest, long bytes, MemorySource source,
            boolean withChecksums) {
        // As devices want it, where that costs a small block no more than itself.
        long alignment = bytes / largest.count() >= ALIGNMENT ? ALIGNMENT : SLOT_ALIGNMENT;
        return new DramPool(name, new RangeBook(name, bytes, largest.blockBytes(), largest.count(), alignment),
                source, withChecksums);
    }

    private DramPool(String name, Book book, MemorySource source, boolean withChecksums) {
        this.name = name;
        this.book = book;
        int slots = book.slots();
        try {
            memory = Memory.of(source.reserve(book.bytes(), ALIGNMENT, arena));
            guards = new GuardTable(source.reserve((long) slots * GuardTable.STRIDE, ALIGNMENT, arena));
            checksums = withChecksums
                    ? new UnitChecksums(
                            source.reserve(UnitChecksums.bytes(slots, largestSlotBytes()), ALIGNMENT, arena), slots)
                    : null;
        } catch (Throwable e) {
            arena.close();
            throw e;
        }
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Tier tier() {
        return Tier.DRAM;
    }

    @Override
    public int device() {
        return -1;
    }

    @Override
    protected Book book() {
        return book;
    }

    @Override
    public Memory memory() {
        return memory;
    }

    @Override
    public GuardTable guards() {
        return guards;
    }

    @Override
    public @Nullable UnitChecksums checksums() {
        return checksums;
    }

    /** {@inheritDoc} No slot can be reserved from the first call on, also when it throws; release the rest and call it again then. */
    @Override
    public synchronized void close() {
        if (unmapped) {
            return;
        }
        book.close();
        guards.retire();
        try {
            arena.close();
        } catch (IllegalStateException e) {
            throw new MooncakeException(Kind.IN_USE,
                    this + " is free, but a system call is still using its memory: close the engines first", e);
        }
        unmapped = true;
    }
}
