package io.mooncake.rdma;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.Memory.DeviceMemory;
import io.mooncake.core.base.Memory.FileMemory;
import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.transfer.Region;

/** Which regions a card can be told of, and what it may do with them. */
final class Reach {
    private Reach() {}

    /** Whether a card can be told of it: host memory, or a device's that says how. */
    static boolean isRegistrable(Region region) {
        return switch (region.memory()) {
            case HostMemory _ -> true;
            case DeviceMemory device -> device.cards() != null;
            case FileMemory _ -> false;
        };
    }

    /** Whether bytes may land in it. */
    static boolean isWritable(Memory memory) {
        return switch (memory) {
            case HostMemory host -> !host.segment().isReadOnly();
            case DeviceMemory device -> device.cards() != null;
            case FileMemory _ -> false;
        };
    }

    /** Whether this process itself can copy into it. */
    static boolean isHost(Region region) {
        return region.memory() instanceof HostMemory;
    }
}
