package io.mooncake.core;

import io.mooncake.core.base.Bounds;
import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.manager.ReplicaWriter;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.ReadListener;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import io.mooncake.core.transfer.TransferEngine;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What one {@link Transfer} moves: finds a holder of each piece, gives the read to an engine, and ends the piece.
 *
 * <pre>
 *   start ─▶ locate ─▶ engine ─▶ onReadEnded ─┬─▶ end                         bytes in the caller's memory, proven
 *              ▲                               └─▶ conductor ─┬─▶ commit, end  a replica
 *              └──────────────────────────────────────────────┴─ another holder, within the deadline
 * </pre>
 */
final class Pull implements Transfer.Work, ReadListener {
    /** One holder, then another look-up, which may name others. */
    private static final int MAX_ATTEMPTS = 4;

    private final NodeParts node;
    private final Part[] parts;
    private @Nullable Transfer transfer;
    private long deadlineNs;

    Pull(NodeParts node, List<Piece> pieces) {
        this.node = node;
        parts = new Part[pieces.size()];
        for (int i = 0; i < parts.length; i++) {
            parts[i] = new Part(this, pieces.get(i), i);
        }
    }

    @Override
    public int stage(int piece) {
        return parts[piece].piece.stage();
    }

    @Override
    public void start(Transfer transfer, long deadlineNs) {
        this.transfer = transfer;
        this.deadlineNs = deadlineNs;
        for (Part part : parts) {
            part.reset();
            attempt(part);
        }
    }

    /** Gives the part to an engine, or to the conductor, or ends it. */
    void attempt(Part part) {
        BlockRef source;
        Peer owner;
        try {
            source = locate(part);
            owner = source == null ? null : node.registry().peer(source.node());
        } catch (RuntimeException e) {
            refuse(part, e);
            return;
        }
        part.source = source;
        if (source == null) {
            end(part, part.failure, part.cause);
            return;
        }
        long length = part.piece.length() == Piece.WHOLE ? source.length() - part.piece.offset() : part.piece.length();
        if (!Bounds.contains(part.piece.offset(), length, source.length())) {
            end(part, Outcome.REFUSED, new MooncakeException(Kind.OUT_OF_BOUNDS, "block " + source.id() + ": offset "
                    + part.piece.offset() + " + " + length + " > valid length " + source.length()));
            return;
        }
        if (source.node().equals(node.id())) {
            // A copy is a use as a view is; what peers read is not, since a one-sided read tells nobody.
            node.blocks().touch(source.id());
        }
        TransferEngine engine = owner == null ? null : node.engineTo(owner);
        if (owner == null || engine == null) {
            part.tried.add(source);
            retryOrEnd(part, Outcome.UNREACHABLE, new MooncakeException(Kind.PEER_UNREACHABLE, "node " + source.node()
                    + (owner == null
                            ? " is not known, or not in this incarnation"
                            : " is reached by none of this node's engines")));
            return;
        }
        GuardedRead read = part.read.from(owner, source.region(), source.offset() + part.piece.offset(), length)
                .guardedBy(source.guardOffset(), source.guard())
                .by(deadlineNs);
        if (setDestination(part, read, source, length)) {
            submit(engine, read);
        }
    }

    private @Nullable BlockRef locate(Part part) {
        BlockRef wanted = part.piece.ref();
        if (wanted != null && part.tried.isEmpty()) {
            return wanted;
        }
        BlockRef local = node.blocks().find(part.piece.id());
        if (local != null && isCandidate(part, local)) {
            return local;
        }
        List<BlockRef> holders = node.registry().locations(part.piece.id());
        if (wanted != null || !part.tried.isEmpty()) {
            holders = holders.stream().filter(ref -> isCandidate(part, ref)).toList();
        }
        return node.scheduler().source(holders, node.view());
    }

    private static boolean isCandidate(Part part, BlockRef ref) {
        BlockRef wanted = part.piece.ref();
        return (wanted == null || wanted.version().equals(ref.version())) && !part.tried.contains(ref);
    }

    /** False when the part was ended, or given to the conductor to wait for a slot. */
    private boolean setDestination(Part part, GuardedRead read, BlockRef source, long length) {
        return switch (part.piece.destination()) {
            case Destination.At at -> retained(part, at.region(), read.into(at.region(), at.offset()));
            case Destination.Pages pages -> retained(part, pages.region(), read.into(pages.region(), pages.pages()));
            case Destination.Replica _ -> source.node().equals(node.id())
                    ? endIfHere(part, source)
                    : allocated(part, read, source, length);
        };
    }

    private boolean endIfHere(Part part, BlockRef source) {
        BlockRef here;
        try {
            here = node.blocks().find(source.id());
        } catch (RuntimeException e) {
            refuse(part, e);
            return false;
        }
        // A reference that the caller brought, or a registry that is behind, may name what was evicted.
        if (here != null && here.version().equals(source.version())) {
            end(part, Outcome.OK, null);
        } else {
            part.tried.add(source);
            retryOrEnd(part, Outcome.STALE, null);
        }
        return false;
    }

    private boolean allocated(Part part, GuardedRead read, BlockRef source, long length) {
        ReplicaWriter replica;
        try {
            replica = node.blocks().allocateReplica(source.id(), source.version(), length);
        } catch (RuntimeException e) {
            refuse(part, e);
            return false;
        }
        if (replica == null) {
            if (part.step == Part.Step.AWAIT_SLOT) {
                node.conductor().takeBack(part);
            } else {
                part.step = Part.Step.AWAIT_SLOT;
                node.conductor().take(part);
            }
            return false;
        }
        part.replica = replica;
        read.into(replica.region(), replica.offset());
        return true;
    }

