package io.mooncake.core;

import io.mooncake.core.base.LinkedStack.Link;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Tier;
import io.mooncake.core.manager.ReplicaWriter;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.TransferEngine;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * One piece of a {@link Pull} on its way: the attempt that is going on, and what earlier ones tried. Owned by whoever has the piece: the
 * submitting thread, then an engine, then perhaps the conductor, never two at a time.
 */
final class Part {
    static final int IN_NO_HEAP = -1;

    final Pull pull;
    final Piece piece;
    final GuardedRead read;
    final ReadTimer timer;
    final List<BlockRef> tried = new ArrayList<>(2);

    @Nullable
    BlockRef source;
    @Nullable
    ReplicaWriter replica;
    /** Where a replica goes next, on its way to where it is to be. */
    Tier step = Tier.DRAM;
    /** It has gone a step and is here: what is left to do begins there. */
    boolean climbs;
    /** Where it is to be in the end, while it goes by way of a slower tier. */
    @Nullable
    ReplicaWriter room;
    /** The pull that others may wait for: this one. Set before an engine has the read. */
    SharedPulls.@Nullable Going pulling;
    /** Why the conductor has it: it waits, else a read ended and something is left to do. */
    boolean waits;
    /** What it waits for: another's pull; null for a slot, or for a block that is to come up. */
    SharedPulls.@Nullable Going awaited;
    /** An engine reads it outside its owner's host memory; and whether that has failed, so that the owner is to be asked. */
    boolean inPlace;
    boolean notInPlace;
    /** An engine brings it from another node onto a device of this one; and whether that was refused, so that it goes by host memory. */
    boolean straight;
    boolean notStraight;
    /** What its owner was asked to bring up from its file, and when. */
    @Nullable
    BlockRef raising;
    long askedNs;
    /** It is within the budget of what is fetched ahead. */
    boolean paid;
    ReadStatus status = ReadStatus.OK;
    /** What the last attempt met; before the first one: that nobody has the block. */
    Outcome failure = Outcome.ABSENT;
    @Nullable
    MooncakeException cause;

    /** Who has the read; null while no engine does. Set after what the read goes into. */
    volatile @Nullable TransferEngine engine;
    /** In the stack of what the conductor is to look at. */
    final Link<Part> link = new Link<>(this);
    /** In the stack of those that nobody wants any more, and whether it is there. */
    final Link<Part> givenUpLink = new Link<>(this);
    final AtomicBoolean givenUp = new AtomicBoolean();
    /** Where it waits, and with whom; the conductor's. */
    volatile @Nullable WaitingParts waitsIn;
    @Nullable
    PartRing ring;
    @Nullable
    Part next;
    @Nullable
    Part previous;
    int heapIndex = IN_NO_HEAP;

    Part(Pull pull, Piece piece, int index, PeerCosts costs, Life life) {
        this.pull = pull;
        this.piece = piece;
        read = new GuardedRead(pull, index);
        timer = new ReadTimer(costs, life, read);
    }

    int index() {
        return read.index();
    }

    /** The read goes into the caller's memory, which stays open until it ends; why not, or null. */
    @Nullable
    MooncakeException into(Destination.At at) {
        read.into(at.region(), at.offset());
        return retain(at.region());
    }

    /** The same for scattered pages. */
    @Nullable
    MooncakeException into(Destination.Pages pages) {
        read.into(pages.region(), pages.pages());
        return retain(pages.region());
    }

    private @Nullable MooncakeException retain(Region region) {
        if (!region.retain()) {
            return new MooncakeException(Kind.CLOSED, region + " is closed; register the memory again");
        }
        if (!read.fitsDestination()) {
            region.release();
            return new MooncakeException(Kind.OUT_OF_BOUNDS,
                    region + " of " + region.length() + " bytes has no room for the " + read);
        }
        return null;
    }

    /** No engine has the read: gives back what it was to go into. */
    void notTaken() {
        engine = null;
        timer.end(ReadStatus.CANCELED);
        ReplicaWriter copy = replica;
        if (copy == null) {
            read.destination().release();
        } else {
            replica = null;
            copy.end(false);
        }
    }

    /** The transfer was given up; any thread, the part may be anybody's. */
    void abort(SharedPulls shared) {
        TransferEngine reading = engine;
        if (reading != null) {
            ReplicaWriter copy = replica;
            SharedPulls.Going mine = pulling;
            if (copy != null) {
                copy.abandon();
            }
            if (mine != null) {
                shared.end(mine);
            }
            reading.abort(read);
        }
        WaitingParts waiting = waitsIn;
        if (waiting != null) {
            waiting.giveUp(this);
        }
    }

    void reset() {
        tried.clear();
        read.forgetCounts();
        source = null;
        replica = null;
        climbs = false;
        room = null;
        pulling = null;
        waits = false;
        awaited = null;
        inPlace = false;
        notInPlace = false;
        straight = false;
        notStraight = false;
        raising = null;
        paid = false;
        failure = Outcome.ABSENT;
        cause = null;
    }
}
