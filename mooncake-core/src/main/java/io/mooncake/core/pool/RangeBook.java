package io.mooncake.core.pool;

import io.mooncake.core.base.Bounds;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import java.util.BitSet;

/**
 * Who has the bytes of a pool whose blocks take as many as they need: a slot is a range of them while it is somebody's, and nothing but a
 * number while it is free. Any thread; a lock, for as long as it takes to look along a bit set, and nothing is allocated.
 *
 * <pre>
 *   |aaaa|b|....|cc|..|d|..........        . free     used ranges never move by themselves: the compactor copies and gives back
 * </pre>
 *
 * <p>A range is a number of granules, of which there are at most {@value #MAX_GRANULES}, and the lowest that is long enough is taken. What is
 * free adds up, but is of use only as long as its ranges are.
 */
public final class RangeBook implements Book {
    /** Blocks at most, since each is a granule or more. */
    public static final int MAX_GRANULES = 1 << 20;

    private static final int NONE = BlockPool.NONE;

    private static final byte FREE = 0;
    private static final byte USED = 1;
    private static final byte QUARANTINED = 2;

    private final String name;
    private final long largest;
    private final long granule;
    private final int granules;
    /** By granule: whether it is somebody's, and one more than the slot that begins there, or 0. */
    private final BitSet taken;
    private final int[] begins;
    /** By slot. */
    private final int[] first;
    private final int[] length;
    private final byte[] states;
    /** Numbers of free slots: the first so many. */
    private final int[] freeSlots;
    private int freeCount;
    private int quarantined;
    private int freeGranules;
    private boolean closed;

    /**
     * Everything is free.
     *
     * @param name the pool's
     * @param bytes of all of it
     * @param largest bytes of the longest block
     * @param slots blocks at most
     * @param alignment of the ranges, a power of two
     * @throws MooncakeException CONFIG_ERROR when there is no room for a block of that length
     */
    public RangeBook(String name, long bytes, long largest, int slots, long alignment) {
        this.name = name;
        this.largest = largest;
        long size = alignment;
        while (bytes / size > MAX_GRANULES) {
            size = Math.multiplyExact(2, size);
        }
        granule = size;
        granules = (int) (bytes / granule);
        if (largest <= 0 || slots <= 0 || granulesOf(largest) > granules) {
            throw new MooncakeException(Kind.CONFIG_ERROR,
                    "pool " + name + " of " + bytes + " bytes has no room for a block of "
                            + largest + " bytes, or for " + slots + " blocks: make it larger");
        }
        taken = new BitSet(granules);
        begins = new int[granules];
        first = new int[slots];
        length = new int[slots];
        states = new byte[slots];
        freeSlots = new int[slots];
        for (int slot = slots - 1; slot >= 0; slot--) {
            freeSlots[freeCount++] = slot;
        }
        freeGranules = granules;
    }

    private long granulesOf(long bytes) {
        return (bytes - 1) / granule + 1;
    }

    @Override
    public long bytes() {
        return granules * granule;
    }

    @Override
    public int slots() {
        return states.length;
    }

    @Override
    public synchronized long offset(int slot) {
        check(slot);
        return first[slot] * granule;
    }

    /** {@inheritDoc} 0 for one that is free. */
    @Override
    public synchronized long slotBytes(int slot) {
        check(slot);
        return length[slot] * granule;
    }

    @Override
    public long largestSlotBytes() {
        return largest;
    }

    private void check(int slot) {
        Bounds.check(this, slot, 1, states.length);
    }

    // ---- reserving

    @Override
    public synchronized int reserve(long bytes) {
        return take(bytes, lowest(wanted(bytes)));
    }

    /**
     * Takes exactly one place.
     *
     * @param bytes needed
     * @param offset where
     * @return a slot there, or {@link BlockPool#NONE} when some of it is somebody's
     */
    public synchronized int reserveAt(long bytes, long offset) {
        int wanted = wanted(bytes);
        Bounds.check(this, offset, wanted * granule, bytes());
        int at = (int) (offset / granule);
        int next = taken.nextSetBit(at);
        return take(bytes, next < 0 || next >= at + wanted ? at : NONE);
    }

    /**
     * Takes the highest place there is.
     *
     * @param bytes needed
     * @param from not below
     * @return a slot there, or {@link BlockPool#NONE}
     */
    public synchronized int reserveHighest(long bytes, long from) {
        int wanted = wanted(bytes);
        int least = (int) (from / granule);
        for (int end = granules; end - wanted >= least;) {
            int last = taken.previousClearBit(end - 1);
            int start = last < 0 ? 0 : taken.previousSetBit(last) + 1;
            if (last + 1 - wanted >= Math.max(start, least)) {
                return take(bytes, last + 1 - wanted);
            }
            end = start;
        }
        return NONE;
    }

