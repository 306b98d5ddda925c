package io.mooncake.cuda.runtime;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.function.LongUnaryOperator;

/** Host memory of somebody else's that is pinned: devices copy from and to it by themselves, until this is closed, and it is not freed before. */
public final class HostPin extends CudaObject {
    private final long address;
    private final long bytes;

    /**
     * Pins memory. Slow: every page is backed and locked.
     *
     * @param device by which; it is pinned for every other one, too
     * @param address of the first byte
     * @param bytes more than 0
     * @throws CudaException when a part of it is pinned already, or the system does not let it be
     */
    public HostPin(Device device, long address, long bytes) {
        super(device, bytes + " bytes of host memory at 0x" + Long.toHexString(address), "cudaHostRegister",
                () -> device.runtime().hostRegister(address, bytes));
        this.address = address;
        this.bytes = bytes;
    }

    /**
     * Memory with another life.
     *
     * @param device whose runtime is asked
     * @param memory host memory
     * @param arena the life
     * @param giveBack run at its end
     * @return the same bytes
     */
    public static MemorySegment segment(Device device, MemorySegment memory, Arena arena, Runnable giveBack) {
        return device.runtime().hostMemory(memory.address(), memory.byteSize(), arena, giveBack);
    }

    /**
     * The first byte's.
     *
     * @return an address in the host's memory
     */
    public long address() {
        return address;
    }

    /**
     * How much it is.
     *
     * @return bytes
     */
    public long bytes() {
        return bytes;
    }

    @Override
    LongUnaryOperator destroy() {
        return handle -> device.runtime().hostUnregister(address);
    }

    @Override
    String destroyCall() {
        return "cudaHostUnregister";
    }
}
