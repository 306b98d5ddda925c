package io.mooncake.cuda.runtime;

import java.lang.foreign.MemorySegment;
import java.util.function.LongUnaryOperator;

/** Memory of a device. Its address is for the device; nothing on the host can read it. */
public final class DeviceMemory extends CudaObject {
    /** Bytes of a handle for other processes. */
    public static final int HANDLE_BYTES = 64;

    private final long bytes;

    /**
     * Reserves memory.
     *
     * @param device whose
     * @param bytes more than 0
     * @throws CudaException when the device has not so much
     */
    public DeviceMemory(Device device, long bytes) {
        super(device, bytes + " bytes", "cudaMalloc", () -> device.runtime().malloc(bytes));
        this.bytes = bytes;
    }

    /**
     * The first byte's.
     *
     * @return an address on the device
     */
    public long address() {
        return handle();
    }

    /**
     * How much it is.
     *
     * @return bytes
     */
    public long bytes() {
        return bytes;
    }

    /**
     * Makes it known to another process, as a whole: see {@link ImportedMemory}. It must not be closed while that one uses it.
     *
     * @param handle receives {@value #HANDLE_BYTES} bytes
     * @throws CudaException when the device can't
     */
    public void exportTo(MemorySegment handle) {
        device.call(() -> device.check(device.runtime().exportMemory(handle(), handle), "cudaIpcGetMemHandle", this));
    }

    @Override
    LongUnaryOperator destroy() {
        return device.runtime()::free;
    }

    @Override
    String destroyCall() {
        return "cudaFree";
    }
}
