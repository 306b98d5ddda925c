package io.mooncake.core.transfer.copy;

import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.GuardSource;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.ParkingSpot;
import io.mooncake.core.transfer.Poller;
import io.mooncake.core.transfer.Priority;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.UnitChecksums;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.function.LongSupplier;
import org.jctools.queues.varhandle.MpscVarHandleArrayQueue;
import org.jspecify.annotations.Nullable;

/**
 * Serves reads by copying, chunk by chunk. Small reads are copied by the submitting thread, which saves the hop; large ones by the
 * poller, a chunk of each in turn, those that somebody waits for before the others.
 *
 * <pre>
 *   submit ──▶ small: copied here
 *          └─▶ queue ──▶ poller: loads, round robin, one chunk each a turn; then background reads, of which one chunk in eight is all the same
 * </pre>
 *
 * <p>Before each chunk it looks whether the read was given up or is late. A copy that began cannot be stopped and lands before its
 * chunk's end is reported, so nothing lands later than that.
 */
public final class CopyPoller implements Poller {
    /** Reads up to this are copied in submit; a larger copy takes longer than the hop. */
    public static final long INLINE_BYTES = 256 << 10;

    /**
     * A chunk's bytes, at most half as many more in the last one. More than other engines have: copies of so many cold bytes were up to twice as
     * fast as of 1 MiB each, since from 2.5 MiB on the JVM's copy goes past the caches where the processor has AVX-512. It bounds what giving
     * up and taking turns wait for.
     */
    static final long CHUNK_BYTES = 3 << 20;

    private static final int QUEUE_CAPACITY = 4096;
    private static final long BYTES_PER_CYCLE = CHUNK_BYTES;
    /** One chunk in so many is of the background even where loads wait: some of them may wait for the room that a demotion makes. */
    private static final int BACKGROUND_SHARE = 8;

    private final String name;
    private final ChunkSource source;
    private final LongSupplier nanoClock;
    private final MpscVarHandleArrayQueue<GuardedRead> queue = new MpscVarHandleArrayQueue<>(QUEUE_CAPACITY);
    private final ArrayDeque<GuardedRead> loads = new ArrayDeque<>();
    private final ArrayDeque<GuardedRead> background = new ArrayDeque<>();
    /** Chunks of loads that went ahead of the background since that had its turn. */
    private int ahead;
    private volatile boolean closed;
    private final ParkingSpot spot;

    /**
     * A poller for one engine.
     *
     * @param name the engine's
     * @param source where the bytes come from
     * @param nanoClock the node's clock
     * @param wakeup wakes the thread that runs this poller where that does not park here; else null
     */
    public CopyPoller(String name, ChunkSource source, LongSupplier nanoClock, @Nullable Runnable wakeup) {
        this.name = name;
        this.source = source;
        this.nanoClock = nanoClock;
        spot = new ParkingSpot(() -> queue.isEmpty() && loads.isEmpty() && background.isEmpty(), wakeup);
    }

    /**
     * Accepts a read. Any thread.
     *
     * @param read the poller's from now on
     * @return false when the queue is full or the poller is closed
     */
    public boolean submit(GuardedRead read) {
        if (closed) {
            return false;
        }
        if (read.length() <= INLINE_BYTES) {
            if (copyChunk(read)) {
                return true;
            }
            throw new IllegalStateException(read + " is one chunk and did not end");
        }
        if (!queue.relaxedOffer(read)) {
            return false;
        }
        if (closed) {
            // The poller may have looked for the last time before the offer.
            cancelQueued();
        }
        spot.wakeup();
        return true;
    }

    /**
     * Whether {@link #onClose} was called.
     *
     * @return true from then on
     */
    public boolean isClosed() {
        return closed;
    }

    @Override
    public String roleName() {
        return name;
    }

    @Override
    public int doWork() {
        int work = 0;
        for (GuardedRead read; loads.size() + background.size() < QUEUE_CAPACITY
                && (read = queue.relaxedPoll()) != null; work++) {
            (read.priority() == Priority.LOAD ? loads : background).add(read);
        }
        for (long copied = 0; copied < BYTES_PER_CYCLE; work++) {
            ArrayDeque<GuardedRead> next = next();
            GuardedRead read = next.poll();
            if (read == null) {
                break;
            }
            copied += chunkOf(read);
            if (!copyChunk(read)) {
                next.add(read);
            }
        }
        return work + endLateBackground();
    }

    private ArrayDeque<GuardedRead> next() {
        boolean overtakes = !loads.isEmpty() && !background.isEmpty() && ahead < BACKGROUND_SHARE - 1;
        ahead = overtakes ? ahead + 1 : 0;
        return overtakes || background.isEmpty() ? loads : background;
    }

    /** Those whose turn does not come while loads wait have deadlines too. */
    private int endLateBackground() {
        int ended = 0;
        if (!loads.isEmpty()) {
            for (int left = background.size(); left > 0; left--) {
                GuardedRead read = background.remove();
                if (endIfOver(read)) {
                    ended++;
                } else {
                    background.add(read);
                }
            }
        }
        return ended;
    }

