package io.mooncake.cuda;

import io.mooncake.core.base.Memory;
import io.mooncake.cuda.runtime.Device;
import io.mooncake.cuda.runtime.PinnedMemory;
import io.mooncake.cuda.runtime.Stream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** Device memory read and written for a test, on a real device, too. */
final class DeviceBytes {
    private DeviceBytes() {}

    /** A copy in host memory. */
    static MemorySegment read(Device device, Memory.DeviceMemory memory) {
        MemorySegment copy = Arena.ofAuto().allocate(memory.length());
        move(device, memory.address(), copy, false);
        return copy;
    }

    /** Host memory to the device. */
    static void write(Device device, Memory.DeviceMemory memory, MemorySegment bytes) {
        move(device, memory.address(), bytes, true);
    }

    private static void move(Device device, long address, MemorySegment host, boolean toDevice) {
        try (PinnedMemory pinned = new PinnedMemory(device, host.byteSize());
                Stream stream = new Stream(device, "test", 0)) {
            long between = pinned.segment().address();
            if (toDevice) {
                pinned.segment().copyFrom(host);
            }
            stream.copy(toDevice ? address : between, toDevice ? between : address, host.byteSize());
            stream.synchronize();
            if (!toDevice) {
                host.copyFrom(pinned.segment());
            }
        }
    }
}
