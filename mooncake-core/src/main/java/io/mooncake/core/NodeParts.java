package io.mooncake.core;

import io.mooncake.core.base.Counters;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.manager.BlockManager;
import io.mooncake.core.registry.Registry;
import io.mooncake.core.schedule.ClusterView;
import io.mooncake.core.schedule.Scheduler;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.TransferEngine;
import org.jspecify.annotations.Nullable;

/** What transfers in flight need of their node. */
interface NodeParts {
    NodeId id();

    long nowNs();

    boolean isClosing();

    Registry registry();

    Scheduler scheduler();

    ClusterView view();

    PeerLoads loads();

    BlockManager blocks();

    Conductor conductor();

    BlockEvents events();

    Counters counters();

    /** The first engine that reaches the peer: they stand in the order of preference. */
    @Nullable
    TransferEngine engineTo(Peer peer);
}
