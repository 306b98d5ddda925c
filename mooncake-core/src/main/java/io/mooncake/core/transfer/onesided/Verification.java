package io.mooncake.core.transfer.onesided;

import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.transfer.GuardSource;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.UnitChecksums;
import java.util.ArrayDeque;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Compares what has landed with the checksums of its block. They are fetched as a chunk of the read, so that the same guards prove them; when
 * all of it is proven, its units are summed up, some in each duty cycle. The poller's.
 */
final class Verification {
    /** Reads that have their checksums fetched or compared; others wait. */
    static final int PLACES = 128;
    private static final long BYTES_PER_CYCLE = GuardSource.UNIT_BYTES;

    /** How far one read is. */
    static final class Work {
        private int place = -1;
        private long bytes;
        private boolean queued;
        private long at;
        private @Nullable UnitChecksums sums;
    }

    private final OneSidedPoller poller;
    private final ArrayDeque<ReadProgress> queue = new ArrayDeque<>();
    private final int[] free = new int[PLACES];
    private int freeCount;

    Verification(OneSidedPoller poller) {
        this.poller = poller;
        for (int i = PLACES - 1; i >= 0; i--) {
            free[freeCount++] = i;
        }
    }

    /** Places that are taken. */
    int used() {
        return PLACES - freeCount;
    }

    /**
     * How much of its block's entry a read needs.
     *
     * @return 0 where none of its bytes is compared: the region has no checksums, no unit begins in the read's range, the poller cannot look at
     *     the destination, or the entry is longer than a place, which are blocks of about a GiB
     */
    static long wantedBytes(GuardedRead read, RemoteRegion region) {
        long before = read.blockOffset();
        if (region.checksumBytes() == 0 || read.length() == 0 || before < 0 || before > Long.MAX_VALUE / 2
                || !(read.destination().memory() instanceof HostMemory)) {
            return 0;
        }
        boolean begins = before % GuardSource.UNIT_BYTES == 0
                || read.length() > GuardSource.UNIT_BYTES - before % GuardSource.UNIT_BYTES;
        long bytes = Math.min(UnitChecksums.beginning(before + read.length()), entryBytes(region));
        return begins && bytes <= Landing.PLACE_BYTES ? bytes : 0;
    }

    private static long entryBytes(RemoteRegion region) {
        return region.checksumBytes() / (region.guardBytes() / GuardSource.GUARD_STRIDE);
    }

    /** Where the entry of a read's block stands. */
    static long entryAt(GuardedRead read, RemoteRegion region) {
        return read.guardOffset() / GuardSource.GUARD_STRIDE * entryBytes(region);
    }

    /** Gives a read a place for so many bytes of checksums; false when there is none now. */
    boolean place(ReadProgress read, long bytes) {
        if (freeCount == 0) {
            return false;
        }
        read.verification.place = free[--freeCount];
        read.verification.bytes = bytes;
        return true;
    }

    boolean hasPlace(ReadProgress read) {
        return read.verification.place >= 0;
    }

    long offsetOf(ReadProgress read) {
        return poller.landing().offsetOfPlace(read.verification.place);
    }

    /** All of a read is proven: begins to compare; false when there is nothing to be compared. */
    boolean begin(ReadProgress read) {
        Work work = read.verification;
        if (work.place < 0) {
            return false;
        }
        work.sums = new UnitChecksums(poller.landing().place(work.place, work.bytes), 1);
        work.at = 0;
        work.queued = true;
        queue.add(read);
        return true;
    }

    /** Compares some units, of each read in turn, and ends reads; how many units. */
    int run() {
        int units = 0;
        for (long budget = BYTES_PER_CYCLE; budget > 0 && !queue.isEmpty(); units++) {
            ReadProgress read = queue.remove();
            Work work = read.verification;
            work.queued = false;
            long before = work.at;
            boolean undamaged;
            try {
                undamaged = isNextUndamaged(read.read(), work);
            } catch (IllegalStateException e) {
                poller.finish(read, ReadStatus.REFUSED, read.freed(e));
                continue;
            }
            budget -= work.at - before;
            if (!undamaged) {
                poller.finish(read, ReadStatus.CHECKSUM, null);
            } else if (work.at == read.read().length()) {
                poller.finish(read, ReadStatus.OK, null);
            } else {
                work.queued = true;
                queue.add(read);
            }
        }
        return units;
    }

    private static boolean isNextUndamaged(GuardedRead read, Work work) {
        UnitChecksums sums = Objects.requireNonNull(work.sums);
        long from = work.at;
        long bytes = Math.min(sums.unitRest(0, read.offset() + from), read.length() - from);
        long sum = sums.sum(0, read.offset() + from, bytes);
        work.at += bytes;
        if (sum == GuardSource.NO_CHECKSUM) {
            return true;
        }
        read.verified += bytes;
        return sum == UnitChecksums.landed(read, from, bytes);
    }

    /** A read is over, and nothing lands for it any more. */
    void forget(ReadProgress read) {
        Work work = read.verification;
        if (work.place < 0) {
            return;
        }
        if (work.queued) {
            queue.remove(read);
        }
        free[freeCount++] = work.place;
        work.place = -1;
        work.queued = false;
        work.sums = null;
    }
}
