package io.mooncake.cuda;

import io.mooncake.core.base.ByteSize;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.pool.MemorySource;
import io.mooncake.cuda.runtime.CudaException;
import io.mooncake.cuda.runtime.Device;
import io.mooncake.cuda.runtime.HostPin;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Host memory that is pinned for the devices, in parts, within a limit. Any thread. */
final class HostPins {
    /** One call pins so much at most: pinning takes about a quarter of a second a GiB, and what does not go through is undone at once. */
    static final long PART_BYTES = 1L << 30;
    private static final Logger LOG = LoggerFactory.getLogger(HostPins.class);

    private final Device device;
    private final long limit;
    private final AtomicLong pinned = new AtomicLong();
    private final PinnedRanges ranges = new PinnedRanges();

    HostPins(Device device, long limit) {
        this.device = device;
        this.limit = limit;
    }

    /** Whether a copy from or to it needs no buffer. */
    boolean contains(long address, long bytes) {
        return ranges.contains(address, bytes);
    }

    /** Pins all of it or nothing. */
    Pinned pin(long address, long bytes) {
        Pinned pin = new Pinned(bytes);
        try {
            pin.take(address);
            return pin;
        } catch (RuntimeException | Error e) {
            pin.close();
            throw e;
        }
    }

    MemorySegment reserve(MemorySource source, long bytes, long alignment, Arena arena) {
        Pinned pin = new Pinned(bytes);
        try {
            MemorySegment memory = source.reserve(bytes, alignment, pin.memory);
            pin.take(memory.address());
            return HostPin.segment(device, memory, arena, pin::close);
        } catch (RuntimeException | Error e) {
            pin.close();
            throw e;
        }
    }

    /** The parts of one piece of memory. */
    final class Pinned implements CudaDevices.Pin {
        private final long bytes;
        private final Deque<HostPin> parts = new ArrayDeque<>();
        /** Of the memory itself, where it was reserved for this. */
        private final Arena memory = Arena.ofShared();
        private boolean counted;
        private boolean closed;

        private Pinned(long bytes) {
            this.bytes = bytes;
        }

        private void take(long address) {
            long before = pinned.getAndAdd(bytes);
            counted = true;
            if (bytes > limit - before) {
                throw new MooncakeException(Kind.OUT_OF_MEMORY, "cannot pin " + ByteSize.rounded((double) bytes)
                        + ": with " + ByteSize.rounded((double) before) + " pinned before it passes cuda.pinLimit = "
                        + ByteSize.rounded((double) limit) + ": raise it, or make the pool smaller");
            }
            try {
                for (long at = 0; at < bytes; at += PART_BYTES) {
                    HostPin part = new HostPin(device, address + at, Math.min(PART_BYTES, bytes - at));
                    parts.add(part);
                    ranges.add(part.address(), part.bytes());
                }
            } catch (CudaException e) {
                throw new MooncakeException(e.asMooncake().kind(), "cannot pin " + ByteSize.rounded((double) bytes)
                        + " of host memory: " + e.getMessage()
                        + "; pinned memory must fit into the machine's, and into the container's limit", e);
            }
        }

        @Override
        public synchronized void close() {
            if (closed) {
                return;
            }
            closed = true;
            for (HostPin part : parts) {
                ranges.remove(part.address());
                try {
                    part.close();
                } catch (CudaException e) {
                    LOG.warn("{} stays pinned until the process ends", part, e);
                }
            }
            pinned.addAndGet(counted ? -bytes : 0);
            memory.close();
        }
    }
}
