package io.mooncake.rdma;

import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.transfer.Region;

/** Which regions a card can be told of by address. */
final class HostRegions {
    private HostRegions() {}

    static boolean isHost(Region region) {
        return region.memory() instanceof HostMemory;
    }

    static boolean isWritable(Region region) {
        return region.memory() instanceof HostMemory host && !host.segment().isReadOnly();
    }
}
