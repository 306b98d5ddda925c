package io.mooncake.core.transfer.onesided;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.Memory.DeviceMemory;
import io.mooncake.core.base.Memory.FileMemory;
import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.testing.VirtualTime;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The network that simulated fabrics join: who lives, who is cut off from whom, and the faults that a test asks for. One thread;
 * everything random comes from the seed.
 */
public final class SimNetwork {
    /** Whose the memory is that requests write: asked when one is posted, and again whenever bytes of it land. */
    public interface Landings {
        /** A number that changes when the place is handed to somebody else. */
        long owner(MemorySegment memory, long offset);

        /** Bytes land; the owner when the request was posted. */
        void landed(long owner, MemorySegment memory, long offset);
    }

    private final VirtualTime time;
    private final SplittableRandom random;
    private final Map<String, SimFabric> living = new HashMap<>();
    private final Set<String> cuts = new HashSet<>();
    private Function<DeviceMemory, @Nullable MemorySegment> devices = memory -> null;
    private SimTiming timing = SimTiming.defaults();
    private @Nullable Consumer<String> trace;
    private @Nullable Landings landings;
    private int echoPercent;
    private int lastLane;

    /** An empty network. */
    public SimNetwork(VirtualTime time, long seed) {
        this.time = time;
        random = new SplittableRandom(seed);
    }

    /** A node's fabric with limits of its own. Whoever has that name already is dead from now on. */
    public SimFabric join(EngineContext context, FabricLimits limits) {
        SimFabric fabric = new SimFabric(this, context, limits);
        SimFabric former = living.put(context.self().name(), fabric);
        if (former != null) {
            former.die();
        }
        trace(() -> context.self() + " joins");
        return fabric;
    }

    /** A node's process is gone: its requests land nowhere, requests to it fail after the hardware's retries. */
    public void crash(NodeId id) {
        SimFabric fabric = living.get(id.name());
        if (fabric != null && fabric.self().equals(id)) {
            living.remove(id.name());
            fabric.die();
            trace(() -> id + " crashes");
        }
    }

    /** Cuts two nodes off from each other. */
    public void cut(String one, String other) {
        cuts.add(pair(one, other));
        trace(() -> one + " and " + other + " are cut off from each other");
    }

    /** Ends {@link #cut}. Requests that waited go on. */
    public void heal(String one, String other) {
        cuts.remove(pair(one, other));
        trace(() -> one + " and " + other + " reach each other");
    }

    /** Breaks one of the open lanes of the living; false when there is none. */
    public boolean breakSomeLane() {
        List<SimLane> open = new ArrayList<>();
        living.values()
                .stream()
                .sorted((a, b) -> a.self().name().compareTo(b.self().name()))
                .forEach(fabric -> fabric.openLanes(open));
        if (open.isEmpty()) {
            return false;
        }
        open.get(random.nextInt(open.size())).breakDown("a cable was pulled");
        return true;
    }

    /** How the network behaves from now on. */
    public void timing(SimTiming newTiming) {
        timing = newTiming;
    }

    /** Takes a line for everything that happens, as text for people. */
    public void traceTo(@Nullable Consumer<String> lines) {
        trace = lines;
    }

    /** From now on so many of the completions are reported once more, some time later. */
    public void echo(int percent) {
        echoPercent = percent;
    }

    boolean isEchoed() {
        return echoPercent > 0 && below(100) < echoPercent;
    }

    /** Has every landing watched. */
    public void watch(Landings watcher) {
        landings = watcher;
    }

    /** Lets the network write memory of devices: where a device's bytes stand for it; null for memory that it does not reach. */
    public void reachDevices(Function<DeviceMemory, @Nullable MemorySegment> bytes) {
        devices = bytes;
    }

    @Nullable
    MemorySegment deviceBytes(DeviceMemory memory) {
        return devices.apply(memory);
    }

    /** Where the network writes a destination. */
    MemorySegment bytes(Memory destination) {
        return switch (destination) {
            case HostMemory host -> host.segment();
            case DeviceMemory device -> Objects.requireNonNull(deviceBytes(device));
            case FileMemory file -> throw new AssertionError(file);
        };
    }

    void onPosted(SimRequest request) {
        if (landings != null) {
            request.owner = landings.owner(request.destination, request.destinationOffset);
        }
    }

    void onLanding(SimRequest request) {
        if (landings != null) {
            landings.landed(request.owner, request.destination, request.destinationOffset);
        }
    }

    SimTiming timing() {
        return timing;
    }

    VirtualTime time() {
        return time;
    }

    int nextLane() {
        return ++lastLane;
    }

    long upTo(long most) {
        return most <= 0 ? 0 : random.nextLong(most + 1);
    }

    int below(int bound) {
        return random.nextInt(bound);
    }

    boolean isCut(NodeId one, NodeId other) {
        return cuts.contains(pair(one.name(), other.name()));
    }

    @Nullable
    SimFabric find(String name) {
        return living.get(name);
    }

    void trace(Supplier<String> line) {
        Consumer<String> to = trace;
        if (to != null) {
            to.accept(String.format("%,15d  %s", time.nowNs(), line.get()));
        }
    }

    private static String pair(String one, String other) {
        return one.compareTo(other) < 0 ? one + " " + other : other + " " + one;
    }
}
