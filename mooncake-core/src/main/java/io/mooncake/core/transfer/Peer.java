package io.mooncake.core.transfer;

import io.mooncake.core.base.Endpoint;
import io.mooncake.core.base.NodeId;
import java.util.Map;

/**
 * A node as engines need to know it. Immutable.
 *
 * @param id who, with the incarnation that must answer
 * @param endpoints where each engine listens, by the engine's name
 */
public record Peer(NodeId id, Map<String, Endpoint> endpoints) {
    /** Copies the map. */
    public Peer {
        endpoints = Map.copyOf(endpoints);
    }
}