    private int wanted(long bytes) {
        if (bytes <= 0 || bytes > largest) {
            throw new MooncakeException(Kind.OUT_OF_BOUNDS,
                    this + ": no block has " + bytes + " bytes: the longest have "
                            + largest + "; use shorter blocks or set a larger block size");
        }
        if (closed) {
            throw new MooncakeException(Kind.CLOSED, this + " is closed");
        }
        return (int) granulesOf(bytes);
    }

    private int lowest(int wanted) {
        for (int at = taken.nextClearBit(0); at <= granules - wanted;) {
            int end = endOfFree(at);
            if (end - at >= wanted) {
                return at;
            }
            at = taken.nextClearBit(end);
        }
        return NONE;
    }

    private int endOfFree(int at) {
        int end = taken.nextSetBit(at);
        return end < 0 ? granules : end;
    }

    private int take(long bytes, int at) {
        if (at == NONE || freeCount == 0) {
            return NONE;
        }
        int slot = freeSlots[--freeCount];
        first[slot] = at;
        length[slot] = (int) granulesOf(bytes);
        begins[at] = slot + 1;
        taken.set(at, at + length[slot]);
        freeGranules -= length[slot];
        states[slot] = USED;
        return slot;
    }

    @Override
    public synchronized void release(int slot) {
        check(slot);
        if (states[slot] == FREE) {
            throw new MooncakeException(Kind.ILLEGAL_STATE,
                    this + ": slot " + slot + " is free already: release it once");
        }
        quarantined -= states[slot] == QUARANTINED ? 1 : 0;
        states[slot] = FREE;
        taken.clear(first[slot], first[slot] + length[slot]);
        freeGranules += length[slot];
        begins[first[slot]] = 0;
        length[slot] = 0;
        freeSlots[freeCount++] = slot;
    }

    @Override
    public synchronized void quarantine(int slot) {
        check(slot);
        if (states[slot] != USED) {
            throw new MooncakeException(Kind.ILLEGAL_STATE, this + ": slot " + slot
                    + " is free or quarantined already: only its owner gives it up, once");
        }
        states[slot] = QUARANTINED;
        quarantined++;
    }

    @Override
    public synchronized BlockPool.Usage usage() {
        return new BlockPool.Usage(states.length - freeCount - quarantined, quarantined, freeCount);
    }

    @Override
    public synchronized void close() {
        closed = true;
        if (freeCount < states.length) {
            throw new MooncakeException(Kind.IN_USE, this + " still has " + usage() + ": " + named(USED, "used") + ", "
                    + named(QUARANTINED, "quarantined") + ": release them, then close it again");
        }
    }

    private String named(byte state, String what) {
        StringBuilder text = new StringBuilder(what).append(" slots [");
        int found = 0;
        for (int slot = 0; slot < states.length; slot++) {
            if (states[slot] == state && found++ < SlotBook.MAX_NAMED_SLOTS) {
                text.append(found == 1 ? "" : ", ").append(slot);
            }
        }
        return text.append(found > SlotBook.MAX_NAMED_SLOTS ? ", ...]" : "]").toString();
    }

    // ---- looking

    /**
     * What nobody has.
     *
     * @return bytes, of all free ranges together
     */
    public synchronized long freeBytes() {
        return freeGranules * granule;
    }

    /**
     * The longest block that there is room for.
     *
     * @return bytes of the longest free range
     */
    public synchronized long longestFreeBytes() {
        int longest = 0;
        for (int at = taken.nextClearBit(0); at < granules;) {
            int end = endOfFree(at);
            longest = Math.max(longest, end - at);
            at = taken.nextClearBit(end);
        }
        return longest * granule;
    }

    /**
     * Where the next free range is that something lies behind.
     *
     * @param from where to begin to look
     * @return offset of its first byte from there on, or -1 when all that is free from there on is at the end
     */
    public synchronized long nextHole(long from) {
        int at = taken.nextClearBit((int) Math.min(granules, from / granule));
        return at < granules && endOfFree(at) < granules ? at * granule : -1;
    }

    /**
     * Where a free range ends.
     *
     * @param offset of a byte of it
     * @return offset of the first byte behind it
     */
    public synchronized long endOfHole(long offset) {
        return endOfFree((int) (offset / granule)) * granule;
    }

    /**
     * The slot that begins at a place.
     *
     * @param offset which
     * @return a slot, or {@link BlockPool#NONE}
     */
    public synchronized int slotAt(long offset) {
        int at = (int) (offset / granule);
        return at < granules ? begins[at] - 1 : NONE;
    }

    /** For messages. */
    @Override
    public String toString() {
        return "pool " + name + " of " + bytes() + " bytes";
    }
}
