package io.mooncake.core.manager;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockWriter.Result;
import io.mooncake.core.block.Version;
import io.mooncake.core.manager.Publication.Published;
import io.mooncake.core.transfer.Region;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The one-shot right to fill a slot with a copy of another node's block, or of one in another tier of this node. Any thread; each end is reached once, by whoever is first.
 *
 * <pre>
 *   OPEN ── commit ─▶ COMMITTED       its bytes, or those that were there, are the block
 *        ── abort ──▶ ABORTED         the slot is free
 *        ── abandon ▶ ABANDONED       work is outstanding: the slot is quarantined, nobody reads or reserves it
 *                        └─ released ─▶ RELEASED    that work has ended: the conductor frees the slot
 * </pre>
 */
public final class ReplicaWriter {
    private enum Phase {
        OPEN, COMMITTED, ABORTED, ABANDONED, RELEASED
    }

    private final Writers writers;
    private final Lease lease;
    private final Version version;
    /** Where in another tier of this node; null when it is another node's. */
    private final @Nullable BlockRef own;
    private final AtomicReference<Phase> phase = new AtomicReference<>(Phase.OPEN);
    private volatile Result result = Result.OPEN;

    ReplicaWriter(Writers writers, Lease lease, Version version, @Nullable BlockRef own) {
        this.writers = writers;
        this.lease = lease;
        this.version = version;
        this.own = own;
    }

    /**
     * The block that is copied.
     *
     * @return its id
     */
    public BlockId id() {
        return lease.id();
    }

    /**
     * The version that is copied.
     *
     * @return the source's
     */
    public Version version() {
        return version;
    }

    /**
     * Where the copy goes.
     *
     * @return the region of the slot's pool
     */
    public Region region() {
        return lease.space().region();
    }

    /**
     * Where the copy goes.
     *
     * @return the slot's first byte in {@link #region()}
     */
    public long offset() {
        return lease.offset();
    }

    /**
     * Bytes of the copy.
     *
     * @return as allocated
     */
    public long length() {
        return lease.length();
    }

    /**
     * The slot's memory.
     *
     * @return of {@link #length()} bytes
     */
    public Memory memory() {
        return lease.memory();
    }

    /**
     * How it went.
     *
     * @return OPEN until an end is reached; ABORTED also for abandoned
     */
    public Result result() {
        return result;
    }

    /**
     * Seals the copy, all of its bytes having arrived.
     *
     * @return where the block is now: this copy; or, with ALREADY_WRITTEN or SUPERSEDED as the result, what was there
     * @throws MooncakeException ILLEGAL_STATE when an end was reached before, CLOSED (the slot is given back)
     */
    public BlockRef commit() {
        end(Phase.OPEN, Phase.COMMITTED);
        return publish();
    }

    private BlockRef publish() {
        try {
            Published published = writers.publishReplica(lease, version, own);
            result = published.result();
            return published.entry().ref;
        } finally {
            if (result == Result.OPEN) {
                result = Result.ABORTED;
            }
        }
    }

    /**
     * Gives the slot back. Nothing may be writing into it.
     *
     * @throws MooncakeException ILLEGAL_STATE when an end was reached before
     */
    public void abort() {
        end(Phase.OPEN, Phase.ABORTED);
        result = Result.ABORTED;
        writers.abort(lease);
    }

    /**
     * Gives the copy up while something may still write into the slot, which is quarantined until {@link #released()}.
     *
     * @return false when an end was reached before; then nothing was done
     */
    public boolean abandon() {
        // Locked, so that released() finds the slot quarantined.
        synchronized (this) {
            if (!phase.compareAndSet(Phase.OPEN, Phase.ABANDONED)) {
                return false;
            }
            result = Result.ABORTED;
            writers.abandon(lease);
            return true;
        }
    }

    /**
     * Says that nothing writes into the slot any more, whether it was abandoned meanwhile or not: commits, gives back or frees it.
     *
     * @param whole whether all of its bytes have arrived
     * @return whether it was committed
     * @throws MooncakeException as {@link #commit}
     */
    public boolean end(boolean whole) {
        if (!phase.compareAndSet(Phase.OPEN, whole ? Phase.COMMITTED : Phase.ABORTED)) {
            released();
            return false;
        }
        if (whole) {
            publish();
        } else {
            result = Result.ABORTED;
            writers.abort(lease);
        }
        return whole;
    }

    /**
     * Says that nothing writes into the slot any more.
     *
     * @throws MooncakeException ILLEGAL_STATE when it was not abandoned, or the second time
     */
    public void released() {
        synchronized (this) {
            end(Phase.ABANDONED, Phase.RELEASED);
        }
        writers.released(lease);
    }

    private void end(Phase from, Phase to) {
        if (!phase.compareAndSet(from, to)) {
            throw new MooncakeException(Kind.ILLEGAL_STATE, this + " is " + phase.get() + " and can't become " + to);
        }
    }

    @Override
    public String toString() {
        return "copy of block " + lease.id() + " " + version;
    }
}
