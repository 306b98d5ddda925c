package io.mooncake.core;

import io.mooncake.core.base.Endpoint;
import java.util.List;
import java.util.Optional;

/**
 * How a node fares, at one moment. Immutable.
 *
 * @param state what can be relied on
 * @param members live nodes that are known, this one included
 * @param rejoins how often this node was apart from others, who may have declared it dead, and came back
 * @param clusterAddress where nodes of other processes find this one; empty where there are none
 * @param troubles everything that is not as it should be, in words
 */
public record NodeHealth(State state, int members, long rejoins, Optional<Endpoint> clusterAddress,
        List<String> troubles) {
    /** What can be relied on. */
    public enum State {
        /** Everything. */
        OK,
        /** The node's own blocks, and what it knows of others; the cluster is not known as it is now. */
        DEGRADED,
        /** Nothing: the node is closed, or stopped by itself. */
        STOPPED
    }

    /** Copies the list. */
    public NodeHealth {
        troubles = List.copyOf(troubles);
    }
}
