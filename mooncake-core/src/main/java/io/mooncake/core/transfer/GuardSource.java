package io.mooncake.core.transfer;

import io.mooncake.core.base.Memory;
import org.jspecify.annotations.Nullable;

/**
 * The owner's side of a guarded read: pins the bytes under a guard while an engine reads them. Implemented by the block manager.
 * Any thread; allocates nothing.
 */
public interface GuardSource {
    /** Bytes from one guard to the next in a guard table. */
    int GUARD_STRIDE = 64;
    /** Bytes that one checksum is of; the last unit of a block is as long as its valid bytes are. */
    int UNIT_BYTES = 1 << 20;
    /** {@link #checksum}: there is none. */
    long NO_CHECKSUM = -1;

    /** {@link #pin}: the guard has another value now. */
    long STALE = -1;
    /** {@link #pin}: no guard stands there, or the range is not the guarded one. */
    long REFUSED = -2;

    /**
     * Pins what a guard guards.
     *
     * @param region the region's number
     * @param guardOffset offset in the region's guard table
     * @param expected what the guard must read
     * @param offset first byte to be read, in the region
     * @param length bytes to be read
     * @return a handle for {@link #unpin}, not negative; or {@link #STALE} or {@link #REFUSED}
     */
    long pin(int region, long guardOffset, long expected, long offset, long length);

    /**
     * Reads the guard that a pin stands for, after the bytes were read.
     *
     * @param handle what pin answered
     * @return the guard as it is now
     */
    long guard(long handle);

    /**
     * The checksum that the block's writer made of a unit.
     *
     * @param handle what pin answered
     * @param offset first byte of the range, in the region
     * @param length bytes of the range
     * @return CRC32C, 0 to 2^32 - 1, where the range is one whole unit of a block that has checksums; else {@link #NO_CHECKSUM}
     */
    default long checksum(long handle, long offset, long length) {
        return NO_CHECKSUM;
    }

    /**
     * How far it is to the end of a unit, so that an engine may cut its chunks where checksums are.
     *
     * @param handle what pin answered
     * @param offset a byte of the block, in the region
     * @return bytes, more than 0; without an end for a block that has no checksums
     */
    default long unitRest(long handle, long offset) {
        return Long.MAX_VALUE;
    }

    /**
     * Ends a pin. Exactly once for each pin: that is the engine's duty. Pins of the same block have the same handle and are only
     * counted, so the second unpin of one pin ends another holder's where there is one, whose bytes may then change under it.
     *
     * @param handle what pin answered
     * @throws io.mooncake.core.base.MooncakeException ILLEGAL_STATE, with nothing changed, when the block has no pin left
     */
    void unpin(long handle);

    /**
     * A region's guards as memory, for engines that let peers read it themselves: a guard stands at its guard offset there.
     *
     * @param region the region's number
     * @return null when the region has no guards
     */
    @Nullable
    Memory table(int region);

    /**
     * The checksums of a region's blocks, for engines that verify them where the bytes have landed. The entry of a guard has its number.
     *
     * @param region the region's number
     * @return null when the region's blocks have none
     */
    default @Nullable UnitChecksums checksums(int region) {
        return null;
    }
}
