package io.mooncake.core.transfer.tcp;

import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.GuardedRead;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One read at work: which of its bytes were asked for, are outstanding, are proven, and are to be asked for again. Reused, the poller's.
 *
 * <pre>
 *   read    | proven | outstanding on lane 0 | proven | outstanding on lane 1 | lost: again |        not asked for yet         |
 *           0                                                                           asked                             length
 * </pre>
 *
 * <p>It is OK when proven = length; then nothing is outstanding. A range is asked for again only after its lane was closed.
 */
final class Ranges {
    /** A read up to here is one range and goes at once; a longer one waits for room in a lane's window. */
    static final long SMALL_BYTES = 128 * 1024;
    /** So much keeps a lane busy for longer than a request takes, and is soon over when nobody wants it any more. */
    static final long MOST_RANGE_BYTES = 4L << 20;

    /** Ranges are so long or a multiple of it, so that the units of a block, which have checksums, are not cut. */
    private static final long STEP_BYTES = EngineContext.MAX_CHUNK_BYTES;
    private static final long RANGES_PER_LANE = 2;

    private @Nullable GuardedRead read;
    private boolean small;
    private boolean begun;
    private long asked;
    private long rangeBytes;
    private long[] againAt = new long[0];
    private long[] againBytes = new long[0];
    private int again;

    /** In a {@link RangesQueue}, the one behind it; among the spare ones, the next. */
    @Nullable
    Ranges next;
    boolean queued;
    /** Ranges in flight. */
    int outstanding;
    /** Bytes of ranges that were proven whole. */
    long proven;
    /** Lanes lost under it, and the last of them. */
    int losses;
    @Nullable
    ClientLane lostLane;

    /** The range that {@link #cut} made. */
    long at;
    long bytes;

    /** Begins with a read that will be cut for so many lanes. */
    void begin(GuardedRead begun, int lanes) {
        read = begun;
        this.begun = false;
        asked = 0;
        again = 0;
        outstanding = 0;
        proven = 0;
        losses = 0;
        long length = begun.length();
        small = length <= SMALL_BYTES;
        if (lanes == 1) {
            rangeBytes = MOST_RANGE_BYTES;
        } else {
            long steps = (length - 1) / (RANGES_PER_LANE * STEP_BYTES * lanes) + 1;
            rangeBytes = Math.min(steps * STEP_BYTES, MOST_RANGE_BYTES);
        }
    }

    /** Forgets the read, which has ended. */
    void end() {
        read = null;
        lostLane = null;
    }

    boolean hasEnded() {
        return read == null;
    }

    GuardedRead read() {
        return Objects.requireNonNull(read);
    }

    boolean isSmall() {
        return small;
    }

    /** How many ranges the read is cut into. */
    long count() {
        return small ? 1 : (read().length() - 1) / rangeBytes + 1;
    }

    /** Whether {@link #cut} has something to cut. */
    boolean hasMore() {
        return !begun || again > 0 || asked < read().length();
    }

    /** Makes the next range: what was lost first. */
    void cut() {
        begun = true;
        outstanding++;
        if (again > 0) {
            at = againAt[--again];
            bytes = againBytes[again];
        } else {
            at = asked;
            bytes = small ? read().length() : Math.min(rangeBytes, read().length() - asked);
            asked += bytes;
        }
    }

    /** A range's lane was closed before so much of it was proven. */
    void askAgain(long from, long length) {
        outstanding--;
        if (again == againAt.length) {
            againAt = Arrays.copyOf(againAt, again + 4);
            againBytes = Arrays.copyOf(againBytes, again + 4);
        }
        againAt[again] = from;
        againBytes[again++] = length;
    }
}
