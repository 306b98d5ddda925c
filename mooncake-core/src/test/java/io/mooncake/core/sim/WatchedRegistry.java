package io.mooncake.core.sim;

import io.mooncake.core.block.BlockRef;
import io.mooncake.core.registry.Registry;
import io.mooncake.testing.ForwardingRegistry;
import java.util.ArrayList;
import java.util.List;

/** A node's registry; remembers what the node said since it was looked at last. */
final class WatchedRegistry extends ForwardingRegistry {
    final List<BlockRef> announced = new ArrayList<>();
    final List<BlockRef> withdrawn = new ArrayList<>();

    WatchedRegistry(Registry registry) {
        super(registry);
    }

    @Override
    public void announce(BlockRef written) {
        announced.add(written);
        super.announce(written);
    }

    @Override
    public void withdraw(BlockRef evicted) {
        withdrawn.add(evicted);
        super.withdraw(evicted);
    }
}
