package io.mooncake.core.transfer;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.Memory.HostMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.zip.CRC32C;

/**
 * The checksums of a pool's blocks, in host memory that peers may read: CRC32C of every unit of {@link GuardSource#UNIT_BYTES}. An entry a
 * slot, in the order of the guards; all are as long as the largest slot needs, a multiple of {@value #ALIGNMENT} bytes.
 *
 * <pre>
 *   0   offset     8   of the block's first byte, in the pool's region
 *   8   length     8   valid bytes; 0 for a block without checksums
 *   16  sums       4   each, unit by unit; the last unit ends with the valid bytes
 * </pre>
 *
 * <p>An entry stands under its block's guard as the bytes do: written by the slot's writer before the guard says WRITTEN, and what a reader
 * without a pin takes from it is worth something once the guard was seen unchanged afterwards. Until then it may be anything; every answer is
 * within its bounds all the same.
 */
public final class UnitChecksums {
    /** Entries start on multiples of this. */
    public static final long ALIGNMENT = 64;

    private static final long OFFSET_AT = 0;
    private static final long LENGTH_AT = 8;
    private static final long SUMS_AT = 16;

    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;

    private final MemorySegment memory;
    private final long stride;
    private final long units;

    /**
     * A table in memory of its own, or in that of another process.
     *
     * @param memory zeros at first, as many as {@link #bytes} says; to read another's, all that matters is that {@link #fits}
     * @param slots entries
     */
    public UnitChecksums(MemorySegment memory, int slots) {
        this.memory = memory;
        stride = memory.byteSize() / slots;
        units = (stride - SUMS_AT) / Integer.BYTES;
    }

    /**
     * How much memory a table takes.
     *
     * @param slots entries
     * @param slotBytes of the largest slot
     * @return bytes
     * @throws ArithmeticException when that passes 2^63
     */
    public static long bytes(int slots, long slotBytes) {
        return Math.multiplyExact((beginning(slotBytes) + ALIGNMENT - 1) & -ALIGNMENT, (long) slots);
    }

    /**
     * How much of an entry a reader of a block's beginning needs.
     *
     * @param blockBytes of the block, 1 and up
     * @return bytes from the entry's first one to the last sum of those
     */
    public static long beginning(long blockBytes) {
        return SUMS_AT + ((blockBytes - 1) / GuardSource.UNIT_BYTES + 1) * Integer.BYTES;
    }

    /**
     * Sums up bytes of a read where they have landed.
     *
     * @param read whose destination is host memory
     * @param from position of the first one
     * @param length bytes
     * @return CRC32C, 0 to 2^32 - 1
     */
    public static long landed(GuardedRead read, long from, long length) {
        MemorySegment destination = ((HostMemory) read.destination().memory()).segment();
        CRC32C crc = new CRC32C();
        for (long at = from; at < from + length;) {
            long run = read.runAt(at, from + length - at);
            crc.update(destination.asSlice(read.destinationAt(at), run).asByteBuffer());
            at += run;
        }
        return crc.getValue();
    }

    /**
     * Whether a table can have so many bytes.
     *
     * @param bytes of all entries together
     * @param slots more than 0
     * @return false where an entry would have no sums or start on an odd place
     */
    public static boolean fits(long bytes, long slots) {
        return bytes > 0 && bytes % (slots * ALIGNMENT) == 0;
    }

    /**
     * Where it stands, for engines that let peers read it themselves.
     *
     * @return all entries
     */
    public Memory memory() {
        return Memory.of(memory);
    }

    /**
     * Sums up a block that is about to be written; its writer alone.
     *
     * @param slot where it stands
     * @param offset its first byte in the region
     * @param bytes its valid bytes
     */
    public void seal(int slot, long offset, MemorySegment bytes) {
        long at = slot * stride;
        CRC32C crc = new CRC32C();
        for (long from = 0, sum = at + SUMS_AT; from < bytes.byteSize(); from += GuardSource.UNIT_BYTES) {
            crc.reset();
            crc.update(bytes.asSlice(from, Math.min(GuardSource.UNIT_BYTES, bytes.byteSize() - from)).asByteBuffer());
            memory.set(INT, sum, (int) crc.getValue());
            sum += Integer.BYTES;
        }
        memory.set(LONG, at + OFFSET_AT, offset);
        memory.set(LONG, at + LENGTH_AT, bytes.byteSize());
    }

    /**
     * Takes over the sums of a block that was copied; its writer alone.
     *
     * @param slot where it stands now
     * @param offset its first byte in the region now
     * @param from where it stood
     */
    public void carry(int slot, long offset, int from) {
        MemorySegment.copy(memory, from * stride, memory, slot * stride, stride);
        memory.set(LONG, slot * stride + OFFSET_AT, offset);
    }

    /**
     * Says which block the sums are of that follow, one by one; its writer alone.
     *
     * @param slot where it stands
     * @param offset its first byte in the region
     * @param length its valid bytes
     */
    public void begin(int slot, long offset, long length) {
        memory.set(LONG, slot * stride + OFFSET_AT, offset);
        memory.set(LONG, slot * stride + LENGTH_AT, length);
    }

    /**
     * Sums up one unit; its block's writers, each another unit.
     *
     * @param slot where the block stands
     * @param unit 0 and up
     * @param sum CRC32C of it
     */
    public void put(int slot, long unit, long sum) {
        memory.set(INT, slot * stride + SUMS_AT + unit * Integer.BYTES, (int) sum);
    }

    /**
     * How many bytes a unit has.
     *
     * @param slot where its block stands
     * @param offset of its first byte, in the region
     * @return at most {@link GuardSource#UNIT_BYTES}; 0 or less past the block's end
     */
    public long unitBytes(int slot, long offset) {
        long at = slot * stride;
        return Math.min(GuardSource.UNIT_BYTES,
                memory.get(LONG, at + LENGTH_AT) - offset + memory.get(LONG, at + OFFSET_AT));
    }

    /**
     * Says that a block which is about to be written has no checksums; its writer alone.
     *
     * @param slot where it stands
     */
    public void clear(int slot) {
        memory.set(LONG, slot * stride + LENGTH_AT, 0);
    }

    /**
     * How far it is from a byte to the end of its unit.
     *
     * @param slot where its block stands
     * @param offset of the byte, in the region
     * @return 1 to {@link GuardSource#UNIT_BYTES}, also past the block's end
     */
    public long unitRest(int slot, long offset) {
        long from = offset - memory.get(LONG, slot * stride + OFFSET_AT);
        return GuardSource.UNIT_BYTES - Math.floorMod(from, (long) GuardSource.UNIT_BYTES);
    }

    /**
     * The checksum of a range.
     *
     * @param slot where its block stands
     * @param offset of its first byte, in the region
     * @param length bytes
     * @return CRC32C, 0 to 2^32 - 1, where the range is one whole unit of a block with checksums; else {@link GuardSource#NO_CHECKSUM}
     */
    public long sum(int slot, long offset, long length) {
        long at = slot * stride;
        long valid = memory.get(LONG, at + LENGTH_AT);
        long from = offset - memory.get(LONG, at + OFFSET_AT);
        long unit = from / GuardSource.UNIT_BYTES;
        if (from < 0 || from >= valid || unit >= units || from % GuardSource.UNIT_BYTES != 0
                || length != Math.min(GuardSource.UNIT_BYTES, valid - from)) {
            return GuardSource.NO_CHECKSUM;
        }
        return Integer.toUnsignedLong(memory.get(INT, at + SUMS_AT + unit * Integer.BYTES));
    }
}
