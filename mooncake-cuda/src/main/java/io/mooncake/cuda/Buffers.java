package io.mooncake.cuda;

import io.mooncake.cuda.runtime.Device;
import io.mooncake.cuda.runtime.PinnedMemory;
import java.lang.foreign.MemorySegment;

/** Pinned places that chunks go by whose host memory is not pinned, or whose devices can't reach each other. The agent's. */
final class Buffers implements AutoCloseable {
    private final PinnedMemory memory;
    private final long bytes;
    private final int[] free;
    private int freeCount;

    Buffers(Device device, int places, long bytes) {
        this.bytes = bytes;
        memory = new PinnedMemory(device, places * bytes);
        free = new int[places];
        for (int i = places - 1; i >= 0; i--) {
            free[freeCount++] = i;
        }
    }

    boolean hasRoom() {
        return freeCount > 0;
    }

    int take() {
        return free[--freeCount];
    }

    void give(int place) {
        free[freeCount++] = place;
    }

    MemorySegment segment(int place) {
        return memory.segment().asSlice(place * bytes, bytes);
    }

    long address(int place) {
        return memory.segment().address() + place * bytes;
    }

    @Override
    public void close() {
        memory.close();
    }
}
