package io.mooncake.core;

import io.mooncake.core.base.NodeId;
import io.mooncake.core.schedule.ClusterView;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** Reads outstanding at each node, and what reading from it costs: what the scheduler may know. Any thread. */
final class PeerLoads implements ClusterView {
    private static final long REMOTE_COST = 1;
    private static final int MAX_NODES = 4096;

    private final NodeId self;
    private final ConcurrentHashMap<NodeId, AtomicInteger> loads = new ConcurrentHashMap<>();

    PeerLoads(NodeId self) {
        this.self = self;
    }

    void add(NodeId node, int reads) {
        AtomicInteger load = loads.get(node);
        if (load == null) {
            if (loads.size() >= MAX_NODES) {
                // Process lives that ended long ago; a load that is lost so in a race is a hint less.
                loads.values().removeIf(idle -> idle.get() == 0);
            }
            load = loads.computeIfAbsent(node, id -> new AtomicInteger());
        }
        load.addAndGet(reads);
    }

    @Override
    public NodeId self() {
        return self;
    }

    @Override
    public long cost(NodeId node) {
        return node.equals(self) ? 0 : REMOTE_COST;
    }

    @Override
    public int load(NodeId node) {
        AtomicInteger load = loads.get(node);
        return load == null ? 0 : load.get();
    }
}
