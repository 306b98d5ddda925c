package io.mooncake.core.transfer.local;

import io.mooncake.core.base.Bounds;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.GuardSource;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Poller;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.TransferEngine;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import org.jctools.queues.varhandle.MpscVarHandleArrayQueue;
import org.jspecify.annotations.Nullable;

/**
 * Copies from this node's readable regions, chunk by chunk under a pin. Small reads are copied by the submitting thread, which saves
 * the hop; large ones by the poller, a chunk of each in turn.
 *
 * <pre>
 *   submit ──▶ small: copied here
 *          └─▶ queue ──▶ poller: active reads, round robin, one chunk each a turn
 * </pre>
 */
public final class LocalTransferEngine implements TransferEngine, Poller {
    /** Reads up to this are copied in submit; a larger copy takes longer than the hop. */
    static final long INLINE_BYTES = 256 << 10;

    private static final int QUEUE_CAPACITY = 4096;
    private static final int CHUNKS_PER_CYCLE = 4;

    private final EngineContext context;
    private final Runnable wakeup;
    private final MpscVarHandleArrayQueue<GuardedRead> queue = new MpscVarHandleArrayQueue<>(QUEUE_CAPACITY);
    private final ArrayDeque<GuardedRead> active = new ArrayDeque<>();
    private volatile boolean closed;
    private volatile @Nullable Thread parked;

    /**
     * An engine for one node.
     *
     * @param context what the node gives
     * @param wakeup wakes the thread that runs this poller where that does not park here; else null
     */
    public LocalTransferEngine(EngineContext context, @Nullable Runnable wakeup) {
        this.context = context;
        this.wakeup = wakeup == null ? this::unpark : wakeup;
    }

    @Override
    public String name() {
        return "local";
    }

    @Override
    public String roleName() {
        return name();
    }

    @Override
    public Optional<String> advertised() {
        return Optional.empty();
    }

    @Override
    public boolean reaches(Peer peer) {
        return peer.id().equals(context.self());
    }

    @Override
    public Poller poller() {
        return this;
    }

    @Override
    public boolean send(Peer peer, ByteBuffer message) {
        if (closed || !reaches(peer) || message.remaining() > EngineContext.MAX_MESSAGE_BYTES) {
            return false;
        }
        byte[] copy = new byte[message.remaining()];
        message.duplicate().get(copy);
        context.messages().onMessage(context.self(), copy);
        return true;
    }

    @Override
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
        wakeup.run();
        return true;
    }

    /** Every chunk of a read looks by itself: the poller is only to be awake. */
    @Override
    public void abort(GuardedRead read) {
        wakeup.run();
    }

    @Override
    public int doWork() {
        int work = 0;
        for (GuardedRead read; active.size() < QUEUE_CAPACITY && (read = queue.relaxedPoll()) != null; work++) {
            active.add(read);
        }
        for (int chunks = 0; chunks < CHUNKS_PER_CYCLE && !active.isEmpty(); chunks++, work++) {
            GuardedRead read = active.remove();
            if (!copyChunk(read)) {
                active.add(read);
            }
        }
        return work;
    }

    /** Copies the next chunk; true when the read has ended. */
    private boolean copyChunk(GuardedRead read) {
        if (read.isGivenUp()) {
            return ended(read, ReadStatus.CANCELED, null);
        }
        if (context.nanoClock().getAsLong() - read.deadlineNs() >= 0) {
            return ended(read, ReadStatus.TIMED_OUT, null);
        }
        Region source = context.regions().readable(read.region());
        MooncakeException refusal = refusal(read, source);
        if (refusal != null || source == null) {
            return ended(read, ReadStatus.REFUSED, refusal);
        }
        long length = Math.min(EngineContext.MAX_CHUNK_BYTES, read.length() - read.received);
        ReadStatus status;
        try {
            status = source.access() == Access.GUARDED
                    ? copyPinned(read, source, length)
                    : copyRetained(read, source, length);
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

    private @Nullable MooncakeException refusal(GuardedRead read, @Nullable Region source) {
        if (source == null) {
            return new MooncakeException(Kind.OUT_OF_BOUNDS,
                    read + ": no such readable region; it was closed or was never registered");
        }
        if (!Bounds.contains(read.offset(), read.length(), source.length())) {
            return new MooncakeException(Kind.OUT_OF_BOUNDS,
                    source + ": offset " + read.offset() + " + " + read.length()
                            + " > length " + source.length() + " (or negative)");
        }
        if (!read.fitsDestination()) {
            return new MooncakeException(Kind.OUT_OF_BOUNDS,
                    read.destination() + " of " + read.destination().length() + " bytes is too small for the " + read);
        }
        if ((source.access() == Access.GUARDED) != (read.guardOffset() != GuardedRead.NO_GUARD)) {
            return new MooncakeException(Kind.UNAUTHORIZED, source + " is "
                    + (source.access() == Access.GUARDED
                            ? "read only together with a guard"
                            : "a region without guards"));
        }
        if (!(source.memory() instanceof HostMemory) || !(read.destination().memory() instanceof HostMemory)) {
            return new MooncakeException(Kind.UNSUPPORTED, "the local engine copies host memory only; " + read);
        }
        return null;
    }

    private ReadStatus copyPinned(GuardedRead read, Region source, long length) {
        GuardSource guards = context.guards();
        long pin = guards.pin(source.id(), read.guardOffset(), read.expected(), read.offset() + read.received, length);
        if (pin < 0) {
            return pin == GuardSource.STALE ? ReadStatus.STALE : ReadStatus.REFUSED;
        }
        try {
            copy(read, source.memory(), length);
            return guards.guard(pin) == read.expected() ? ReadStatus.OK : ReadStatus.STALE;
        } finally {
            guards.unpin(pin);
        }
    }

    private static ReadStatus copyRetained(GuardedRead read, Region source, long length) {
        if (!source.retain()) {
            return ReadStatus.STALE;
        }
        try {
            copy(read, source.memory(), length);
            return ReadStatus.OK;
        } finally {
            source.release();
        }
    }

    private static void copy(GuardedRead read, Memory from, long length) {
        MemorySegment source = ((HostMemory) from).segment();
        MemorySegment destination = ((HostMemory) read.destination().memory()).segment();
        long end = read.received + length;
        for (long at = read.received; at < end;) {
            long run = read.runAt(at, end - at);
            MemorySegment.copy(source, read.offset() + at, destination, read.destinationAt(at), run);
            at += run;
        }
    }

    private static boolean ended(GuardedRead read, ReadStatus status, @Nullable MooncakeException cause) {
        read.end(status, cause);
        return true;
    }

    @Override
    public void park(long maxNs) {
        parked = Thread.currentThread();
        if (queue.isEmpty() && active.isEmpty()) {
            LockSupport.parkNanos(this, maxNs);
        }
        parked = null;
    }

    @Override
    public void wakeup() {
        wakeup.run();
    }

    private void unpark() {
        Thread thread = parked;
        if (thread != null) {
            LockSupport.unpark(thread);
        }
    }

    @Override
    public void onClose() {
        closed = true;
        for (GuardedRead read; (read = active.poll()) != null;) {
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
