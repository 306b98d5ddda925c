package io.mooncake.core.sim;

import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.registry.NodeSpace;
import io.mooncake.core.registry.Registry;
import io.mooncake.testing.ForwardingRegistry;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A node's registry; remembers what the node said since it was looked at last. */
final class WatchedRegistry extends ForwardingRegistry {
    final List<BlockRef> announced = new ArrayList<>();
    final List<BlockRef> withdrawn = new ArrayList<>();

    private final Registry registry;
    private final boolean tellsRoom;

    /** Whether the nodes tell each other what room they have is a matter of the world: its dice fall otherwise then. */
    WatchedRegistry(Registry registry, boolean tellsRoom) {
        super(registry);
        this.registry = registry;
        this.tellsRoom = tellsRoom;
    }

    @Override
    public void announce(NodeSpace space) {
        if (tellsRoom) {
            registry.announce(space);
        }
    }

    @Override
    public @Nullable NodeSpace space(NodeId node) {
        return registry.space(node);
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
