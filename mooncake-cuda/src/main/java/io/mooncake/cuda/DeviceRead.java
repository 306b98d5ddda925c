package io.mooncake.cuda;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.Memory.DeviceMemory;
import io.mooncake.core.base.Memory.FileMemory;
import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.cuda.runtime.CudaRuntime.Rows;
import io.mooncake.cuda.runtime.Stream;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** How far a read has come. The agent's. */
final class DeviceRead {
    private static final int HOST = -1;
    /** A file, which only its own engine reads. */
    private static final int NOWHERE = -2;
    /** The runtime takes no wider distance between rows. */
    private static final long MOST_PITCH = Integer.MAX_VALUE;

    final GuardedRead read;
    final ReadSource source;
    final int from;
    final int to;
    /** Bytes whose copies have been queued. */
    long posted;
    /** Chunks that have not ended. */
    int outstanding;
    /** How it is going to end, once nothing of it is outstanding; null = well, so far. */
    @Nullable
    ReadStatus failure;
    @Nullable
    MooncakeException cause;

    DeviceRead(GuardedRead read, ReadSource source) {
        this.read = read;
        this.source = source;
        from = deviceOf(source.memory());
        to = deviceOf(read.destination().memory());
    }

    static int deviceOf(Memory memory) {
        return switch (memory) {
            case DeviceMemory device -> device.device();
            case HostMemory _ -> HOST;
            case FileMemory _ -> NOWHERE;
        };
    }

    /** Each copy is one engine's: that of the device with the bytes, or else of the device that they go to. */
    static boolean isOf(int device, int from, int to) {
        return (from == device && to >= HOST) || (from == HOST && to == device);
    }

    boolean isFromHost() {
        return from == HOST;
    }

    boolean isToHost() {
        return to == HOST;
    }

    /** The first reason counts. */
    void fail(ReadStatus status, @Nullable MooncakeException why) {
        if (failure == null) {
            failure = status;
            cause = why;
        }
    }

    /** Whether it is still wanted, and in time. */
    void look(long nowNs) {
        if (failure != null) {
            return;
        }
        MooncakeException loss = source.loss();
        if (loss != null) {
            fail(ReadStatus.UNREACHABLE, loss);
        } else if (read.isGivenUp()) {
            fail(ReadStatus.CANCELED, null);
        } else if (nowNs - read.deadlineNs() >= 0) {
            fail(ReadStatus.TIMED_OUT, null);
            if (outstanding > 0) {
                read.expire();
            }
        }
    }

    boolean hasMore() {
        return failure == null && posted < read.length();
    }

    /** Bytes whose copies are still to be queued. */
    long left() {
        return read.length() - posted;
    }

    private MemorySegment hostSource() {
        return ((HostMemory) source.memory()).segment();
    }

    private MemorySegment hostDestination() {
        return ((HostMemory) read.destination().memory()).segment();
    }

    long sourceAddress(long position) {
        return source.memory().address() + read.offset() + position;
    }

    /** Whether a device can copy a stretch straight: what is host memory must be pinned, all of it in one part. */
    boolean isPinned(HostPins pins, long position, long length) {
        if (isFromHost() && !pins.contains(sourceAddress(position), length)) {
            return false;
        }
        if (!isToHost()) {
            return true;
        }
        long lowest = Long.MAX_VALUE;
        long highest = 0;
        for (long at = position; at < position + length;) {
            long run = read.runAt(at, position + length - at);
            lowest = Math.min(lowest, read.destinationAt(at));
            highest = Math.max(highest, read.destinationAt(at) + run);
            at += run;
        }
        return pins.contains(read.destination().memory().address() + lowest, highest - lowest);
    }

    /** Host memory to a pinned buffer. */
    void fill(MemorySegment buffer, long position, long length) {
        MemorySegment.copy(hostSource(), read.offset() + position, buffer, 0, length);
    }

    /** A pinned buffer to host memory. */
    void empty(MemorySegment buffer, long position, long length) {
        for (long at = position; at < position + length;) {
            long run = read.runAt(at, position + length - at);
            MemorySegment.copy(buffer, at - position, hostDestination(), read.destinationAt(at), run);
            at += run;
        }
    }

    /** Queues copies of a stretch to where it goes: one call for pages that are as far from each other as the ones before. */
    void queue(Stream stream, long fromAddress, long position, long length) {
        long base = read.destination().memory().address();
        long end = position + length;
        for (long at = position; at < end;) {
            long run = read.runAt(at, end - at);
            long pitch = 0;
            long rows = 1;
            for (long next = at + run; next < end && read.runAt(next, end - next) == run; next += run) {
                long step = read.destinationAt(next) - read.destinationAt(next - run);
                if (rows == 1 ? step < run || step > MOST_PITCH : step != pitch) {
                    break;
                }
                pitch = step;
                rows++;
            }
            long to = base + read.destinationAt(at);
            long first = fromAddress + at - position;
            if (rows == 1) {
                stream.copy(to, first, run);
            } else {
                stream.copy(new Rows(to, pitch, first, run, run, rows));
            }
            at += run * rows;
        }
    }
}
