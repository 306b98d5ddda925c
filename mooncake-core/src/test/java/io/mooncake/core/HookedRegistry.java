package io.mooncake.core;

import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.core.registry.Registry;
import io.mooncake.core.transfer.Peer;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A registry that runs what a test wants before it does what it is told. */
final class HookedRegistry implements Registry {
    Runnable onLeave = () -> {};
    Runnable onAnnounce = () -> {};
    private final LocalRegistry registry = new LocalRegistry();

    @Override
    public void join(Peer self) {
        registry.join(self);
    }

    @Override
    public void leave(NodeId node) {
        onLeave.run();
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
        onAnnounce.run();
        registry.announce(written);
    }

    @Override
    public void withdraw(BlockRef evicted) {
        onAnnounce.run();
        registry.withdraw(evicted);
    }
}
