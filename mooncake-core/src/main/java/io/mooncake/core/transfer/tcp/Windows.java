package io.mooncake.core.transfer.tcp;

import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.transfer.Region;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import org.agrona.collections.Int2ObjectHashMap;
import org.jspecify.annotations.Nullable;

/**
 * A region as sockets need it: byte buffers, which reach 2 GiB at most, over memory that may be longer. The poller's.
 *
 * <pre>
 *   region   |----------------------------------------------------------- ...
 *   window 0 |=============================|            1 GiB each, starting every 512 MiB:
 *   window 1                |=============================|      any range of up to 512 MiB lies in one of them
 * </pre>
 */
final class Windows {
    private static final int STEP_BITS = 29;
    private static final long WINDOW_BYTES = 2L << STEP_BITS;

    private final Region region;
    private final MemorySegment segment;
    private final @Nullable ByteBuffer[] windows;

    private Windows(Region region, MemorySegment segment) {
        this.region = region;
        this.segment = segment;
        windows = new ByteBuffer[Math.toIntExact(((segment.byteSize() - 1) >> STEP_BITS) + 1)];
    }

    Region region() {
        return region;
    }

    /** A buffer from an offset on that has so many bytes remaining. Valid until the next call. */
    ByteBuffer at(long offset, int bytes) {
        int index = (int) (offset >> STEP_BITS);
        ByteBuffer window = windows[index];
        long start = (long) index << STEP_BITS;
        if (window == null) {
            window = segment.asSlice(start, Math.min(WINDOW_BYTES, segment.byteSize() - start)).asByteBuffer();
            windows[index] = window;
        }
        int from = (int) (offset - start);
        return window.limit(from + bytes).position(from);
    }

    /** The windows of one use, by region. */
    static final class Cache {
        private final Int2ObjectHashMap<Windows> byId = new Int2ObjectHashMap<>();

        /** What is cached for a number that is not closed, else null. */
        @Nullable
        Windows find(int id) {
            Windows windows = byId.get(id);
            return windows == null || windows.region.isClosed() ? null : windows;
        }

        /** The region's windows, made the first time; null when it is no host memory. */
        @Nullable
        Windows of(Region region) {
            Windows windows = byId.get(region.id());
            if (windows == null || windows.region != region) {
                if (!(region.memory() instanceof HostMemory host)) {
                    return null;
                }
                windows = new Windows(region, host.segment());
                byId.put(region.id(), windows);
            }
            return windows;
        }

        /** Forgets closed regions. */
        void sweep() {
            byId.values().removeIf(windows -> windows.region.isClosed());
        }
    }
}
