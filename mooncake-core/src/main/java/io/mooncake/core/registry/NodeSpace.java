package io.mooncake.core.registry;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.PoolSpace;
import java.util.List;

/**
 * What room a node has, as it said last: what placements go by. A hint, a second old or more; whether there is room is said by the reservation.
 * Immutable.
 *
 * @param node whose
 * @param pools its pools, in the order of preference
 */
public record NodeSpace(NodeId node, List<PoolSpace> pools) {
    /** Pools at most. */
    public static final int MAX_POOLS = 64;

    /**
     * Copies the list.
     *
     * @throws MooncakeException INVALID_ARGUMENT for too many pools
     */
    public NodeSpace {
        pools = List.copyOf(pools);
        if (pools.size() > MAX_POOLS) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT,
                    pools.size() + " pools of node " + node + ": at most " + MAX_POOLS + " can be announced");
        }
    }
}
