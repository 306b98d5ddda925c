package io.mooncake.core.manager;

import io.mooncake.core.base.Counters;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.base.Waiter;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.manager.eviction.EvictionPolicy;
import io.mooncake.core.manager.eviction.SlotUse;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.LongSupplier;

import java.util.function.ToLongFunction;

/**
 * What a block manager is made of. Immutable.
 *
 * @param self the node, with its incarnation
 * @param pools space, in the order in which it is used; at least one
 * @param counters the node's
 * @param nanoClock the node's clock
 * @param waiter how allocate and close wait
 * @param knownCounter the highest version counter that the cluster knows for an id, 0 for none; any thread
 * @param allocateTimeoutNs how long allocate waits for a slot, nanoseconds
 * @param cachedBlocks blocks that are kept at most; the conductor evicts beyond
 * @param policy makes a policy for each size class, and there for each tenant that has a share
 * @param shares by {@linkplain BlockId#saltTag() salt}: what part of each tier others never evict of that tenant's blocks; their sum is at
 *     most 1
 */
public record ManagerConfig(NodeId self, List<PoolBinding> pools, Counters counters, LongSupplier nanoClock,
        Waiter waiter,
        ToLongFunction<BlockId> knownCounter, long allocateTimeoutNs, int cachedBlocks,
        Function<SlotUse, EvictionPolicy> policy, Map<Integer, Double> shares) {
    /**
     * Checks the numbers and copies the list.
     *
     * @throws MooncakeException CONFIG_ERROR
     */
    public ManagerConfig {
        pools = List.copyOf(pools);
        shares = Map.copyOf(shares);
        if (pools.isEmpty() || allocateTimeoutNs < 0 || cachedBlocks < 0) {
            throw new MooncakeException(Kind.CONFIG_ERROR, "block manager of " + self + ": " + pools.size()
                    + " pools (at least 1), allocate timeout " + allocateTimeoutNs + " ns and " + cachedBlocks
                    + " cached blocks (not negative)");
        }
    }
}
