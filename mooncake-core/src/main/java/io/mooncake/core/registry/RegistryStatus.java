package io.mooncake.core.registry;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How a registry fares. Immutable.
 *
 * @param address where other processes find this one, {@code host:port}; null where there are none
 * @param members lives that are members, this node's included
 * @param rejoins how often this node was apart from others, who may have declared it dead, and came back
 * @param troubles what keeps it from knowing the cluster, in words; empty when nothing does
 */
public record RegistryStatus(@Nullable String address, int members, long rejoins, List<String> troubles) {
    /** Copies the list. */
    public RegistryStatus {
        troubles = List.copyOf(troubles);
    }
}
