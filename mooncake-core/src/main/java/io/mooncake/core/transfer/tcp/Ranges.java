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
    /** Longer ones are cut into so much, one chunk, where the units of their block end: a range is soon over when nobody wants it any more. */
    static final long RANGE_BYTES = EngineContext.MAX_CHUNK_BYTES;

    private @Nullable GuardedRead read;
    private boolean small;
    private boolean begun;
    private long asked;
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

    /** Begins with a read. */
    void begin(GuardedRead begun) {
        read = begun;
        this.begun = false;
        asked = 0;
        again = 0;
        outstanding = 0;
        proven = 0;
        losses = 0;
        small = begun.length() <= SMALL_BYTES;
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
        return small ? 1 : (read().length() + inUnit(0) - 1) / RANGE_BYTES + 1;
    }

    /** How far into a unit of its block a byte of the read lies. */
    private long inUnit(long position) {
        return (read().blockOffset() + position) % RANGE_BYTES;
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
            bytes = small ? read().length() : Math.min(RANGE_BYTES - inUnit(asked), read().length() - asked);
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
