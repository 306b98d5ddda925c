package io.mooncake.core.transfer;

import io.mooncake.core.base.NodeId;
import io.mooncake.core.base.Site;
import java.util.Map;

/**
 * A node as others need to know it. Immutable.
 *
 * @param id who, with the incarnation that must answer
 * @param addresses where each engine is reached, in its own text form, by the engine's name: {@code tcp} to {@code host:port}
 * @param site where it runs, as far as it said
 */
public record Peer(NodeId id, Map<String, String> addresses, Site site) {
    /** Copies the map. */
    public Peer {
        addresses = Map.copyOf(addresses);
    }

    /**
     * A node of which nobody said where it runs.
     *
     * @param id who, with the incarnation that must answer
     * @param addresses where each engine is reached
     */
    public Peer(NodeId id, Map<String, String> addresses) {
        this(id, addresses, Site.UNKNOWN);
    }
}
