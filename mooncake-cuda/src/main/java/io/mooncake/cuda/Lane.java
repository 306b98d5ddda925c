package io.mooncake.cuda;

import io.mooncake.cuda.runtime.CudaException;
import io.mooncake.cuda.runtime.Device;
import io.mooncake.cuda.runtime.Event;
import io.mooncake.cuda.runtime.Stream;
import java.util.ArrayDeque;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One stream of one device and the chunks that are queued in it, which end in their order. The agent's; called while the device is the thread's.
 *
 * <p>It never reports a chunk as ended that may still be running: where the runtime does not say, the stream is waited for, and where that
 * fails, too, the device is given up as lost.
 */
final class Lane implements AutoCloseable {
    final Device device;
    final Stream stream;
    private final ArrayDeque<Event> events;
    private final ArrayDeque<Chunk> queued;
    /** Chunks at the head of the queue that have ended for certain, whatever their events say. */
    private int settled;

    Lane(Device device, String name, int priority, int window) {
        this.device = device;
        stream = new Stream(device, name, priority);
        events = new ArrayDeque<>(window);
        queued = new ArrayDeque<>(window);
        try {
            for (int i = 0; i < window; i++) {
                events.add(new Event(device, "event " + i + " of " + name, false));
            }
        } catch (CudaException e) {
            close();
            throw e;
        }
    }

    boolean hasRoom() {
        return !events.isEmpty();
    }

    boolean isIdle() {
        return queued.isEmpty();
    }

    /** The chunk's copies are queued: it ends when they have. */
    void add(Chunk chunk) {
        Event event = events.remove();
        chunk.event = event;
        queued.add(chunk);
        event.record(stream);
    }

    /** The next chunk that has ended; null when none has. Throws when the device is lost: then nobody knows what of them was copied. */
    @Nullable
    Chunk ended() {
        Chunk chunk = queued.peek();
        if (chunk == null) {
            return null;
        }
        device.requireUsable("cudaEventQuery");
        return settled > 0 || hasPassed(chunk) ? take() : null;
    }

    private boolean hasPassed(Chunk chunk) {
        try {
            return Objects.requireNonNull(chunk.event).hasPassed();
        } catch (CudaException e) {
            settle(e);
            return true;
        }
    }

    /** After a failure that leaves open what has been queued: nothing of it runs any more when this returns. */
    void settle(CudaException why) {
        if (device.loss() == null) {
            try {
                stream.synchronize();
            } catch (CudaException e) {
                e.addSuppressed(why);
                device.lose(e);
            }
        }
        settled = queued.size();
        if (device.loss() != null) {
            throw why;
        }
    }

    /** Takes a chunk out, whether or not it has ended: of a lost device, or after the stream was waited for. */
    @Nullable
    Chunk take() {
        Chunk chunk = queued.poll();
        if (chunk != null) {
            settled = Math.max(0, settled - 1);
            events.add(Objects.requireNonNull(chunk.event));
            chunk.event = null;
        }
        return chunk;
    }

    @Override
    public void close() {
        RuntimeException failure = null;
        for (Event event : events) {
            failure = closed(event, failure);
        }
        failure = closed(stream, failure);
        if (failure != null) {
            throw failure;
        }
    }

    private static @Nullable RuntimeException closed(AutoCloseable object, @Nullable RuntimeException before) {
        try {
            object.close();
            return before;
        } catch (Exception e) {
            RuntimeException failure = e instanceof RuntimeException known ? known : new IllegalStateException(e);
            if (before != null) {
                failure.addSuppressed(before);
            }
            return failure;
        }
    }
}
