package io.mooncake.cuda;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.Memory.DeviceMemory;
import io.mooncake.core.base.Memory.FileMemory;
import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.MeasuredWay;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Poller;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Route;
import io.mooncake.core.transfer.Route.Health;
import io.mooncake.core.transfer.Route.Locality;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.cuda.runtime.Device;
import java.util.List;
import java.util.Optional;

/**
 * Copies from and to one device: to host memory, from it, inside the device, and to other devices, chunk by chunk under a pin, by the device's own
 * copy engines; and out of the pools that other processes of this host have on devices, without their doing. Submitting is for any thread; all else happens in the {@link #poller()}.
 *
 * <p>What the device has begun cannot be recalled: a read that is given up, or late, ends when the chunks have ended that are queued. Host
 * memory that is not pinned is reached by pinned buffers of the engine, so that no call waits for a copy.
 *
 * <p>When the device is lost every read ends as UNREACHABLE with a DEVICE_LOST, those to come at once and without a call.
 */
public final class CudaTransferEngine implements TransferEngine {
    private static final Route IN_A_FILE = new Route(Locality.NODE, false, Health.NONE, "the block is in a file");
    private static final Route HOST = new Route(Locality.NODE, true, Health.READY,
            "the block is in this node's memory, the device takes it from there");

    private final EngineContext context;
    private final Device device;
    private final CopyAgent agent;
    private final Route here;
    private final Route otherDevice;
    private final Route lost;
    private final Optional<String> address;
    private final List<MeasuredWay> ways;

    CudaTransferEngine(EngineContext context, CudaDevices devices, Device device) {
        this.context = context;
        this.device = device;
        agent = new CopyAgent(context, devices, device);
        here = new Route(Locality.NODE, true, Health.READY, "the block is on " + device + " of this node");
        otherDevice = new Route(Locality.NODE, false, Health.NONE, "the block is on another device than " + device);
        lost = new Route(Locality.NODE, false, Health.NONE, device + " is lost");
        ways = devices.links()
                .stream()
                .filter(link -> link.from() == device.number())
                .flatMap(link -> link.ways().stream())
                .toList();
        address = context.regions()
                .open()
                .stream()
                .filter(region -> region.access() == Access.GUARDED)
                .flatMap(region -> devices.shared(region.memory())
                        .stream()
                        .map(file -> PeerVrams.address(region.id(), file)))
                .findAny();
    }

    /**
     * Its name.
     *
     * @return {@code cuda} and the device's number
     */
    @Override
    public String name() {
        return agent.roleName();
    }

    /** {@inheritDoc} Where its processes of this host find the node's pool on the device; empty where that is not shared. */
    @Override
    public Optional<String> advertised() {
        return address;
    }

    @Override
    public Route route(Peer peer, int region) {
        if (device.loss() != null) {
            return lost;
        }
        if (!peer.id().equals(context.self())) {
            return agent.peers().route(peer, region);
        }
        Region source = context.regions().readable(region);
        if (source == null) {
            return HOST;
        }
        return switch (source.memory()) {
            case DeviceMemory memory -> memory.device() == device.number() ? here : otherDevice;
            case FileMemory _ -> IN_A_FILE;
            case HostMemory _ -> HOST;
        };
    }

    /** {@inheritDoc} To anywhere in the node from its device, and to its device from host memory. */
    @Override
    public boolean reaches(Peer peer, int region, Memory destination) {
        if (!peer.id().equals(context.self())) {
            return readsInPlace(peer, region)
                    && DeviceRead.isOf(device.number(), device.number(), DeviceRead.deviceOf(destination));
        }
        Region source = context.regions().readable(region);
        return source != null
                && DeviceRead.isOf(device.number(), DeviceRead.deviceOf(source.memory()),
                        DeviceRead.deviceOf(destination));
    }

    /** {@inheritDoc} Of a process of this host whose pool is open here. */
    @Override
    public boolean readsInPlace(Peer peer, int region) {
        Route route = route(peer, region);
        return route.locality() == Locality.HOST && route.registered();
    }

    /** {@inheritDoc} From its device to each other one. */
    @Override
    public List<MeasuredWay> measuredWays() {
        return ways;
    }

    @Override
    public void onPeerDead(NodeId life, String reason) {
        agent.peers().dead(life);
    }

    @Override
    public boolean submit(GuardedRead read) {
        return agent.submit(read);
    }

    @Override
    public void abort(GuardedRead read) {
        agent.wakeup();
    }

    @Override
    public Poller poller() {
        return agent;
    }
}
