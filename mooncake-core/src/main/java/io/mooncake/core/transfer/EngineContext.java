package io.mooncake.core.transfer;

import io.mooncake.core.base.Counters;
import io.mooncake.core.base.NodeId;
import java.util.function.LongSupplier;

/**
 * What a node gives to each of its engines.
 *
 * @param self the node
 * @param cluster the cluster's name; peers of another are refused
 * @param regions the node's memory
 * @param guards pins and guards of the node's blocks
 * @param counters the node's counters
 * @param nanoClock the node's clock
 * @param control the node's control messages: where engines bring those that arrived
 */
public record EngineContext(NodeId self, String cluster, RegionTable regions, GuardSource guards, Counters counters,
        LongSupplier nanoClock, ControlChannel control) {
    /** A control message's bytes at most. */
    public static final int MAX_MESSAGE_BYTES = 64 * 1024;
    /** A chunk's bytes at most: the unit of pinning, of fairness and of proof. */
    public static final int MAX_CHUNK_BYTES = 1 << 20;
}
