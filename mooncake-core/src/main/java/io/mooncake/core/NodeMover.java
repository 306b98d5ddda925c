package io.mooncake.core;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.FreeRanges;
import io.mooncake.core.block.Hold;
import io.mooncake.core.block.Tier;
import io.mooncake.core.schedule.PlanRequest;
import io.mooncake.core.transfer.Transfer;
import java.time.Duration;
import java.util.List;
import java.util.function.Function;

/** The mover of one node: inside it by pieces like any other, to other nodes by {@link Moves}, for requests by {@link Plans}. */
final class NodeMover implements BlockMover {
    private final NodeParts node;
    private final NodeStore store;
    private final Moves moves;
    private final Plans plans;

    NodeMover(NodeParts node, NodeStore store) {
        this.node = node;
        this.store = store;
        moves = new Moves(node, store);
        plans = new Plans(node, store);
    }

    @Override
    public Transfer promote(List<BlockId> ids, Tier tier, TransferOptions options) {
        return begin(ids, id -> Piece.replica(id, tier), options);
    }

    @Override
    public Transfer prefetch(List<BlockId> ids) {
        return store.prepareAhead(ids).submit();
    }

    @Override
    public Transfer demote(List<BlockId> ids, Tier tier, TransferOptions options) {
        return begin(ids, id -> Piece.demoted(id, tier), options);
    }

    private Transfer begin(List<BlockId> ids, Function<BlockId, Piece> piece, TransferOptions options) {
        return store.prepare(ids.stream().map(piece).toList(), options).submit();
    }

    @Override
    public Transfer replicate(List<BlockId> ids, NodeId to, TransferOptions options) {
        return moves.begin(ids, to, false, options);
    }

    @Override
    public Transfer migrate(List<BlockId> ids, NodeId to, TransferOptions options) {
        return moves.begin(ids, to, true, options);
    }

    @Override
    public Hold pin(List<BlockId> ids, Tier tier, Duration ttl) {
        store.checkOpen();
        return node.blocks().hold(ids, tier, NodeStore.positiveNs("ttl", ttl));
    }

    @Override
    public FreeRanges compact(Tier tier, Duration timeout) {
        store.checkOpen();
        long ticket = node.blocks().compact();
        boolean _ = node.waits()
                .await(() -> node.blocks().hasCompacted(ticket),
                        node.life().nowNs() + NodeStore.positiveNs("timeout", timeout));
        return node.blocks().freeRanges(tier);
    }

    @Override
    public int evict(List<BlockId> ids) {
        return store.evict(ids);
    }

    @Override
    public PlanRun run(PlanRequest request, PlanOptions options) {
        return plans.run(request, options);
    }

    @Override
    public BlockStore.Subscription computeBy(PlanWorker worker) {
        return plans.computeBy(worker);
    }

    @Override
    public NodeId place(long bytes) {
        store.checkOpen();
        if (bytes <= 0) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT,
                    "a block of " + bytes + " bytes: a block has at least 1 byte");
        }
        NodeId to = node.sources().scheduler().place(bytes, node.sources().costs());
        if (to == null) {
            throw new MooncakeException(Kind.OUT_OF_MEMORY,
                    "no node is known that is large enough for a block of " + bytes + " bytes: give one a larger pool");
        }
        node.sources().costs().promises().add(to, bytes, 0);
        return to;
    }
}
