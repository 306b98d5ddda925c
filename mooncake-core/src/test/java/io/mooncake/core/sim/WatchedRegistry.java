package io.mooncake.core.sim;

import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.registry.Registry;
import io.mooncake.core.registry.ReplicatedRegistry;
import io.mooncake.core.transfer.Peer;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A node's registry; remembers what the node said since it was looked at last. */
final class WatchedRegistry implements Registry {
    final List<BlockRef> announced = new ArrayList<>();
    final List<BlockRef> withdrawn = new ArrayList<>();
    private final ReplicatedRegistry registry;

    WatchedRegistry(ReplicatedRegistry registry) {
        this.registry = registry;
    }

    @Override
    public void join(Peer self) {
        registry.join(self);
    }

    @Override
    public void leave(NodeId node) {
        registry.leave(node);
    }

    @Override
    public List<Peer> nodes() {
        return registry.nodes();
    }

    @Override
    public @Nullable Peer peer(NodeId node) {
        return registry.peer(node);
    }

    @Override
    public List<BlockRef> locations(BlockId id) {
        return registry.locations(id);
    }

    @Override
    public long highestCounter(BlockId id) {
        return registry.highestCounter(id);
    }

    @Override
    public void announce(BlockRef written) {
        announced.add(written);
        registry.announce(written);
    }

    @Override
    public void withdraw(BlockRef evicted) {
        withdrawn.add(evicted);
        registry.withdraw(evicted);
    }
}
