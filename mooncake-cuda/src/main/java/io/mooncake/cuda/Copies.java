package io.mooncake.cuda;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.GuardSource;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.cuda.runtime.CudaException;
import io.mooncake.cuda.runtime.Device;
import java.util.ArrayDeque;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The chunks of a device's agent: each is pinned, queued in a stream, and proven when it has been copied. A chunk whose host memory is not
 * pinned, or whose devices don't reach each other, goes by a pinned buffer. The agent's; called while the device is the thread's.
 */
final class Copies {
    private static final Logger LOG = LoggerFactory.getLogger(Copies.class);

    private final EngineContext context;
    private final CudaDevices devices;
    private final Device device;
    private final ArrayDeque<Chunk> freeChunks = new ArrayDeque<>();
    private final Lanes lanes;
    private final Buffers buffers;
    private final long chunkBytes;
    private boolean saidStaged;

    Copies(EngineContext context, CudaDevices devices, Device device) {
        this.context = context;
        this.devices = devices;
        this.device = device;
        chunkBytes = devices.config().chunkBytes();
        int places = 2 * devices.config().window();
        buffers = new Buffers(device, places, chunkBytes);
        try {
            lanes = new Lanes(devices, device, places);
        } catch (CudaException e) {
            buffers.close();
            throw e;
        }
    }

    boolean areIdle() {
        return lanes.areIdle();
    }

    /** Of no bytes the guard is all there is. */
    void proveNothing(DeviceRead read) {
        Chunk chunk = new Chunk();
        if (pin(read, chunk)) {
            prove(read, chunk);
        }
    }

    // ---- queueing

    /** Queues the next chunk, where there is room; how much was done. */
    int post(DeviceRead read) {
        boolean across = !read.isFromHost() && !read.isToHost();
        long length = Math.min(chunkBytes, read.read.length() - read.posted);
        boolean staged = across
                ? !devices.isDirect(read.from, read.to)
                : !read.isPinned(devices.pins(), read.posted, length);
        Lane lane = lanes.of(read, across && !staged);
        if (!lane.hasRoom() || (staged && !buffers.hasRoom())) {
            return 0;
        }
        Chunk chunk = freeChunks.isEmpty() ? new Chunk() : freeChunks.remove();
        chunk.read = read;
        chunk.position = read.posted;
        chunk.length = length;
        if (!pin(read, chunk)) {
            freeChunks.add(chunk);
            return 1;
        }
        if (staged) {
            chunk.place = buffers.take();
            countStaged(read, length);
        }
        chunk.goesOn = staged && across;
        read.outstanding++;
        read.posted += length;
        queue(read, chunk, lane);
        return 1;
    }

    private void queue(DeviceRead read, Chunk chunk, Lane lane) {
        try {
            copy(read, chunk, lane);
        } catch (CudaException e) {
            // A part of it may have been queued.
            fail(read, e);
            try {
                lane.settle(e);
            } finally {
                finish(read, chunk);
            }
            return;
        } catch (RuntimeException e) {
            read.fail(ReadStatus.REFUSED, freed(read, e));
            finish(read, chunk);
            return;
        }
        add(chunk, lane);
    }

    /** The chunk's copies have been queued: whatever goes wrong now, it ends like the others. */
    private static void add(Chunk chunk, Lane lane) {
        try {
            lane.add(chunk);
        } catch (CudaException e) {
            lane.settle(e);
        }
    }

    private void copy(DeviceRead read, Chunk chunk, Lane lane) {
        if (chunk.place == Chunk.NO_PLACE) {
            read.queue(lane.stream, read.sourceAddress(chunk.position), chunk.position, chunk.length);
        } else if (read.isFromHost()) {
            read.fill(buffers.segment(chunk.place), chunk.position, chunk.length);
            read.queue(lane.stream, buffers.address(chunk.place), chunk.position, chunk.length);
        } else {
            lane.stream.copy(buffers.address(chunk.place), read.sourceAddress(chunk.position), chunk.length);
        }
    }

    private static void fail(DeviceRead read, CudaException why) {
        read.fail(why.isFatal() ? ReadStatus.UNREACHABLE : ReadStatus.REFUSED, why.asMooncake());
    }

    private static MooncakeException freed(DeviceRead read, RuntimeException why) {
        return new MooncakeException(Kind.ILLEGAL_STATE, read.read + " into " + read.read.destination()
                + ": memory was freed before its region was closed", why);
    }

    private void countStaged(DeviceRead read, long bytes) {
        context.counters().add(Counter.BYTES_STAGED, bytes);
        if (!saidStaged) {
            saidStaged = true;
            LOG.info("copies like {} into {} go by pinned buffers: {}", read.read, read.read.destination(),
                    read.isFromHost() || read.isToHost()
                            ? "that host memory is not pinned; CudaDevices.pin() makes them faster"
                            : "the two devices do not reach each other, or not faster");
        }
    }

