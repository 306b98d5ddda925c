package io.mooncake.core.transfer;

/**
 * How an engine stands to one region of one peer at this moment: the facts that a way is chosen by. Immutable; engines give the same objects
 * again and again.
 *
 * @param locality how far the engine's bytes travel
 * @param registered whether the engine can read from that region
 * @param health how it fares with that peer
 * @param worthwhileBytes shorter reads are as well served by another engine
 * @param reason the same in words, for people
 */
public record Route(Locality locality, boolean registered, Health health, long worthwhileBytes,
        String reason) {
    /**
     * Of an engine that is as good for short reads as for long ones.
     *
     * @param locality how far the engine's bytes travel
     * @param registered whether the engine can read from that region
     * @param health how it fares with that peer
     * @param reason the same in words, for people
     */
    public Route(Locality locality, boolean registered, Health health, String reason) {
        this(locality, registered, health, 0, reason);
    }

    private static final Route ADDRESS_KNOWN = new Route(Locality.NETWORK, true, Health.READY, "its address is known");
    private static final Route NO_ADDRESS = new Route(Locality.NETWORK, false, Health.NONE,
            "the node has no address for it");

    /**
     * Of an engine between hosts that knows no more than whether it has an address of the peer.
     *
     * @param known whether it has
     * @return one of two objects
     */
    public static Route byAddress(boolean known) {
        return known ? ADDRESS_KNOWN : NO_ADDRESS;
    }

    /** How far bytes travel, the shortest way first. */
    public enum Locality {
        /** Inside the process. */
        NODE,
        /** Inside the host. */
        HOST,
        /** Between hosts, or as if. */
        NETWORK
    }

    /** How an engine fares with a peer, the best first. */
    public enum Health {
        /** It reaches the peer, or has no reason to doubt it. */
        READY,
        /** It failed a moment ago and may fail again. */
        FAILING,
        /** Being found out. */
        UNKNOWN,
        /** No way there. */
        NONE
    }
}
