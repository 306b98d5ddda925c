package io.mooncake.core;

import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.testing.ForwardingRegistry;

/** A registry that runs what a test wants before it does what it is told. */
final class HookedRegistry extends ForwardingRegistry {
    Runnable onLeave = () -> {};
    Runnable onAnnounce = () -> {};

    HookedRegistry() {
        super(new LocalRegistry());
    }

    @Override
    public void leave(NodeId node) {
        onLeave.run();
        super.leave(node);
    }

    @Override
    public void announce(BlockRef written) {
        onAnnounce.run();
        super.announce(written);
    }

    @Override
    public void withdraw(BlockRef evicted) {
        onAnnounce.run();
        super.withdraw(evicted);
    }
}