    private boolean retained(Part part, Region region, GuardedRead read) {
        if (!region.retain()) {
            end(part, Outcome.REFUSED,
                    new MooncakeException(Kind.CLOSED, region + " is closed; register the memory again"));
            return false;
        }
        if (!read.fitsDestination()) {
            region.release();
            end(part, Outcome.REFUSED, new MooncakeException(Kind.OUT_OF_BOUNDS,
                    region + " of " + region.length() + " bytes has no room for the " + read));
            return false;
        }
        return true;
    }

    private void submit(TransferEngine engine, GuardedRead read) {
        node.loads().add(read.owner().id(), 1);
        transfer().posted();
        if (!engine.submit(read)) {
            // Nothing was started: said as the engine would have said it.
            boolean closing = node.isClosing();
            read.end(closing ? ReadStatus.CANCELED : ReadStatus.UNREACHABLE, closing
                    ? null
                    : new MooncakeException(Kind.BACK_PRESSURE,
                            "the queue of engine " + engine.name()
                                    + " is full: submit less at a time, or again later"));
        }
    }

    @Override
    public boolean isGivenUp(GuardedRead read) {
        return transfer().isGivenUp();
    }

    @Override
    public void onReadEnded(GuardedRead read, ReadStatus status) {
        Part part = parts[read.index()];
        node.loads().add(read.owner().id(), -1);
        part.status = status;
        if (part.replica == null) {
            read.destination().release();
            if (status == ReadStatus.OK) {
                end(part, Outcome.OK, null);
                return;
            }
        }
        part.step = Part.Step.READ_ENDED;
        node.conductor().take(part);
    }

    /** Conductor: what is left to do when a read has ended otherwise than with bytes in the caller's memory. */
    void afterRead(Part part) {
        ReplicaWriter replica = part.replica;
        part.replica = null;
        if (part.status == ReadStatus.OK) {
            try {
                // Only replicas come here so.
                Objects.requireNonNull(replica).commit();
            } catch (RuntimeException e) {
                refuse(part, e);
                return;
            }
            end(part, Outcome.OK, null);
            return;
        }
        if (replica != null) {
            replica.abort();
        }
        BlockRef source = Objects.requireNonNull(part.source);
        part.tried.add(source);
        switch (part.status) {
            case STALE -> {
                node.events().raise(BlockEvent.Kind.STALE, source);
                retryOrEnd(part, Outcome.STALE, null);
            }
            case UNREACHABLE -> {
                MooncakeException cause = part.read.cause();
                // A full queue of this node's says nothing about the holder.
                if (cause == null || cause.kind() != Kind.BACK_PRESSURE) {
                    node.events().raise(BlockEvent.Kind.LOST, source);
                }
                retryOrEnd(part, Outcome.UNREACHABLE, cause);
            }
            case REFUSED -> end(part, Outcome.REFUSED, part.read.cause());
            case TIMED_OUT -> end(part, Outcome.TIMED_OUT, null);
            default -> end(part, Outcome.CANCELED, null);
        }
    }

    private void retryOrEnd(Part part, Outcome outcome, @Nullable MooncakeException cause) {
        part.failure = outcome;
        part.cause = cause;
        if (part.tried.size() >= MAX_ATTEMPTS || transfer().isGivenUp() || node.isClosing()) {
            end(part, outcome, cause);
        } else if (isLate()) {
            end(part, Outcome.TIMED_OUT, cause);
        } else {
            node.counters().increment(Counter.PIECE_RETRIES);
            attempt(part);
        }
    }

    /** Conductor: a replica that had no slot tries again; without one it comes back. */
    void retryForSlot(Part part) {
        if (node.isClosing() || transfer().isGivenUp()) {
            end(part, Outcome.CANCELED, null);
        } else if (isLate()) {
            end(part, Outcome.TIMED_OUT, new MooncakeException(Kind.OUT_OF_MEMORY,
                    "no slot for a replica of block " + part.piece.id() + ": " + node.blocks().describeHolders()));
        } else {
            attempt(part);
        }
    }

    private boolean isLate() {
        return node.nowNs() - deadlineNs >= 0;
    }

    /** Ends a part that this node's own store, its registry or its scheduler threw at: a transfer ends, whatever they do. */
    private void refuse(Part part, RuntimeException why) {
        if (node.isClosing()) {
            end(part, Outcome.CANCELED, null);
        } else {
            end(part, Outcome.REFUSED, why instanceof MooncakeException known
                    ? known
                    : new MooncakeException(Kind.ILLEGAL_STATE,
                            "block " + part.piece.id() + ": the registry or the scheduler threw " + why, why));
        }
    }

    private void end(Part part, Outcome outcome, @Nullable MooncakeException cause) {
        node.counters().increment(counter(outcome));
        BlockRef source = part.source;
        if (outcome == Outcome.OK && source != null) {
            boolean here = source.node().equals(node.id());
            if (!here || !(part.piece.destination() instanceof Destination.Replica)) {
                node.counters().add(here ? Counter.BYTES_COPIED : Counter.BYTES_PULLED, part.read.length());
            }
        }
        transfer().end(part.index(), outcome, cause);
    }

    private static Counter counter(Outcome outcome) {
        return switch (outcome) {
            case OK -> Counter.PIECES_OK;
            case ABSENT -> Counter.PIECES_ABSENT;
            case STALE -> Counter.PIECES_STALE;
            case TIMED_OUT -> Counter.PIECES_TIMED_OUT;
            case CANCELED -> Counter.PIECES_CANCELED;
            case UNREACHABLE -> Counter.PIECES_UNREACHABLE;
            default -> Counter.PIECES_REFUSED;
        };
    }

    private Transfer transfer() {
        return Objects.requireNonNull(transfer);
    }
}
