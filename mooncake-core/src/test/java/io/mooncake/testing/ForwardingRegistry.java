package io.mooncake.testing;

import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.registry.MemberChange;
import io.mooncake.core.registry.PairFigures;
import io.mooncake.core.registry.Registry;
import io.mooncake.core.registry.RegistryStatus;
import io.mooncake.core.transfer.ControlChannel;
import io.mooncake.core.transfer.Peer;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A registry that asks another one; a test overrides what it wants to see, or to happen otherwise. */
public abstract class ForwardingRegistry implements Registry {
    private final Registry registry;

    /** Of another registry. */
    protected ForwardingRegistry(Registry registry) {
        this.registry = registry;
    }

    @Override
    public NodeId begin(NodeId proposed) {
        return registry.begin(proposed);
    }

    @Override
    public void watch(Consumer<? super MemberChange> listener) {
        registry.watch(listener);
    }

    @Override
    public void carriedBy(ControlChannel control) {
        registry.carriedBy(control);
    }

    @Override
    public RegistryStatus status() {
        return registry.status();
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
        registry.announce(written);
    }

    @Override
    public void announce(PairFigures measured) {
        registry.announce(measured);
    }

    @Override
    public List<PairFigures> figures() {
        return registry.figures();
    }

    @Override
    public void withdraw(BlockRef evicted) {
        registry.withdraw(evicted);
    }
}
