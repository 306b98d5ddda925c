package io.mooncake.core;

import io.mooncake.core.base.Bounds;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Tier;
import io.mooncake.core.manager.BlockManager;
import io.mooncake.core.manager.ReplicaWriter;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Priority;
import io.mooncake.core.transfer.ReadListener;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Transfer;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.core.transfer.TransferWork;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What one {@link Transfer} moves: finds a holder of each piece, gives the read to an engine, and ends the piece.
 *
 * <pre>
 *   start ─▶ locate ─▶ engine ─▶ onReadEnded ─┬─▶ end                         bytes in the caller's memory, proven; or given up
 *              ▲                               └─▶ conductor ─┬─▶ commit, end  a replica
 *              └──────────────────────────────────────────────┴─ another holder, or the next tier on the way, within the deadline
 * </pre>
 */
final class Pull implements TransferWork, ReadListener {
    private final PullContext node;
    private final Part[] parts;
    private final Priority priority;
    /** A guess that its blocks will be used, within a budget. */
    private final boolean ahead;
    private @Nullable Transfer transfer;
    private long deadlineNs;

    Pull(PullContext node, List<Piece> pieces, Priority priority) {
        this(node, pieces, priority, false);
    }

    private Pull(PullContext node, List<Piece> pieces, Priority priority, boolean ahead) {
        this.node = node;
        this.priority = priority;
        this.ahead = ahead;
        parts = new Part[pieces.size()];
        for (int i = 0; i < parts.length; i++) {
            parts[i] = new Part(this, pieces.get(i), i, node.sources().costs(), node.life());
        }
    }

    /** Of what somebody may use soon. */
    static Pull ahead(PullContext node, List<Piece> pieces) {
        return new Pull(node, pieces, Priority.BACKGROUND, true);
    }

    boolean isOf(PullContext pulls) {
        return node.equals(pulls);
    }

    BlockId id(int piece) {
        return parts[piece].piece.id();
    }

    /** Where a piece was read from last. */
    @Nullable
    BlockRef source(int piece) {
        return parts[piece].source;
    }

    @Override
    public int stage(int piece) {
        return parts[piece].piece.stage();
    }

    @Override
    public long received() {
        long received = 0;
        for (Part part : parts) {
            received += part.read.receivedSoFar();
        }
        return received;
    }

    @Override
    public long verified(int piece) {
        return parts[piece].read.verified;
    }

    @Override
    public void start(Transfer transfer, long deadlineNs) {
        this.transfer = transfer;
        this.deadlineNs = deadlineNs;
        for (Part part : parts) {
            part.reset();
            part.read.by(deadlineNs);
            attempt(part);
        }
    }

    @Override
    public void abort() {
        for (Part part : parts) {
            part.abort(node.shared());
        }
        // Perhaps some part waits there.
        node.conductor().wakeup();
    }

    /** Gives the part to an engine, or to the conductor, or ends it. */
    private void attempt(Part part) {
        boolean again;
        do {
            try {
                again = attemptOnce(part);
            } catch (RuntimeException e) {
                again = false;
                refuse(part, e);
            }
        } while (again);
    }

    /** True when another holder is to be tried at once. Throws what the registry, the scheduler or the store threw. */
    private boolean attemptOnce(Part part) {
        if (transfer().isGivenUp()) {
            return ended(part, Outcome.CANCELED, null);
        }
        BlockRef source = node.sources().find(part);
        part.source = source;
        if (source == null) {
            return ended(part, part.failure, part.cause);
        }
        long length = part.piece.length() == Piece.WHOLE
                ? Math.max(0, source.length() - part.piece.offset())
                : part.piece.length();
        if (!Bounds.contains(part.piece.offset(), length, source.length())) {
            return ended(part, Outcome.REFUSED, new MooncakeException(Kind.OUT_OF_BOUNDS, "block " + source.id()
                    + ": offset " + part.piece.offset() + " + " + length + " > valid length " + source.length()));
        }
        if (ahead && !isWithinBudget(part, source, length)) {
            return waits(part);
        }
        if (part.piece.destination() instanceof Destination.Replica to) {
            MooncakeException refusal = node.steps().refusal(source, to.tier());
            if (refusal != null) {
                return ended(part, Outcome.REFUSED, refusal);
            }
            BlockRef there = node.steps().there(source, to);
            if (there != null) {
                part.source = there;
                return ended(part, Outcome.OK, null);
            }
            source = node.steps().next(part, source, to.tier());
            if (source == null) {
                return mayRetry(part, Outcome.STALE, null);
            }
            part.source = source;
        } else if (node.steps().isHere(source)) {
            // A copy is a use as a view is; what peers read is not, since a one-sided read tells nobody.
            blocks().touch(source.id());
        }
        Peer owner = node.sources().registry().peer(source.node());
        Memory into = node.steps().destination(part);
        boolean elsewhere = !node.steps().isHere(source) && source.tier() != Tier.DRAM;
        TransferEngine engine = owner == null || into == null
                ? null
                : elsewhere
                        ? part.notInPlace ? null : node.sources().engineInPlace(source, into)
                        : node.sources().engineTo(owner, source.region(), length, into);
        if (elsewhere && engine == null) {
            return awaitsRaising(part, source);
        }
        part.inPlace = elsewhere;
        if (owner == null || engine == null) {
            return mayRetry(part, Outcome.UNREACHABLE,
                    new MooncakeException(Kind.PEER_UNREACHABLE, node.sources().explain(source)));
        }
        part.read.from(owner, source.region(), source.offset() + part.piece.offset(), length)
                .atBlockOffset(part.piece.offset())
                .guardedBy(source.guardOffset(), source.guard())
                .withPriority(priority);
        if (takesDestination(part, source)) {
            submit(part, engine);
        }
        return false;
    }

