package io.mooncake.cuda.runtime;

import java.lang.foreign.MemorySegment;
import java.util.function.LongUnaryOperator;

/** Memory of a device that another process of this host reserved. Its address is for the device, and another one than there. */
public final class ImportedMemory extends CudaObject {
    /**
     * Opens it.
     *
     * @param device of this process, which reads it
     * @param handle of {@link DeviceMemory#exportTo}; of an allocation as a whole, so a part is found by its offset
     * @throws CudaException when the exporter is gone, or is this process, or the device can't reach it
     */
    public ImportedMemory(Device device, MemorySegment handle) {
        super(device, "memory of another process", "cudaIpcOpenMemHandle",
                () -> device.runtime().importMemory(handle));
    }

    /**
     * The first byte's of the allocation.
     *
     * @return an address on the device
     */
    public long address() {
        return handle();
    }

    @Override
    LongUnaryOperator destroy() {
        return device.runtime()::closeImported;
    }

    @Override
    String destroyCall() {
        return "cudaIpcCloseMemHandle";
    }
}
