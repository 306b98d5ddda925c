package io.mooncake.core.transfer;

import io.mooncake.core.base.NodeId;
import java.util.Map;

/**
 * A node as engines need to know it. Immutable.
 *
 * @param id who, with the incarnation that must answer
 * @param addresses where each engine is reached, in its own text form, by the engine's name: {@code tcp} to {@code host:port}
 */
public record Peer(NodeId id, Map<String, String> addresses) {
    /** Copies the map. */
    public Peer {
        addresses = Map.copyOf(addresses);
    }
}
