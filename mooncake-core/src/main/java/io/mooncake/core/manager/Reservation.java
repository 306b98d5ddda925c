package io.mooncake.core.manager;

import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.Hold;
import io.mooncake.core.block.Tier;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A slot that is set aside for a block that is not here yet: whoever writes the block on this node, or brings a copy of it here, gets the
 * slot. A copy is held from the moment when it is here. Any thread; ends once, by {@link #close}.
 *
 * <pre>
 *   KEPT ── a copy is on its way ──▶ LENT ── it is here, and held ──▶ OVER
 *    ▲ └── a writer, close ──▶ OVER   │ └── close ──▶ OVER: the copy's slot from now on
 *    └──── it did not come ───────────┘
 * </pre>
 */
public final class Reservation implements AutoCloseable {
    private enum Phase {
        KEPT, LENT, OVER
    }

    private final Writers writers;
    private final Lease lease;
    private final long holdNs;
    private final AtomicReference<Phase> phase = new AtomicReference<>(Phase.KEPT);
    private volatile @Nullable Hold hold;
    private volatile boolean closed;

    Reservation(Writers writers, Lease lease, long holdNs) {
        this.writers = writers;
        this.lease = lease;
        this.holdNs = holdNs;
    }

    /**
     * The block that the slot is for.
     *
     * @return its id
     */
    public BlockId id() {
        return lease.id();
    }

    Tier tier() {
        return lease.space().pool().tier();
    }

    long length() {
        return lease.length();
    }

    /** The slot for good, for so many bytes of the block; null when it is too short for them, or somebody else's already. */
    @Nullable
    Lease take(long length) {
        return give(length, Phase.OVER);
    }

    /** The slot for a copy, which gives it back if it does not come; null as of {@link #take}. */
    @Nullable
    Lease lend(long length) {
        return give(length, Phase.LENT);
    }

    private @Nullable Lease give(long length, Phase next) {
        return lease.length() >= length && phase.compareAndSet(Phase.KEPT, next)
                ? new Lease(lease.space(), lease.slot(), lease.generation(), lease.id(), length)
                : null;
    }

    /** A copy did not come: true when its slot was this one's, which has it again. */
    boolean takesBack(Lease lent) {
        return isOf(lent) && phase.compareAndSet(Phase.LENT, Phase.KEPT);
    }

    boolean isOf(Lease lent) {
        return lent.slot() == lease.slot() && lent.generation() == lease.generation();
    }

    /** The slot has its block, or needs it no more. */
    void spent() {
        phase.set(Phase.OVER);
    }

    /** How long a copy is held. */
    long holdNs() {
        return holdNs;
    }

    /** The copy is here. */
    void arrived(Hold held) {
        hold = held;
        if (closed) {
            held.close();
        }
    }

    /** Gives the slot back, if nobody got it, and ends the hold of the copy that did. The second time does nothing. */
    @Override
    public void close() {
        closed = true;
        Hold held = hold;
        if (held != null) {
            held.close();
        }
        Phase before = phase.getAndSet(Phase.OVER);
        if (before != Phase.OVER) {
            writers.unreserve(this, before == Phase.KEPT ? lease : null);
        }
    }

    @Override
    public String toString() {
        return "room for block " + lease.id();
    }
}
