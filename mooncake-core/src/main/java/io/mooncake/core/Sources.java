package io.mooncake.core;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.Memory.FileMemory;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.Tier;
import io.mooncake.core.manager.BlockManager;
import io.mooncake.core.registry.Registry;
import io.mooncake.core.schedule.Scheduler;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Route;
import io.mooncake.core.transfer.SharedBlock;
import io.mooncake.core.transfer.SharedBlocks;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.core.transfer.file.FileTransferEngine;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Where blocks can be read from: who has one, which holder to take, which engine reaches it. Any thread; allocates nothing for a first
 * attempt.
 *
 * @param blocks what is here
 * @param registry who has what elsewhere
 * @param scheduler chooses between holders
 * @param costs what it may go by
 * @param engines those that are equally good for a read, in the order of preference
 * @param shared views of blocks of nodes of this host
 */
record Sources(BlockManager blocks, Registry registry, Scheduler scheduler, PeerCosts costs,
        List<TransferEngine> engines, SharedBlocks shared) {
    /** A holder of any version: this node before all others. */
    @Nullable
    BlockRef find(BlockId id) {
        return find(id, Piece.WHOLE);
    }

    private @Nullable BlockRef find(BlockId id, long length) {
        BlockRef local = blocks.find(id);
        return local != null ? local : scheduler.source(elsewhere(id), bytes(length), costs);
    }

    /** Other holders. What is here the table knows; the registry may not have heard yet of what left. */
    private List<BlockRef> elsewhere(BlockId id) {
        List<BlockRef> holders = registry.locations(id);
        for (BlockRef holder : holders) {
            if (isHere(holder)) {
                return holders.stream().filter(ref -> !isHere(ref)).toList();
            }
        }
        return holders;
    }

    private boolean isHere(BlockRef ref) {
        return ref.node().equals(costs.self());
    }

    private static long bytes(long length) {
        return length == Piece.WHOLE ? Long.MAX_VALUE : length;
    }

    /** What a part is to read: after a step, what is here now; else, or when that has left already, a holder that it has not tried yet. */
    @Nullable
    BlockRef find(Part part) {
        Piece piece = part.piece;
        BlockRef here = part.climbs ? blocks.find(piece.id()) : null;
        if (here != null && isCandidate(part, here)) {
            return here;
        }
        BlockRef wanted = piece.ref();
        // What was in another's file, or on its device, when the reference was made may be in its memory by now.
        boolean raised = wanted != null && wanted.tier() != Tier.DRAM && !wanted.node().equals(costs.self())
                && (part.notInPlace || engineInPlace(wanted, null) == null);
        if (part.tried.isEmpty() && piece.atLeast() == 0 && !raised) {
            return wanted != null ? wanted : find(piece.id(), piece.length());
        }
        for (BlockRef local : blocks.copies(piece.id())) {
            if (isCandidate(part, local)) {
                return local;
            }
        }
        List<BlockRef> holders = elsewhere(piece.id()).stream().filter(ref -> isCandidate(part, ref)).toList();
        return scheduler.source(holders, bytes(piece.length()), costs);
    }

    /** Whether a holder has what a part wants, and was not tried yet. */
    private static boolean isCandidate(Part part, BlockRef ref) {
        BlockRef wanted = part.piece.ref();
        boolean fits = wanted != null
                ? wanted.version().equals(ref.version())
                : ref.version().counter() >= part.piece.atLeast();
        return fits && !part.tried.contains(ref);
    }

    /** The engine that moves so many bytes of a region best into memory of this node; where none can write there, one that says so. */
    @Nullable
    TransferEngine engineTo(Peer peer, int region, long bytes, Memory into) {
        if (into instanceof FileMemory) {
            return fileEngine();
        }
        TransferEngine best = PathChoice.choose(engines, peer, region, bytes, costs);
        if (best == null || best.reaches(peer, region, into)) {
            return best;
        }
        for (int i = 0; i < engines.size(); i++) {
            TransferEngine engine = engines.get(i);
            if (engine.reaches(peer, region, into)
                    && PathChoice.rank(bytes, engine.route(peer, region)) != PathChoice.NEVER) {
                return engine;
            }
        }
        return best;
    }

    /** Whether a block of another node is to come straight into memory of a device of this one: see {@link PathChoice#isStraight}. */
    boolean goesStraight(BlockRef ref, Memory into) {
        Peer owner = registry.peer(ref.node());
        if (owner == null) {
            return false;
        }
        return PathChoice.isStraight(ref.tier(), engineInPlace(ref, into),
                PathChoice.choose(engines, owner, ref.region(), ref.length(), costs), owner, ref.region(), into);
    }

    /** The engine that reads what is not in a peer's host memory where it is, into some memory or any; null when the peer has to bring it up. */
    @Nullable
    TransferEngine engineInPlace(BlockRef ref, @Nullable Memory into) {
        Peer owner = registry.peer(ref.node());
        for (int i = 0; owner != null && i < engines.size(); i++) {
            TransferEngine engine = engines.get(i);
            if (engine.readsInPlace(owner, ref.region())
                    && (into == null || engine.reaches(owner, ref.region(), into))) {
                return engine;
            }
        }
        return null;
    }

    /** The engine that brings blocks into this node's slow tier; null when there is none. */
    private @Nullable TransferEngine fileEngine() {
        for (int i = 0; i < engines.size(); i++) {
            if (engines.get(i) instanceof FileTransferEngine file) {
                return file;
            }
        }
        return null;
    }

    /** Lets a view hold the highest known version of a block in the memory of a node of this host. Allocates nothing for known blocks. */
    boolean acquireOnHost(BlockId id, BlockView view) {
        List<BlockRef> holders = registry.locations(id);
        long highest = id.isContentAddressed() ? 0 : registry.highestCounter(id);
        for (int i = 0; i < holders.size(); i++) {
            if (holders.get(i).version().counter() >= highest && acquireOnHost(holders.get(i), view)) {
                return true;
            }
        }
        return false;
    }

    /** The same for what exactly a reference names. */
    boolean acquireOnHost(BlockRef ref, BlockView view) {
        Peer owner = ref.node().equals(costs.self()) ? null : registry.peer(ref.node());
        SharedBlock pinned = owner == null
                ? null
                : shared.pin(owner, ref.region(), ref.guardOffset(), ref.guard(), ref.offset(), ref.length());
        if (pinned == null) {
            return false;
        }
        blocks.hand(pinned, ref, view);
        return true;
    }

    /** Which way a read of a block would go, in words. */
    String explain(BlockId id) {
        BlockRef ref = find(id);
        return ref == null ? "block " + id + ": no node is known to have it" : explain(ref);
    }

    /** The same for the holder that a reference names, whether or not it still has the block. */
    String explain(BlockRef ref) {
        Peer owner = registry.peer(ref.node());
        boolean elsewhere = ref.tier() != Tier.DRAM && !ref.node().equals(costs.self());
        return "block " + ref.id() + " on node " + ref.node() + ": " + (owner == null
                ? "no way, because the node is not known, or not in this incarnation"
                : elsewhere
                        ? explainElsewhere(owner, ref)
                        : PathChoice.explain(engines, owner, ref.region(), ref.length(), costs));
    }

    private String explainElsewhere(Peer owner, BlockRef ref) {
        TransferEngine engine = engineInPlace(ref, null);
        if (engine != null) {
            return engine.name() + " (" + engine.route(owner, ref.region()).reason() + ")";
        }
        StringBuilder text = new StringBuilder("by way of that node's memory, because it is ")
                .append(ref.isInFile() ? "in a file" : "on a device")
                .append(" there");
        for (TransferEngine other : engines) {
            Route route = other.route(owner, ref.region());
            if (route.locality() == Route.Locality.HOST && !route.registered()) {
                text.append("; ").append(other.name()).append(": ").append(route.reason());
            }
        }
        return text.toString();
    }
}