    // ---- ending

    /** Takes what the devices have done. Throws when this one is lost. */
    int end() {
        int ended = 0;
        for (Lane lane : lanes.all()) {
            try {
                for (Chunk chunk; (chunk = lane.ended()) != null; ended++) {
                    ended(Objects.requireNonNull(chunk.read), chunk);
                }
            } catch (CudaException e) {
                if (lane.device.number() == device.number()) {
                    throw e;
                }
                ended += drop(lane);
            }
        }
        return ended;
    }

    private void ended(DeviceRead read, Chunk chunk) {
        prove(read, chunk);
        read.look(context.nanoClock().getAsLong());
        if (read.failure == null && chunk.place != Chunk.NO_PLACE) {
            if (chunk.goesOn) {
                chunk.goesOn = false;
                sendOn(read, chunk);
                return;
            }
            if (read.isToHost()) {
                empty(read, chunk);
            }
        }
        if (read.failure == null) {
            read.read.received += chunk.length;
        }
        finish(read, chunk);
    }

    private void empty(DeviceRead read, Chunk chunk) {
        try {
            read.empty(buffers.segment(chunk.place), chunk.position, chunk.length);
        } catch (RuntimeException e) {
            read.fail(ReadStatus.REFUSED, freed(read, e));
        }
    }

    /** From the buffer to the other device, in a stream of that one; when that is lost, this one goes on. */
    private void sendOn(DeviceRead read, Chunk chunk) {
        Lane onward = lanes.onwardTo(read.to);
        if (onward.device.loss() != null) {
            read.fail(ReadStatus.UNREACHABLE, onward.device.lossForUsers());
            finish(read, chunk);
            return;
        }
        try {
            sendOn(read, chunk, onward);
        } catch (CudaException e) {
            LOG.error("{} is lost: {}", onward.device, e.getMessage());
            drop(onward);
        }
    }

    private void sendOn(DeviceRead read, Chunk chunk, Lane onward) {
        try {
            read.queue(onward.stream, buffers.address(chunk.place), chunk.position, chunk.length);
        } catch (CudaException e) {
            fail(read, e);
            try {
                onward.settle(e);
            } finally {
                finish(read, chunk);
            }
            return;
        }
        add(chunk, onward);
    }

    /** Ends the pin; the bytes count only if the guard, read after them, is the one expected. */
    private void prove(DeviceRead read, Chunk chunk) {
        if (chunk.pin == Chunk.NO_PIN) {
            return;
        }
        if (!read.source.proves(read.read, chunk.pin)) {
            read.fail(ReadStatus.STALE, null);
        }
        unpin(read, chunk);
    }

    private boolean pin(DeviceRead read, Chunk chunk) {
        long pin = read.source.pin(read.read, chunk.position, chunk.length);
        if (pin < 0) {
            boolean stale = pin == GuardSource.STALE;
            read.fail(stale ? ReadStatus.STALE : ReadStatus.REFUSED, stale
                    ? null
                    : new MooncakeException(Kind.OUT_OF_BOUNDS,
                            read.read + ": no block stands there, or it is shorter"));
            return false;
        }
        chunk.pin = pin;
        return true;
    }

    private void unpin(DeviceRead read, Chunk chunk) {
        if (chunk.pin == Chunk.NO_PIN) {
            return;
        }
        read.source.unpin(chunk.pin);
        chunk.pin = Chunk.NO_PIN;
    }

    /** Nothing of the chunk runs any more. */
    private void finish(DeviceRead read, Chunk chunk) {
        unpin(read, chunk);
        if (chunk.place != Chunk.NO_PLACE) {
            buffers.give(chunk.place);
            chunk.place = Chunk.NO_PLACE;
        }
        chunk.goesOn = false;
        chunk.read = null;
        read.outstanding--;
        freeChunks.add(chunk);
    }

    // ---- when a device is lost, and at the end

    /** The lane's device is lost, or its stream was waited for: its chunks' reads fail. */
    private int drop(Lane lane) {
        int dropped = 0;
        for (Chunk chunk; (chunk = lane.take()) != null; dropped++) {
            DeviceRead read = Objects.requireNonNull(chunk.read);
            if (lane.device.loss() != null) {
                read.fail(ReadStatus.UNREACHABLE, lane.device.lossForUsers());
            }
            finish(read, chunk);
        }
        return dropped;
    }

    /** Waits for what still runs, but not on a lost device, and takes all chunks back. */
    void dropAll(@Nullable Device lost) {
        lanes.settle(lost);
        lanes.all().forEach(this::drop);
    }

    void close() {
        lanes.close();
        try {
            buffers.close();
        } catch (CudaException e) {
            LOG.warn("the buffers of {} were not given back", device, e);
        }
    }
}