    private boolean endIfOver(GuardedRead read) {
        if (read.isGivenUp()) {
            return ended(read, ReadStatus.CANCELED, null);
        }
        return nanoClock.getAsLong() - read.deadlineNs() >= 0 && ended(read, ReadStatus.TIMED_OUT, null);
    }

    /** Copies the next chunk; true when the read has ended. */
    private boolean copyChunk(GuardedRead read) {
        if (endIfOver(read)) {
            return true;
        }
        MooncakeException refusal = refusal(read);
        if (refusal != null) {
            return ended(read, isLost(refusal) ? ReadStatus.UNREACHABLE : ReadStatus.REFUSED, refusal);
        }
        long length = chunkOf(read);
        ReadStatus status;
        try {
            status = source.copy(read, length);
        } catch (RuntimeException | InternalError e) { // The latter where a mapped file was cut short.
            return ended(read, ReadStatus.REFUSED, new MooncakeException(Kind.ILLEGAL_STATE, read + " into "
                    + read.destination() + ": memory is read-only, or was freed before its region was closed", e));
        }
        if (status != ReadStatus.OK) {
            return ended(read, status, status != ReadStatus.REFUSED
                    ? null
                    : new MooncakeException(Kind.OUT_OF_BOUNDS, read + ": no block stands there, or it is shorter"));
        }
        read.received += length;
        return read.received == read.length() && ended(read, ReadStatus.OK, null);
    }

    /** Cut where the units of the block end, which have checksums. */
    private static long chunkOf(GuardedRead read) {
        long left = read.length() - read.received;
        return left < CHUNK_BYTES + CHUNK_BYTES / 2
                ? left
                : CHUNK_BYTES - (read.blockOffset() + read.received) % GuardSource.UNIT_BYTES;
    }

    private static boolean isLost(MooncakeException refusal) {
        return refusal.kind() == Kind.PEER_UNREACHABLE || refusal.kind() == Kind.STALE_INCARNATION;
    }

    private @Nullable MooncakeException refusal(GuardedRead read) {
        MooncakeException refusal = source.refusal(read);
        if (refusal != null) {
            return refusal;
        }
        if (!read.fitsDestination()) {
            return new MooncakeException(Kind.OUT_OF_BOUNDS,
                    read.destination() + " of " + read.destination().length() + " bytes is too small for the " + read);
        }
        if (!(read.destination().memory() instanceof HostMemory)) {
            return new MooncakeException(Kind.UNSUPPORTED,
                    "the " + name + " engine copies into host memory only; " + read);
        }
        return null;
    }

    /**
     * Copies the next bytes of a read to where they go.
     *
     * @param read whose destination is host memory
     * @param source the owner's region
     * @param length bytes from {@link GuardedRead#received} on
     */
    public static void copy(GuardedRead read, MemorySegment source, long length) {
        MemorySegment destination = ((HostMemory) read.destination().memory()).segment();
        long end = read.received + length;
        for (long at = read.received; at < end;) {
            long run = read.runAt(at, end - at);
            MemorySegment.copy(source, read.offset() + at, destination, read.destinationAt(at), run);
            at += run;
        }
    }

    /**
     * Sums up, where they have landed, the units that the next bytes of a guarded read cover whole, and counts their bytes as verified.
     *
     * @param read whose destination is host memory
     * @param length bytes that were copied, from {@link GuardedRead#received} on
     * @param checksums of the owner's region; without a pin they say something only if the guard is unchanged afterwards
     * @return false when a unit has another sum
     */
    public static boolean isUndamaged(GuardedRead read, long length, UnitChecksums checksums) {
        int slot = (int) (read.guardOffset() / GuardSource.GUARD_STRIDE);
        long end = read.received + length;
        for (long at = read.received; at < end;) {
            long offset = read.offset() + at;
            long bytes = Math.min(checksums.unitRest(slot, offset), end - at);
            long sum = checksums.sum(slot, offset, bytes);
            if (sum != GuardSource.NO_CHECKSUM) {
                if (sum != UnitChecksums.landed(read, at, bytes)) {
                    return false;
                }
                read.verified += bytes;
            }
            at += bytes;
        }
        return true;
    }

    private static boolean ended(GuardedRead read, ReadStatus status, @Nullable MooncakeException cause) {
        read.end(status, cause);
        return true;
    }

    @Override
    public void park(long maxNs) {
        spot.park(maxNs);
    }

    @Override
    public void wakeup() {
        spot.wakeup();
    }

    @Override
    public void onClose() {
        closed = true;
        for (GuardedRead read; (read = loads.poll()) != null || (read = background.poll()) != null;) {
            read.end(ReadStatus.CANCELED, null);
        }
        cancelQueued();
    }

    private synchronized void cancelQueued() {
        for (GuardedRead read; (read = queue.poll()) != null;) {
            read.end(ReadStatus.CANCELED, null);
        }
    }
}
