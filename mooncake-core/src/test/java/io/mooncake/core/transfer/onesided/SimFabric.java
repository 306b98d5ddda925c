package io.mooncake.core.transfer.onesided;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.Memory.DeviceMemory;
import io.mooncake.core.base.Memory.FileMemory;
import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.Peer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** One node's end of the {@link SimNetwork}. A completion queue that overflows fails the test. */
public final class SimFabric implements Fabric {
    /** The engine's name. */
    public static final String NAME = "sim";

    private final SimNetwork network;
    private final EngineContext context;
    private final FabricLimits limits;
    private final List<SimLane> lanes = new ArrayList<>();
    private final ArrayDeque<SimRequest> completed = new ArrayDeque<>();
    private final ArrayDeque<SimRequest> echoes = new ArrayDeque<>();
    private final ArrayDeque<Runnable> notices = new ArrayDeque<>();
    private int posted;
    private int highest;
    private boolean dead;

    SimFabric(SimNetwork network, EngineContext context, FabricLimits limits) {
        this.network = network;
        this.context = context;
        this.limits = limits;
    }

    /** Most requests that counted against the completion queue at once. */
    public int highestPosted() {
        return highest;
    }

    /** Requests that count against the completion queue. */
    public int posted() {
        return posted;
    }

    /** This node's lanes that are open. */
    public void openLanes(List<SimLane> open) {
        lanes.stream().filter(SimLane::isOpen).forEach(open::add);
    }

    /** This node's lanes, in the order in which they were made, but for those destroyed. */
    public List<SimLane> lanes() {
        return List.copyOf(lanes);
    }

    NodeId self() {
        return context.self();
    }

    EngineContext context() {
        return context;
    }

    SimNetwork network() {
        return network;
    }

    boolean isDead() {
        return dead;
    }

    void die() {
        dead = true;
        List.copyOf(lanes).forEach(SimLane::destroy);
        completed.clear();
        notices.clear();
    }

    void onPosted() {
        posted++;
        highest = Math.max(highest, posted);
        if (posted > limits.completions()) {
            throw new AssertionError("completion queue of " + self() + " overflows: " + posted
                    + " requests posted, room for " + limits.completions());
        }
    }

    /** A request that ended without an entry in the queue. */
    void onForgotten() {
        posted--;
    }

    void onCompleted(SimRequest request) {
        completed.add(request);
    }

    void tell(SimLane lane, Runnable notice) {
        notices.add(() -> {
            if (!lane.isDestroyed()) {
                notice.run();
            }
        });
    }

    void forget(SimLane lane) {
        lanes.remove(lane);
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Optional<String> advertised() {
        return Optional.of(self().name());
    }

    @Override
    public boolean reaches(Peer peer) {
        return peer.addresses().containsKey(NAME);
    }

    @Override
    public boolean canWrite(Memory destination) {
        return switch (destination) {
            case HostMemory host -> !host.segment().isReadOnly();
            case DeviceMemory device -> network.deviceBytes(device) != null;
            case FileMemory _ -> false;
        };
    }

    @Override
    public FabricLimits limits() {
        return limits;
    }

    @Override
    public Lane connect(Peer peer, LaneListener listener) {
        SimLane lane = new SimLane(this, peer.id(), listener);
        lanes.add(lane);
        lane.connect();
        return lane;
    }

    @Override
    public int poll(Completions completions, int limit) {
        boolean noticesFirst = network.below(2) == 0;
        if (noticesFirst) {
            tellAll();
        }
        int polled = 0;
        for (SimRequest request; polled < limit && (request = completed.poll()) != null; polled++) {
            posted--;
            request.over = true;
            completions.onCompletion(request.cookie, request.end);
            if (network.isEchoed()) {
                echoes.add(request);
            }
        }
        if (!echoes.isEmpty() && network.below(2) == 0) {
            SimRequest echo = echoes.remove();
            network.trace(() -> echo + " is reported once more");
            completions.onCompletion(echo.cookie, echo.end);
        }
        if (!noticesFirst) {
            tellAll();
        }
        return polled;
    }

    private void tellAll() {
        for (Runnable notice; (notice = notices.poll()) != null;) {
            notice.run();
        }
    }

    @Override
    public void flush() {
        // Every request begins when it is posted.
    }

    @Override
    public void park(long maxNs) {
        // Who runs the simulation runs the pollers in turn.
    }

    @Override
    public void wakeup() {
        // Nothing is ever parked.
    }

    @Override
    public void close() {
        if (!lanes.isEmpty() && !dead) {
            throw new AssertionError(lanes.size() + " lanes of " + self() + " were not destroyed");
        }
        network.crash(self());
    }
}
