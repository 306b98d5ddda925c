package io.mooncake.core;

import io.mooncake.core.base.Hop;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.PoolSpace;
import io.mooncake.core.block.Tier;
import io.mooncake.core.registry.NodeSpace;
import io.mooncake.core.registry.PairFigures;
import io.mooncake.core.registry.Registry;
import io.mooncake.core.schedule.ClusterView;
import io.mooncake.core.schedule.PathMeter;
import io.mooncake.core.schedule.TopologyMatrix;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.TransferEngine;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The {@link TopologyMatrix} as the node uses it: with the clock, and the way that a read would go. What the scheduler may know. Any thread;
 * asking allocates nothing.
 */
final class PeerCosts implements ClusterView, PathChoice.Costs {
    /** From one look for what others are to be told to the next. */
    static final long ANNOUNCE_NS = 5_000_000_000L;

    private final Peer self;
    private final Registry registry;
    private final List<TransferEngine> engines;
    private final LongSupplier nanoClock;
    private final TopologyMatrix matrix;
    private final Promises promises;
    private long announcedNs;

    PeerCosts(Peer self, Registry registry, List<TransferEngine> engines, LongSupplier nanoClock) {
        this.self = self;
        this.registry = registry;
        this.engines = engines;
        this.nanoClock = nanoClock;
        matrix = new TopologyMatrix(self.id(), engines.stream()
                .flatMap(engine -> engine.measuredWays().stream())
                .map(way -> PathMeter.figure(way.name(), way.bytes(), way.ns()))
                .toList());
        promises = new Promises(registry);
        announcedNs = nanoClock.getAsLong();
    }

    @Override
    public NodeId self() {
        return self.id();
    }

    @Override
    public Hop hop(BlockRef holder) {
        Peer peer = registry.peer(holder.node());
        return isHere(holder) ? Hop.NODE : peer == null ? Hop.FAR : hop(peer);
    }

    private Hop hop(Peer peer) {
        return self.site().hopTo(peer.site());
    }

    private boolean isHere(BlockRef holder) {
        return holder.node().equals(self.id());
    }

    @Override
    public long expectedNs(BlockRef holder, long bytes) {
        Peer peer = registry.peer(holder.node());
        TransferEngine engine = peer == null ? null : engineTo(peer, holder, bytes);
        return isHere(holder)
                ? 0
                : peer == null || engine == null ? Long.MAX_VALUE : expectedNs(peer, engine, bytes);
    }

    private @Nullable TransferEngine engineTo(Peer peer, BlockRef holder, long bytes) {
        return PathChoice.choose(engines, peer, holder.region(), bytes, this);
    }

    @Override
    public long expectedNs(Peer peer, TransferEngine engine, long bytes) {
        return matrix.expectedNs(peer.id(), hop(peer), engine.name(), bytes);
    }

    @Override
    public boolean isDue(BlockRef holder, long bytes) {
        Peer peer = registry.peer(holder.node());
        TransferEngine engine = peer == null || isHere(holder) ? null : engineTo(peer, holder, bytes);
        return peer != null && engine != null && isDue(peer, engine, bytes);
    }

    @Override
    public boolean isDue(Peer peer, TransferEngine engine, long bytes) {
        return matrix.isDue(peer.id(), engine.name(), bytes, nanoClock.getAsLong());
    }

    @Override
    public int load(NodeId node) {
        return matrix.load(node);
    }

    @Override
    public List<Member> members(Tier tier) {
        List<Member> members = new ArrayList<>();
        for (Peer peer : registry.nodes()) {
            NodeSpace space = registry.space(peer.id());
            Member member = space == null ? null : member(peer, space, tier);
            if (member != null && member.bytes() > 0) {
                members.add(member);
            }
        }
        return members;
    }

    private Member member(Peer peer, NodeSpace space, Tier tier) {
        long promised = promises.bytes(peer.id(), tier);
        long bytes = 0;
        long free = 0;
        long cached = 0;
        for (PoolSpace pool : space.pools()) {
            if (pool.tier() == tier) {
                bytes += pool.bytes();
                free += pool.freeBytes();
                cached += pool.cachedBytes();
            }
        }
        long beyond = Math.max(0, promised - free);
        return new Member(peer.id(), peer.site(), bytes, Math.max(0, free - promised), Math.max(0, cached - beyond),
                promises.computing(peer.id()));
    }

    @Override
    public List<BlockRef> holders(BlockId id) {
        return registry.locations(id);
    }

    /** What this node asks of others, which {@link #members} takes off. */
    Promises promises() {
        return promises;
    }

    /** What measures reads from another node by an engine. */
    PathMeter meter(Peer peer, TransferEngine engine) {
        PathMeter known = matrix.meter(peer.id(), engine.name());
        return known != null ? known : matrix.begin(peer.id(), hop(peer), engine.name());
    }

    /** A life is over. */
    void forget(NodeId node) {
        matrix.forget(node);
        promises.forget(node);
    }

    /** Every pair that is known: this node's as they are now, the others' as they said. */
    @Override
    public List<PairFigures> figures() {
        List<PairFigures> pairs = new ArrayList<>(matrix.figures());
        for (PairFigures pair : registry.figures()) {
            if (!pair.reader().equals(self.id())) {
                pairs.add(pair);
            }
        }
        return pairs;
    }

    /** Conductor: tells the others what has changed, now and then. */
    int announce(long nowNs) {
        if (nowNs - announcedNs < ANNOUNCE_NS) {
            return 0;
        }
        announcedNs = nowNs;
        List<PairFigures> changes = matrix.changes();
        changes.forEach(registry::announce);
        return changes.size();
    }
}
