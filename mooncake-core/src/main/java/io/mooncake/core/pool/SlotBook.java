package io.mooncake.core.pool;

import io.mooncake.core.base.Bounds;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Who has the slots of a pool, whatever they are slots of: free, used, quarantined; a {@link SlottedPool} of whatever module makes one. Any thread; reserve, release and quarantine are O(1) in
 * the number of slots, take no lock and allocate nothing.
 *
 * <p>Slots are numbered by ascending length and start on multiples of the pool's alignment, at an offset that is stored. Each has a state of its
 * own beside the free stack: a slot is pushed only by whoever moved it to FREE, so that a second release of it is refused before it
 * touches the stack. The counts of all slots are one word,
 *
 * <pre>
 *   closed:1 | quarantined:31 | reserved:1 | used:31
 * </pre>
 *
 * hence any look at it adds up, and closing is decided in the same step that sees nothing used.
 */
public final class SlotBook implements Book {
    private static final int NONE = BlockPool.NONE;
    static final int MAX_NAMED_SLOTS = 16;

    private static final int FREE = 0;
    private static final int USED = 1;
    private static final int QUARANTINED = 2;
    private static final VarHandle STATE = MethodHandles.arrayElementVarHandle(int[].class);

    private static final long ONE_USED = 1;
    private static final long ONE_QUARANTINED = 1L << 32;
    private static final long CLOSED = 1L << 63;

    private final String name;
    private final long alignment;
    private final long bytes;
    /** Ascending; the slots of class c are {@code [firstSlot[c], firstSlot[c + 1])}. */
    private final long[] classBytes;
    private final int[] firstSlot;
    private final long[] offsets;
    private final FreeStack freeSlots;
    private final int[] states;
    private final AtomicLong counts = new AtomicLong();

    /**
     * Every slot is free.
     *
     * @param name the pool's
     * @param classes slots by length, in any order, at least one
     * @param alignment of the slots' offsets, a power of two
     * @throws MooncakeException CONFIG_ERROR for no class or a sum that overflows
     */
    public SlotBook(String name, List<SizeClass> classes, long alignment) {
        this(name, classes, alignment, new BitSet());
    }

    /**
     * Some slots are used already.
     *
     * @param taken which
     */
    SlotBook(String name, List<SizeClass> classes, long alignment, BitSet taken) {
        List<SizeClass> sorted = new ArrayList<>(classes);
        sorted.sort(Comparator.comparingLong(SizeClass::blockBytes));
        this.name = name;
        this.alignment = alignment;
        classBytes = sorted.stream().mapToLong(SizeClass::blockBytes).toArray();
        firstSlot = new int[classBytes.length + 1];
        bytes = sum(name, sorted);
        int slots = firstSlot[classBytes.length];
        offsets = new long[slots];
        states = new int[slots];
        freeSlots = new FreeStack(classBytes.length, slots);
        layOut(taken);
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

    private void layOut(BitSet taken) {
        long offset = 0;
        for (int c = 0; c < classBytes.length; c++) {
            for (int slot = firstSlot[c]; slot < firstSlot[c + 1]; slot++) {
                offsets[slot] = offset;
                offset += stride(classBytes[c]);
            }
            // The lowest slot comes out first.
            for (int slot = firstSlot[c + 1] - 1; slot >= firstSlot[c]; slot--) {
                if (taken.get(slot)) {
                    states[slot] = USED;
                    counts.addAndGet(ONE_USED);
                } else {
                    freeSlots.push(c, slot);
                }
            }
        }
    }

    private long stride(long blockBytes) {
        return Math.addExact(blockBytes, alignment - 1) & -alignment;
    }

    /** {@inheritDoc} With what lies between the slots. */
    @Override
    public long bytes() {
        return bytes;
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

    void check(int slot) {
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
    public BlockPool.Usage usage() {
        long now = counts.get();
        int used = (int) now;
        int quarantined = (int) ((now & ~CLOSED) >>> 32);
        return new BlockPool.Usage(used, quarantined, offsets.length - used - quarantined);
    }

    /**
     * Nobody can reserve from now on.
     *
     * @throws MooncakeException IN_USE, naming the slots, when a slot is somebody's
     */
    @Override
    public void close() {
        long open = counts.accumulateAndGet(CLOSED, (now, flag) -> now | flag) & ~CLOSED;
        if (open != 0) {
            throw new MooncakeException(Kind.IN_USE, this + " still has " + usage() + ": " + named(USED, "used") + ", "
                    + named(QUARANTINED, "quarantined") + ": release them, then close it again");
        }
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
