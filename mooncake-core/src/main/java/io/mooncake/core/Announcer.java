package io.mooncake.core;

import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.manager.BlockListener;
import io.mooncake.core.registry.Registry;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Tells the registry and the listeners what became of this node's blocks, by the conductor. */
final class Announcer implements BlockListener {
    private static final Logger LOG = LoggerFactory.getLogger(Announcer.class);

    private final NodeId self;
    private final Registry registry;
    private final BlockEvents events;
    private final Runnable wakeConductor;

    Announcer(NodeId self, Registry registry, BlockEvents events, Runnable wakeConductor) {
        this.self = self;
        this.registry = registry;
        this.events = events;
        this.wakeConductor = wakeConductor;
    }

    @Override
    public void onWritten(BlockRef ref, boolean forOthers) {
        try {
            if (forOthers) {
                registry.announce(ref);
            }
        } catch (RuntimeException e) {
            registryThrew(ref, e);
        }
        events.raise(BlockEvent.Kind.WRITTEN, ref,
                ref.version().writer() == self.incarnation() ? "it was written here" : "it was copied here");
    }

    @Override
    public void onEvicted(BlockRef ref, @Nullable BlockRef left, EvictReason reason) {
        try {
            if (left != null) {
                // In place of the one that goes: there is one a node.
                registry.announce(left);
            } else {
                registry.withdraw(ref);
            }
        } catch (RuntimeException e) {
            registryThrew(ref, e);
        }
        events.raise(BlockEvent.Kind.EVICTED, ref, switch (reason) {
            case POLICY -> "room was needed, and it was not used for longer than others";
            case REQUESTED -> "somebody asked for it, or the node closes";
            case REPLACED -> "a higher version took its place";
        });
    }

    @Override
    public void onMoved(BlockRef from, BlockRef to) {
        try {
            // In place of the other.
            registry.announce(to);
        } catch (RuntimeException e) {
            registryThrew(to, e);
        }
    }

    /** The slot's way goes on: a registry is a hint, and one that is behind costs a retry. */
    private void registryThrew(BlockRef ref, RuntimeException e) {
        LOG.error("node {}: the registry threw at {}: other nodes know it wrongly", self, ref, e);
    }

    @Override
    public void onDue() {
        wakeConductor.run();
    }
}
