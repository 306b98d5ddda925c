package io.mooncake.core.pool;

import io.mooncake.core.base.Bounds;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.Tier;
import io.mooncake.core.transfer.UnitChecksums;
import java.lang.foreign.Arena;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Host memory cut into slots of one or more lengths. Any thread; reserve, release and quarantine are O(1) in the number of slots, take
 * no lock and allocate nothing.
 *
 * <p>One reservation and one guard table are made at start and live in one shared arena until {@link #close()}; nothing is mapped or
 * unmapped in between. Slots are numbered by ascending length and start on multiples of 64 bytes, at an offset that is stored.
 *
 * <p>Each slot has a state of its own beside the free stack: a slot is pushed only by whoever moved it to FREE, so that a second
 * release of it is refused before it touches the stack. The counts of all slots are one word,
 *
 * <pre>
 *   closed:1 | quarantined:31 | reserved:1 | used:31
 * </pre>
 *
 * hence any look at it adds up, and closing is decided in the same step that sees nothing used.
 */
public final class DramPool implements BlockPool {
    private static final long SLOT_ALIGNMENT = 64;
    private static final long ALIGNMENT = 4096;
    private static final int MAX_NAMED_SLOTS = 16;

    private static final int FREE = 0;
    private static final int USED = 1;
    private static final int QUARANTINED = 2;
    private static final VarHandle STATE = MethodHandles.arrayElementVarHandle(int[].class);

    private static final long ONE_USED = 1;
    private static final long ONE_QUARANTINED = 1L << 32;
    private static final long CLOSED = 1L << 63;

    private final String name;
    private final Arena arena = Arena.ofShared();
    private final Memory memory;
    private final GuardTable guards;
    private final @Nullable UnitChecksums checksums;
    /** Ascending; the slots of class c are {@code [firstSlot[c], firstSlot[c + 1])}. */
    private final long[] classBytes;
    private final int[] firstSlot;
    private final long[] offsets;
    private final FreeStack freeSlots;
    private final int[] states;
    private final AtomicLong counts = new AtomicLong();
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
        List<SizeClass> sorted = new ArrayList<>(classes);
        sorted.sort(Comparator.comparingLong(SizeClass::blockBytes));
        this.name = name;
        classBytes = sorted.stream().mapToLong(SizeClass::blockBytes).toArray();
        firstSlot = new int[classBytes.length + 1];
        long bytes = sum(name, sorted);
        int slots = firstSlot[classBytes.length];
        offsets = new long[slots];
        states = new int[slots];
        freeSlots = new FreeStack(classBytes.length, slots);
        layOut();
        try {
            memory = Memory.of(source.reserve(bytes, ALIGNMENT, arena));
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

    private long sum(String what, List<SizeClass> sorted) {
        if (sorted.isEmpty()) {
            throw new MooncakeException(Kind.CONFIG_ERROR, "pool " + what + " has no size class: give it at least one");
        }
        try {
            long bytes = 0;
            int slots = 0;
            for (int i = 0; i < sorted.size(); i++) {
                SizeClass sizeClass = sorted.get(i);
                bytes = Math.addExact(bytes,
                        Math.multiplyExact(stride(sizeClass.blockBytes()), (long) sizeClass.count()));
                slots = Math.addExact(slots, sizeClass.count());
                firstSlot[i + 1] = slots;
            }
            return bytes;
        } catch (ArithmeticException e) {
            throw new MooncakeException(Kind.CONFIG_ERROR,
                    "pool " + what + ": the sum of " + sorted + " passes 2^63 bytes or 2^31 slots: make it smaller", e);
        }
    }

    private void layOut() {
        long offset = 0;
        for (int c = 0; c < classBytes.length; c++) {
            for (int slot = firstSlot[c]; slot < firstSlot[c + 1]; slot++) {
                offsets[slot] = offset;
                offset += stride(classBytes[c]);
            }
            // The lowest slot comes out first.
            for (int slot = firstSlot[c + 1] - 1; slot >= firstSlot[c]; slot--) {
                freeSlots.push(c, slot);
            }
        }
    }

    private static long stride(long blockBytes) {
        return Math.addExact(blockBytes, SLOT_ALIGNMENT - 1) & -SLOT_ALIGNMENT;
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

    @Override
    public int slots() {
        return offsets.length;
    }

    @Override
    public long offset(int slot) {
        check(slot);
        return offsets[slot];
    }

    @Override
    public long slotBytes(int slot) {
        check(slot);
        return classBytes[classOf(slot)];
    }

    @Override
    public long largestSlotBytes() {
        return classBytes[classBytes.length - 1];
    }

    private int classOf(int slot) {
        int c = 0;
        while (slot >= firstSlot[c + 1]) {
            c++;
        }
        return c;
    }

    private void check(int slot) {
        Bounds.check(this, slot, 1, offsets.length);
    }

    @Override
    public int reserve(long length) {
        if (length <= 0 || length > largestSlotBytes()) {
            throw new MooncakeException(Kind.OUT_OF_BOUNDS,
                    this + ": no slot is for " + length + " bytes: the longest have "
                            + largestSlotBytes() + "; use shorter blocks or add a size class");
        }
        for (int c = 0; c < classBytes.length; c++) {
            if (classBytes[c] >= length) {
                int slot = freeSlots.pop(c);
                if (slot != NONE) {
                    take(c, slot);
                    return slot;
                }
            }
        }
        if (counts.get() < 0) {
            throw closed();
        }
        return NONE;
    }

    /** Counts a popped slot, which is when close() can see it; a closed pool takes it back. */
    private void take(int sizeClass, int slot) {
        if (!STATE.compareAndSet(states, slot, FREE, USED)) {
            throw new IllegalStateException(this + ": slot " + slot + " was on the free stack and is not free");
        }
        long before;
        do {
            before = counts.get();
            if (before < 0) {
                STATE.setVolatile(states, slot, FREE);
                freeSlots.push(sizeClass, slot);
                throw closed();
            }
        } while (!counts.compareAndSet(before, before + ONE_USED));
    }

    private MooncakeException closed() {
        return new MooncakeException(Kind.CLOSED, this + " is closed");
    }

    @Override
    public void release(int slot) {
        check(slot);
        int before = (int) STATE.getVolatile(states, slot);
        while (before != FREE) {
            int seen = (int) STATE.compareAndExchange(states, slot, before, FREE);
            if (seen == before) {
                counts.addAndGet(before == USED ? -ONE_USED : -ONE_QUARANTINED);
                freeSlots.push(classOf(slot), slot);
                return;
            }
            before = seen;
        }
        throw new MooncakeException(Kind.ILLEGAL_STATE, this + ": slot " + slot + " is free already: release it once");
    }

    @Override
    public void quarantine(int slot) {
        check(slot);
        if (!STATE.compareAndSet(states, slot, USED, QUARANTINED)) {
            throw new MooncakeException(Kind.ILLEGAL_STATE, this + ": slot " + slot
                    + " is free or quarantined already: only its owner gives it up, once");
        }
        counts.addAndGet(ONE_QUARANTINED - ONE_USED);
    }

    @Override
    public Usage usage() {
        long now = counts.get();
        int used = (int) now;
        int quarantined = (int) ((now & ~CLOSED) >>> 32);
        return new Usage(used, quarantined, offsets.length - used - quarantined);
    }

    /** {@inheritDoc} No slot can be reserved from the first call on, also when it throws; release the rest and call it again then. */
    @Override
    public synchronized void close() {
        if (unmapped) {
            return;
        }
        long open = counts.accumulateAndGet(CLOSED, (now, flag) -> now | flag) & ~CLOSED;
        if (open != 0) {
            throw new MooncakeException(Kind.IN_USE, this + " still has " + usage() + ": " + named(USED, "used") + ", "
                    + named(QUARANTINED, "quarantined") + ": release them, then close it again");
        }
        guards.retire();
        try {
            arena.close();
        } catch (IllegalStateException e) {
            throw new MooncakeException(Kind.IN_USE,
                    this + " is free, but a system call is still using its memory: close the engines first", e);
        }
        unmapped = true;
    }

    private String named(int state, String what) {
        StringBuilder text = new StringBuilder(what).append(" slots [");
        int found = 0;
        for (int slot = 0; slot < states.length; slot++) {
            if ((int) STATE.getVolatile(states, slot) == state && found++ < MAX_NAMED_SLOTS) {
                text.append(found == 1 ? "" : ", ").append(slot);
            }
        }
        return text.append(found > MAX_NAMED_SLOTS ? ", ...]" : "]").toString();
    }

    /** For messages. */
    @Override
    public String toString() {
        return "pool " + name + " of " + offsets.length + " slots";
    }
}
