package io.mooncake.cuda;

import io.mooncake.core.transfer.Priority;
import io.mooncake.cuda.runtime.CudaException;
import io.mooncake.cuda.runtime.Device;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The streams of one engine: for loads and for background reads one each to the device, from it, and across; and one on each device that is
 * reached by the host only. Directions have copy engines of their own, so none waits for another.
 */
final class Lanes implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Lanes.class);
    /** Lower numbers go first; 0 is what streams have by themselves. */
    private static final int URGENT = -1;

    private enum Direction {
        UP, DOWN, ACROSS
    }

    private final List<Lane> all = new ArrayList<>();
    /** By priority and direction. */
    private final Lane[] own;
    /** By device. */
    private final @Nullable Lane[] onward;

    /**
     * Makes them all: nothing is made on the data path.
     *
     * @param places chunks that can be on their way by buffers
     */
    Lanes(CudaDevices devices, Device device, int places) {
        int window = devices.config().window();
        own = new Lane[Priority.values().length * Direction.values().length];
        onward = new @Nullable Lane[devices.count()];
        try {
            for (Priority priority : Priority.values()) {
                for (Direction direction : Direction.values()) {
                    own[index(priority, direction)] = added(device, priority + " " + direction,
                            priority == Priority.LOAD ? URGENT : 0, window);
                }
            }
            for (int other = 0; other < onward.length; other++) {
                if (!devices.isDirect(device.number(), other)) {
                    onward[other] = onward(devices.device(other), device, places);
                }
            }
        } catch (CudaException e) {
            close();
            throw e;
        }
    }

    /** Null where the other device is lost, of which this one may not have heard yet. */
    private @Nullable Lane onward(Device other, Device from, int places) {
        try {
            return other.loss() == null ? added(other, "onward from " + from, 0, places) : null;
        } catch (CudaException e) {
            if (other.loss() == null) {
                throw e;
            }
            LOG.warn("{} is lost, and nothing goes there from {}", other, from, e);
            return null;
        }
    }

    private Lane added(Device device, String name, int priority, int window) {
        Lane lane = new Lane(device, name, priority, window);
        all.add(lane);
        return lane;
    }

    private static int index(Priority priority, Direction direction) {
        return priority.ordinal() * Direction.values().length + direction.ordinal();
    }

    List<Lane> all() {
        return all;
    }

    boolean areIdle() {
        for (Lane lane : all) {
            if (!lane.isIdle()) {
                return false;
            }
        }
        return true;
    }

    /** Where the next chunk of a read goes. */
    Lane of(DeviceRead read, boolean straightAcross) {
        Direction direction = read.isFromHost() ? Direction.UP : straightAcross ? Direction.ACROSS : Direction.DOWN;
        return own[index(read.read.priority(), direction)];
    }

    /** Where a chunk goes on from a buffer; only of devices that are not reached directly. */
    Lane onwardTo(int device) {
        Lane lane = onward[device];
        if (lane == null) {
            throw new IllegalStateException("device " + device + " is reached directly");
        }
        return lane;
    }

    /** Waits until nothing runs any more, on every device but one that is lost. */
    void settle(@Nullable Device lost) {
        for (Lane lane : all) {
            if (lane.isIdle() || (lost != null && lane.device.number() == lost.number())) {
                continue;
            }
            try {
                lane.stream.synchronize();
            } catch (CudaException e) {
                LOG.warn("{} failed while it was waited for", lane.stream, e);
                lane.device.lose(e);
            }
        }
    }

    @Override
    public void close() {
        for (Lane lane : all) {
            try {
                lane.close();
            } catch (RuntimeException e) {
                LOG.warn("{} was not given back", lane.stream, e);
            }
        }
    }
}
