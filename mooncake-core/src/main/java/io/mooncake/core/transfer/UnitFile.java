package io.mooncake.core.transfer;

import java.io.IOException;
import java.lang.foreign.MemorySegment;

/**
 * A file of blocks as its engine moves bytes into it and out of it, in units of {@link GuardSource#UNIT_BYTES}. Implemented by the pool
 * that has the file. Any thread that nobody interrupts; blocks while the device works.
 *
 * <pre>
 *   beginWrite ─▶ write, sum: unit by unit ─▶ makeDurable      what it was is gone for good; what it is stays, whatever happens
 * </pre>
 */
public interface UnitFile {
    /**
     * What offsets, lengths and addresses of reads and writes are multiples of.
     *
     * @return a power of two; 1 where any will do
     */
    int alignment();

    /**
     * Fills memory from the file.
     *
     * @param offset in the file
     * @param into aligned
     * @throws IOException when the device fails or the file is too short
     */
    void read(long offset, MemorySegment into) throws IOException;

    /**
     * Makes sure, before the first byte of a block is written, that nobody believes any more what stood there.
     *
     * @param offset of the block's slot
     * @throws IOException when that cannot be made sure
     */
    void beginWrite(long offset) throws IOException;

    /**
     * Writes memory into the file.
     *
     * @param offset in the file
     * @param from aligned
     * @throws IOException when the device fails
     */
    void write(long offset, MemorySegment from) throws IOException;

    /**
     * Makes blocks durable that were written, all together: bytes first, then that they are there.
     *
     * @param offsets of their slots
     * @throws IOException when that is not sure; none of them is then
     */
    void makeDurable(long[] offsets) throws IOException;

    /**
     * The checksums of its blocks, which the engine writes with the bytes, and verifies what it reads by.
     *
     * @return an entry a slot
     */
    UnitChecksums checksums();

    /**
     * The slot that a block is in.
     *
     * @param offset of its first byte
     * @return the number of its checksums
     */
    int slotAt(long offset);

    /**
     * Whether something waits to be made durable that no block waits for.
     *
     * @return true when {@link #makeDurable} of none would do something
     */
    boolean isBehind();
}
