package io.mooncake.core.transfer.shm;

import io.mooncake.core.base.Bounds;
import io.mooncake.core.transfer.GuardSource;
import io.mooncake.core.transfer.UnitChecksums;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/**
 * The first page of a pool's file: what it is, whose, and where in it things are. In the host's byte order, since only this host
 * sees it.
 *
 * <pre>
 *   0   magic          8   "MKSHPOOL", written last
 *   8   version        4   2
 *   12  region         4   the owner's number of the region that the data is
 *   16  incarnation    8   of the owner
 *   24  nonce         16   random; an address that carries another one means another file
 *   40  data offset    8   in the file
 *   48  data length    8
 *   56  guard offset   8   in the file
 *   64  guard length   8
 *   72  sums offset    8   in the file; 0 where blocks have no checksums
 *   80  sums length    8   0 where blocks have no checksums
 *   88  state          8   1 open, 2 closed by the owner
 *   96
 * </pre>
 *
 * @param region the owner's number
 * @param incarnation the owner's
 * @param nonceHigh the nonce
 * @param nonceLow the nonce
 * @param dataOffset first byte of the slots
 * @param dataLength bytes of the slots
 * @param guardOffset first byte of the guard table
 * @param guardLength bytes of the guard table
 * @param sumsOffset first byte of the blocks' checksums
 * @param sumsLength their bytes, 0 where there are none
 */
record Header(int region, long incarnation, long nonceHigh, long nonceLow, long dataOffset, long dataLength,
        long guardOffset, long guardLength, long sumsOffset, long sumsLength) {
    /** A page, so that what follows starts on one. */
    static final long BYTES = 4096;
    /** Bytes from one guard to the next, in every guard table. */
    static final int GUARD_STRIDE = GuardSource.GUARD_STRIDE;

    private static final long MAGIC = 0x4d4b5348504f4f4cL;
    private static final int VERSION = 2;
    private static final long OPEN = 1;
    private static final long CLOSED = 2;

    private static final long VERSION_AT = 8;
    private static final long REGION_AT = 12;
    private static final long INCARNATION_AT = 16;
    private static final long NONCE_AT = 24;
    private static final long DATA_AT = 40;
    private static final long GUARD_AT = 56;
    private static final long SUMS_AT = 72;
    private static final long STATE_AT = 88;

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
    private static final VarHandle WORD = LONG.varHandle();

    /** Opens the file to readers. */
    void publish(MemorySegment page) {
        page.set(INT, VERSION_AT, VERSION);
        page.set(INT, REGION_AT, region);
        page.set(LONG, INCARNATION_AT, incarnation);
        page.set(LONG, NONCE_AT, nonceHigh);
        page.set(LONG, NONCE_AT + 8, nonceLow);
        page.set(LONG, DATA_AT, dataOffset);
        page.set(LONG, DATA_AT + 8, dataLength);
        page.set(LONG, GUARD_AT, guardOffset);
        page.set(LONG, GUARD_AT + 8, guardLength);
        page.set(LONG, SUMS_AT, sumsOffset);
        page.set(LONG, SUMS_AT + 8, sumsLength);
        page.set(LONG, STATE_AT, OPEN);
        WORD.setRelease(page, 0L, MAGIC);
    }

    /** Tells readers at once what they else find out by the lock. */
    static void close(MemorySegment page) {
        WORD.setRelease(page, STATE_AT, CLOSED);
    }

    static boolean isOpen(MemorySegment page) {
        return (long) WORD.getAcquire(page, STATE_AT) == OPEN;
    }

    /** Null when this is no pool's file, or one of another version. */
    static @Nullable Header read(MemorySegment page) {
        if ((long) WORD.getAcquire(page, 0L) != MAGIC || page.get(INT, VERSION_AT) != VERSION) {
            return null;
        }
        return new Header(page.get(INT, REGION_AT), page.get(LONG, INCARNATION_AT), page.get(LONG, NONCE_AT),
                page.get(LONG, NONCE_AT + 8), page.get(LONG, DATA_AT), page.get(LONG, DATA_AT + 8),
                page.get(LONG, GUARD_AT), page.get(LONG, GUARD_AT + 8), page.get(LONG, SUMS_AT),
                page.get(LONG, SUMS_AT + 8));
    }

    /** Whether everything that it names lies in a file of so many bytes. */
    boolean fits(long fileBytes) {
        return dataLength > 0 && guardLength >= GUARD_STRIDE && (dataOffset | guardOffset) % GUARD_STRIDE == 0
                && guardLength / GUARD_STRIDE <= Integer.MAX_VALUE - 8
                && Bounds.contains(dataOffset, dataLength, fileBytes)
                && Bounds.contains(guardOffset, guardLength, fileBytes)
                && (sumsLength == 0 || (sumsOffset % UnitChecksums.ALIGNMENT == 0
                        && UnitChecksums.fits(sumsLength, slots())
                        && Bounds.contains(sumsOffset, sumsLength, fileBytes)));
    }

    /** How many slots there are. */
    int slots() {
        return (int) (guardLength / GUARD_STRIDE);
    }

    /** As the address has it. */
    String nonce() {
        HexFormat hex = HexFormat.of();
        return hex.toHexDigits(nonceHigh) + hex.toHexDigits(nonceLow);
    }
}
