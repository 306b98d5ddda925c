package io.mooncake.cuda.runtime;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.function.LongUnaryOperator;

/** Host memory that every device copies from and to by itself. Its segment throws after close. */
public final class PinnedMemory extends CudaObject {
    private final Arena arena = Arena.ofShared();
    private final MemorySegment segment;

    /**
     * Allocates memory, filled with zeros.
     *
     * @param device by which; it is as good for every other one
     * @param bytes more than 0
     * @throws CudaException when the system does not let so much be pinned
     */
    public PinnedMemory(Device device, long bytes) {
        super(device, bytes + " pinned bytes", "cudaHostAlloc", () -> device.runtime().hostAlloc(bytes));
        segment = device.runtime().hostMemory(handle(), bytes, arena, () -> {}).fill((byte) 0);
    }

    /**
     * The bytes.
     *
     * @return readable and writable from any thread, until close
     */
    public MemorySegment segment() {
        return segment;
    }

    @Override
    void releaseHost() {
        arena.close();
    }

    @Override
    LongUnaryOperator destroy() {
        return device.runtime()::freeHost;
    }

    @Override
    String destroyCall() {
        return "cudaFreeHost";
    }
}
