package io.mooncake.rdma;

import io.mooncake.core.base.Counters;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.ControlChannel;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.RegionTable;
import io.mooncake.core.transfer.onesided.Fabric;
import io.mooncake.core.transfer.onesided.Lane;
import io.mooncake.core.transfer.onesided.LaneListener;
import io.mooncake.core.transfer.onesided.ReadRequest;
import io.mooncake.core.transfer.onesided.RemoteRegion;
import io.mooncake.core.transfer.onesided.RemoteRegion.Part;
import io.mooncake.core.transfer.onesided.RequestEnd;
import io.mooncake.rdma.sim.SimulatedNetwork;
import io.mooncake.rdma.sim.SimulatedProvider;
import io.mooncake.testing.VirtualTime;
import java.lang.foreign.Arena;
import java.util.Map;
import java.util.function.BooleanSupplier;

/**
 * For measurements: one open lane over a simulated card that does everything at once, and READs posted and polled on it. What is measured is
 * everything between the chunk machine and the library. One thread.
 */
public final class PostedReads implements AutoCloseable {
    private static final int BYTES = 4096;
    private static final int MOST_CYCLES = 100_000;

    private final Arena arena = Arena.ofShared();
    private final VirtualTime time = new VirtualTime();
    private final SimulatedNetwork network = new SimulatedNetwork(time, 1);
    private final MessageBus bus = new MessageBus(delivery -> time.after(1, delivery), network::isCut);
    private final RdmaFabric owner;
    private final RdmaFabric reader;
    private final Region destination;
    private final Lane lane;
    private final RemoteRegion source;
    private final ReadRequest request = new ReadRequest();
    private long cookie;
    private long completed;
    private final Fabric.Completions completions = this::onCompletion;

    /**
     * Opens everything.
     *
     * @param requests that are outstanding on the lane at most
     */
    public PostedReads(int requests) {
        RdmaConfig config = RdmaConfig.defaults()
                .withRegistrar(RdmaConfig.Registrar.POLLER)
                .withWindow(new RdmaConfig.Window(1, 1 << 20, 4 << 20, requests, 1024));
        EngineContext ownerNode = node("owner");
        EngineContext readerNode = node("reader");
        owner = new RdmaFabric(ownerNode, config, host("owner", 1));
        reader = new RdmaFabric(readerNode, config, host("reader", 2));
        Region readable = ownerNode.regions().register(Memory.of(arena.allocate(BYTES, 64)), Access.READABLE);
        destination = readerNode.regions().register(Memory.of(arena.allocate(BYTES, 64)), Access.LOCAL_ONLY);
        boolean[] open = {false};
        lane = reader.connect(new Peer(ownerNode.self(), Map.of("rdma", owner.advertised().orElseThrow())),
                new LaneListener() {
                    @Override
                    public void onOpen() {
                        open[0] = true;
                    }

                    @Override
                    public void onBroken(MooncakeException cause) {
                        throw new IllegalStateException(cause);
                    }

                    @Override
                    public void onRegion(int number) {
                        // Is looked at below.
                    }
                });
        until(() -> open[0]);
        source = lane.region(readable.id());
        until(() -> source.isAnswered() && lane.isReady(destination, Long.MAX_VALUE));
    }

    private void until(BooleanSupplier done) {
        for (int i = 0; !done.getAsBoolean(); i++) {
            if (i == MOST_CYCLES) {
                throw new IllegalStateException("the lane did not open");
            }
            time.runTo(time.nowNs() + 1_000);
            owner.poll((number, end) -> {}, 1);
            reader.poll((number, end) -> {}, 1);
        }
    }

    private EngineContext node(String name) {
        NodeId id = new NodeId(name, 1);
        RegionTable regions = new RegionTable(id, (done, deadline) -> done.getAsBoolean(), time::nowNs, 0);
        Counters counters = new Counters();
        EngineContext context = new EngineContext(id, "c", regions, new NoGuards(), counters, time::nowNs,
                new ControlChannel(counters));
        bus.join(context);
        return context;
    }

    private SimulatedProvider host(String name, int address) {
        SimulatedProvider host = network.host(name);
        host.useFloor();
        host.addDevice("sim0", address);
        return host;
    }

    /**
     * Posts READs with one doorbell and polls until each has completed.
     *
     * @param count at most as many as may be outstanding
     * @return how many completed in all
     */
    public long round(int count) {
        for (int i = 0; i < count; i++) {
            request.of(++cookie, BYTES).from(source, Part.BYTES, 0).into(destination, 0);
            if (!lane.post(request)) {
                throw new IllegalStateException("the lane took " + i + " of " + count + " requests");
            }
        }
        reader.flush();
        long until = completed + count;
        while (completed < until) {
            reader.poll(completions, count);
        }
        return completed;
    }

    private void onCompletion(long number, RequestEnd end) {
        if (end != RequestEnd.OK) {
            throw new IllegalStateException("request " + number + " ended " + end);
        }
        completed++;
    }

    @Override
    public void close() {
        lane.destroy();
        reader.close();
        owner.close();
        arena.close();
    }
}
