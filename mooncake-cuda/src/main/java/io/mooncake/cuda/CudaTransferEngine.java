package io.mooncake.cuda;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.Memory.DeviceMemory;
import io.mooncake.core.base.Memory.FileMemory;
import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Poller;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Route;
import io.mooncake.core.transfer.Route.Health;
import io.mooncake.core.transfer.Route.Locality;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.cuda.runtime.Device;
import java.util.Optional;

/**
 * Copies inside a node from and to one device: to host memory, from it, inside the device, and to other devices, chunk by chunk under a pin, by
 * the device's own copy engines. Submitting is for any thread; all else happens in the {@link #poller()}.
 *
 * <p>What the device has begun cannot be recalled: a read that is given up, or late, ends when the chunks have ended that are queued. Host
 * memory that is not pinned is reached by pinned buffers of the engine, so that no call waits for a copy.
 *
 * <p>When the device is lost every read ends as UNREACHABLE with a DEVICE_LOST, those to come at once and without a call.
 */
public final class CudaTransferEngine implements TransferEngine {
    private static final Route ELSEWHERE = new Route(Locality.NODE, false, Health.NONE, "the block is on another node");
    private static final Route IN_A_FILE = new Route(Locality.NODE, false, Health.NONE, "the block is in a file");
    private static final Route HOST = new Route(Locality.NODE, true, Health.READY,
            "the block is in this node's memory, the device takes it from there");

    private final EngineContext context;
    private final Device device;
    private final CopyAgent agent;
    private final Route here;
    private final Route otherDevice;
    private final Route lost;

    CudaTransferEngine(EngineContext context, CudaDevices devices, Device device) {
        this.context = context;
        this.device = device;
        agent = new CopyAgent(context, devices, device);
        here = new Route(Locality.NODE, true, Health.READY, "the block is on " + device + " of this node");
        otherDevice = new Route(Locality.NODE, false, Health.NONE, "the block is on another device than " + device);
        lost = new Route(Locality.NODE, false, Health.NONE, device + " is lost");
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

    @Override
    public Optional<String> advertised() {
        return Optional.empty();
    }

    @Override
    public Route route(Peer peer, int region) {
        if (!peer.id().equals(context.self())) {
            return ELSEWHERE;
        }
        if (device.loss() != null) {
            return lost;
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
        Region source = context.regions().readable(region);
        return source != null
                && DeviceRead.isOf(device.number(), DeviceRead.deviceOf(source.memory()),
                        DeviceRead.deviceOf(destination));
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