    private boolean isWithinBudget(Part part, BlockRef source, long length) {
        if (!part.paid) {
            part.paid = blocks().isIn(source, Tier.DRAM) || node.prefetches().take(length, node.life().nowNs());
        }
        return part.paid;
    }

    /** No engine reads that node's file, or its device, from here: asks for the block, and looks again until it is in memory there, or elsewhere. */
    private boolean awaitsRaising(Part part, BlockRef source) {
        return Raising.ask(node, part, source)
                ? waits(part)
                : mayRetry(part, Outcome.UNREACHABLE,
                        new MooncakeException(Kind.PEER_UNREACHABLE, node.sources().explain(source)));
    }

    /** False when the part was ended, or given to the conductor to wait for a slot. */
    private boolean takesDestination(Part part, BlockRef source) {
        return switch (part.piece.destination()) {
            case Destination.At at -> retains(part, part.into(at));
            case Destination.Pages pages -> retains(part, part.into(pages));
            case Destination.Replica to -> allocates(part, source, to.tier());
        };
    }

    private boolean retains(Part part, @Nullable MooncakeException refusal) {
        if (refusal != null) {
            return ended(part, Outcome.REFUSED, refusal);
        }
        part.waits = false;
        return true;
    }

    private boolean allocates(Part part, BlockRef source, Tier tier) {
        if (!node.shared().isTurnOf(part, source)) {
            node.steps().giveUpRoom(part);
            if (!node.shared().takeTurn(part, source, tier)) {
                return waits(part);
            }
            if (blocks().isIn(source, tier)) {
                // The pull before this one brought it after this one looked.
                part.source = blocks().find(source.id());
                return ended(part, Outcome.OK, null);
            }
        }
        ReplicaWriter replica = node.steps().reserve(part, source, tier);
        if (replica == null) {
            return waits(part);
        }
        part.waits = false;
        part.replica = replica;
        part.read.into(replica.region(), replica.offset());
        return true;
    }

    /** Until there is a slot, another's pull is over, or the block is up; false, for whoever asks whether to go on. */
    private boolean waits(Part part) {
        if (part.waits) {
            node.conductor().takeBack(part);
        } else {
            part.waits = true;
            node.conductor().take(part);
        }
        return false;
    }

    private void submit(Part part, TransferEngine engine) {
        transfer().posted();
        part.timer.begin(engine);
        part.engine = engine;
        boolean accepted;
        try {
            accepted = engine.submit(part.read);
        } catch (RuntimeException e) {
            part.notTaken();
            throw e;
        }
        if (accepted) {
            return;
        }
        part.notTaken();
        if (node.life().isClosing()) {
            end(part, Outcome.CANCELED, null);
        } else {
            end(part, Outcome.UNREACHABLE, new MooncakeException(Kind.BACK_PRESSURE,
                    "the queue of engine " + engine.name() + " is full: submit less at a time, or again later"));
        }
    }

    @Override
    public boolean isGivenUp(GuardedRead read) {
        return transfer().isGivenUp();
    }

    @Override
    public void onReadExpired(GuardedRead read) {
        transfer().timeOut();
    }

    @Override
    public void onReadEnded(GuardedRead read, ReadStatus status) {
        Part part = parts[read.index()];
        part.engine = null;
        part.timer.end(status);
        part.status = status;
        if (part.replica == null) {
            read.destination().release();
            Outcome last = switch (status) {
                case OK -> Outcome.OK;
                case CANCELED -> Outcome.CANCELED;
                case TIMED_OUT -> Outcome.TIMED_OUT;
                default -> Outcome.PENDING;
            };
            if (last != Outcome.PENDING) {
                end(part, last, null);
                return;
            }
        }
        node.conductor().take(part);
    }

