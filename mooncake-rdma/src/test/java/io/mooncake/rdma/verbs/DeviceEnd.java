package io.mooncake.rdma.verbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.ThreadLocalRandom;

/** One device with memory and a queue pair, to be connected to that of another. */
final class DeviceEnd implements AutoCloseable {
    private static final ConnectionSettings SETTINGS = new ConnectionSettings(ConnectionSettings.Timers.DEFAULT,
            ConnectionSettings.Route.DEFAULT, 16, 16);

    final Context context;
    final ProtectionDomain domain;
    final CompletionQueue queue;
    final QueuePair queuePair;
    final MemoryRegion region;
    final MemorySegment memory;
    final Gid gid;
    private final Port port;
    private final Arena arena = Arena.ofShared();
    private final int packetNumber = ThreadLocalRandom.current().nextInt(1 << 24);

    DeviceEnd(Device device, long bytes, int depth, int access) {
        context = device.open();
        domain = context.newProtectionDomain();
        queue = context.newCompletionQueue(2 * depth, null);
        queuePair = domain.newQueuePair(queue, new QueuePair.Capacity(depth, 1, 0));
        memory = arena.allocate(bytes, 4096);
        region = domain.register(memory.address(), bytes, access);
        port = context.port(1);
        gid = GidChoice.of(context.gids(port), null).orElseThrow().gid();
        queuePair.toInit(1, Access.REMOTE_READ);
    }

    private PeerEnd end() {
        return new PeerEnd(queuePair.number(), packetNumber, port.mtu(), port.lid(), gid.raw());
    }

    void connect(DeviceEnd peer) {
        queuePair.toReadyToReceive(LocalPath.of(port, gid), peer.end(), SETTINGS);
        queuePair.toReadyToSend(packetNumber, SETTINGS);
    }

    @Override
    public void close() {
        queuePair.close();
        region.close();
        queue.close();
        domain.close();
        context.close();
        arena.close();
    }
}
