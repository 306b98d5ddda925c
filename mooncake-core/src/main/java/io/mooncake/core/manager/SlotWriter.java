package io.mooncake.core.manager;

import io.mooncake.core.base.Bounds;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.Stream;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.Hold;
import io.mooncake.core.manager.Publication.Published;
import io.mooncake.core.pool.StreamOrder;
import io.mooncake.core.pool.StreamOrder.Work;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;

/**
 * A local writer: a lease of a slot and, for a time, the right to the id.
 *
 * <p>Both rights end in one word: whoever moves it from OPEN, the writer itself or the next writer of the id once the time is over, has won;
 * no commit can slip in after that.
 */
final class SlotWriter implements BlockWriter {
    private enum Phase {
        OPEN,
        /** The one shot is taken; the id is free when it is over. */
        ENDING,
        /** The id went to another writer; the slot is still this one's. */
        OVERTAKEN,
        /** Overtaken, and the slot given back. */
        STALE, ENDED
    }

    private final Writers writers;
    private final Lease lease;
    private final Memory memory;
    private final long deadlineNs;
    private final AtomicReference<Phase> phase = new AtomicReference<>(Phase.OPEN);
    private volatile Result result = Result.OPEN;
    /** Copies that may still run: while they do, nobody else gets the slot. */
    private final List<Work> works = new ArrayList<>(0);

    SlotWriter(Writers writers, Lease lease, long deadlineNs) {
        this.writers = writers;
        this.lease = lease;
        this.deadlineNs = deadlineNs;
        memory = lease.memory();
    }

    // ---- the right to the id

    long deadlineNs() {
        return deadlineNs;
    }

    /** Whether the id is this writer's still. */
    boolean isLive(long nowNs) {
        Phase now = phase.get();
        return now == Phase.ENDING || (now == Phase.OPEN && deadlineNs - nowNs > 0);
    }

    /** Takes the id away if that may be; then this writer can't commit any more. */
    boolean overtake(long nowNs) {
        return !isLive(nowNs) && (phase.compareAndSet(Phase.OPEN, Phase.OVERTAKEN) || phase.get() != Phase.ENDING);
    }

    // ---- filling

    @Override
    public BlockId id() {
        return lease.id();
    }

    @Override
    public long length() {
        return lease.length();
    }

    @Override
    public Memory memory() {
        return memory;
    }

    @Override
    public MemorySegment segment() {
        checkWritable();
        return host();
    }

    private MemorySegment host() {
        if (memory instanceof HostMemory host) {
            return host.segment();
        }
        throw new MooncakeException(Kind.UNSUPPORTED,
                this + " is on a device, which the host can't address: use memory() there");
    }

    @Override
    public void write(long offset, Memory source) {
        checkWritable();
        Bounds.check(this, offset, source.length(), length());
        StreamOrder order = lease.space().pool().streams();
        if (order != null) {
            order.write(lease.offset() + offset, source);
        } else if (source instanceof HostMemory from) {
            MemorySegment.copy(from.segment(), 0, host(), offset, source.length());
        } else {
            throw new MooncakeException(Kind.UNSUPPORTED,
                    this + " can't read " + source + ": copy it into host memory first");
        }
    }

    @Override
    public void write(long offset, Memory source, Stream stream) {
        checkWritable();
        Bounds.check(this, offset, source.length(), length());
        StreamOrder order = lease.space().pool().streams();
        if (order == null) {
            throw new MooncakeException(Kind.UNSUPPORTED, this + " is in a tier without streams: write without one");
        }
        // Kept before: a copy that was begun is waited for, whatever happens next.
        works.add(order.write(lease.offset() + offset, source, stream));
    }

    /** The bytes count only when all of them are there; a copy that failed leaves the writer as it was, to be aborted. */
    private void awaitWorks() {
        while (!works.isEmpty()) {
            works.removeLast().await();
        }
    }

    private void checkWritable() {
        Phase now = phase.get();
        if (now != Phase.OPEN && now != Phase.OVERTAKEN) {
            throw over(now);
        }
    }

    // ---- the one shot

    @Override
    public BlockRef commit(long validBytes) {
        return seal(validBytes, false).entry().ref;
    }

    @Override
    public Hold commitAndHold(long validBytes, Duration ttl) {
        long ttlNs = ttl.toNanos();
        Holds.checkTtl(ttlNs);
        return writers.holdOf(seal(validBytes, true).entry(), ttlNs);
    }

    private Published seal(long validBytes, boolean held) {
        checkWritable();
        if (validBytes == 0) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT,
                    this + " can't be sealed with 0 valid bytes: abort it, there are no empty blocks");
        }
        Bounds.check(this, 0, validBytes, length());
        awaitWorks();
        begin();
        try {
            Published published = writers.publish(lease, validBytes, held);
            result = published.result();
            return published;
        } finally {
            end();
        }
    }

    @Override
    public void abort() {
        begin();
        try {
            writers.abort(lease, works);
        } finally {
            end();
        }
    }

    /** Takes the one shot, or throws; a slot whose id is another's is given back first. */
    private void begin() {
        if (phase.compareAndSet(Phase.OPEN, Phase.ENDING)) {
            return;
        }
        if (phase.compareAndSet(Phase.OVERTAKEN, Phase.STALE)) {
            result = Result.ABORTED;
            writers.stale(lease, works);
        }
        throw over(phase.get());
    }

    private void end() {
        if (result == Result.OPEN) {
            result = Result.ABORTED;
        }
        phase.set(Phase.ENDED);
        writers.ended(this);
    }

    private MooncakeException over(Phase now) {
        return now == Phase.STALE
                ? new MooncakeException(Kind.STALE_VERSION, this
                        + ": its time to live ended and the id went to another writer, nothing was written: allocate it again")
                : new MooncakeException(Kind.ILLEGAL_STATE,
                        this + " was committed or aborted already (" + result
                                + "): allocate the id again to write it again");
    }

    @Override
    public Result result() {
        return result;
    }

    @Override
    public void close() {
        Phase now = phase.get();
        if (now == Phase.OPEN || now == Phase.OVERTAKEN) {
            try {
                abort();
            } catch (MooncakeException e) {
                if (e.kind() != Kind.STALE_VERSION && e.kind() != Kind.ILLEGAL_STATE) {
                    throw e;
                }
                // Overtaken, or ended by another thread in between: either way the slot is back.
            }
        }
    }

    @Override
    public String toString() {
        return "writer of block " + lease.id();
    }
}