    /** Conductor: what is left to do when a read has ended that went into the pool, or that may be tried elsewhere. */
    void afterRead(Part part) {
        ReplicaWriter replica = part.replica;
        part.replica = null;
        boolean committed;
        try {
            committed = replica != null && replica.end(part.status == ReadStatus.OK);
        } catch (RuntimeException e) {
            refuse(part, e);
            return;
        }
        BlockRef source = Objects.requireNonNull(part.source);
        switch (part.status) {
            // Only replicas come here so; one that is not committed was given up.
            case OK -> {
                if (committed && ahead) {
                    blocks().broughtAhead(source.id(), source.version());
                }
                if (committed && blocks().find(source.id()) == null) {
                    // Evicted while it was copied from one tier to another.
                    retryOrEnd(part, Outcome.STALE, null);
                } else if (committed && part.piece.destination() instanceof Destination.Replica to
                        && to.tier() != part.step) {
                    node.counters().moved(part);
                    part.climbs = true;
                    attempt(part);
                } else {
                    end(part, committed ? Outcome.OK : Outcome.CANCELED, null);
                }
            }
            case STALE -> {
                node.faults().stale(source);
                retryOrEnd(part, Outcome.STALE, null);
            }
            case CHECKSUM -> {
                node.faults().damaged(source);
                retryOrEnd(part, Outcome.CHECKSUM, null);
            }
            case UNREACHABLE -> {
                if (part.inPlace) {
                    // Of this process's device it says more than of the owner, which may serve the block yet.
                    part.notInPlace = true;
                    attempt(part);
                    return;
                }
                MooncakeException cause = part.read.cause();
                node.faults().unreachable(source, cause);
                retryOrEnd(part, Outcome.UNREACHABLE, cause);
            }
            case REFUSED -> {
                MooncakeException cause = part.read.cause();
                if (part.straight && !part.notStraight && cause != null && cause.kind() == Kind.UNSUPPORTED) {
                    // A card found out that it can't write there.
                    part.notStraight = true;
                    attempt(part);
                } else {
                    end(part, Outcome.REFUSED, cause);
                }
            }
            case TIMED_OUT -> end(part, Outcome.TIMED_OUT, null);
            default -> end(part, Outcome.CANCELED, null);
        }
    }

    private void retryOrEnd(Part part, Outcome outcome, @Nullable MooncakeException cause) {
        if (mayRetry(part, outcome, cause)) {
            attempt(part);
        }
    }

    /** Notes that a source failed; true when there is time for another one, else ends the part. */
    private boolean mayRetry(Part part, Outcome outcome, @Nullable MooncakeException cause) {
        part.tried.add(Objects.requireNonNull(part.source));
        part.failure = outcome;
        part.cause = cause;
        if (transfer().isGivenUp() || node.life().isClosing()) {
            return ended(part, outcome, cause);
        }
        if (isLate()) {
            return ended(part, Outcome.TIMED_OUT, cause);
        }
        node.counters().retried();
        return true;
    }

    /** Conductor: a replica that waited tries again; when it has to wait longer it comes back. */
    void retry(Part part, long nowNs) {
        if (node.life().isClosing() || transfer().isGivenUp()) {
            end(part, Outcome.CANCELED, null);
        } else if (nowNs - deadlineNs >= 0) {
            end(part, Outcome.TIMED_OUT, part.awaited != null ? null : waitedInVain(part));
        } else if (node.shared().mustWait(part)) {
            node.conductor().takeBack(part);
        } else {
            attempt(part);
        }
    }

    private MooncakeException waitedInVain(Part part) {
        BlockRef source = Objects.requireNonNull(part.source);
        if (ahead && !part.paid) {
            return node.prefetches().refusal(source.id());
        }
        return Raising.isAsked(part, source)
                ? Raising.inVain(source)
                : new MooncakeException(Kind.OUT_OF_MEMORY,
                        "no slot for a replica of block " + source.id() + ": " + blocks().describeHolders());
    }

    private boolean isLate() {
        return node.life().nowNs() - deadlineNs >= 0;
    }

    /** Ends a part that this node's own store, its registry or its scheduler threw at: a transfer ends, whatever they do. */
    private void refuse(Part part, RuntimeException why) {
        if (node.life().isClosing()) {
            end(part, Outcome.CANCELED, null);
        } else {
            end(part, Outcome.REFUSED, why instanceof MooncakeException known
                    ? known
                    : new MooncakeException(Kind.ILLEGAL_STATE,
                            "block " + part.piece.id() + ": the registry or the scheduler threw " + why, why));
        }
    }

    /** Ends the part; false, for whoever asks whether to go on. */
    private boolean ended(Part part, Outcome outcome, @Nullable MooncakeException cause) {
        end(part, outcome, cause);
        return false;
    }

    private void end(Part part, Outcome outcome, @Nullable MooncakeException cause) {
        node.steps().giveUpRoom(part);
        node.shared().endTurn(part);
        Outcome told = transfer().unlessGivenUp(outcome);
        node.counters().ended(told);
        BlockRef source = part.source;
        if (outcome == Outcome.OK && source != null) {
            // What is given up in this moment leaves the block where it was.
            if (told == Outcome.OK && part.piece.destination() instanceof Destination.Replica to && to.only()) {
                blocks().sink(source.id(), source.version(), to.tier());
            }
            node.counters().moved(part);
        }
        transfer().end(part.index(), told, told == outcome ? cause : null);
    }

    private BlockManager blocks() {
        return node.sources().blocks();
    }

    private Transfer transfer() {
        return Objects.requireNonNull(transfer);
    }
}
