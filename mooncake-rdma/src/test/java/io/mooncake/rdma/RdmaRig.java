package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.core.transfer.onesided.OneSidedConfig;
import io.mooncake.rdma.sim.SimulatedNetwork;
import io.mooncake.rdma.sim.SimulatedProvider;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.VirtualTime;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;

/** RDMA engines over the simulated network. Virtual time passes with every cycle. */
class RdmaRig extends EngineRig {
    private static final long MOST_NS_PER_CYCLE = 20_000;
    private static final long MESSAGE_NS = 50_000;
    private static final int FIRST_ADDRESS = 0x0A4D_0000;

    final VirtualTime time = new VirtualTime();
    final SimulatedNetwork network;
    final RdmaConfig config;
    final MessageBus bus;
    private final Map<String, SimulatedProvider> hosts = new HashMap<>();
    private final Map<String, MemorySegment> pools = new HashMap<>();
    private final Map<String, RdmaConfig> configs = new HashMap<>();
    private int lastAddress = FIRST_ADDRESS;

    RdmaRig() {
        this(1, config());
    }

    RdmaRig(long seed, RdmaConfig config) {
        network = new SimulatedNetwork(time, seed);
        this.config = config;
        bus = new MessageBus(delivery -> time.after(MESSAGE_NS, delivery), network::isCut);
    }

    /** The default, run by the poller. */
    static RdmaConfig config() {
        return RdmaConfig.defaults()
                .withRegistrar(RdmaConfig.Registrar.POLLER)
                .withWindow(new RdmaConfig.Window(4, 1 << 20, 4 << 20, 16, 128));
    }

    /** What a node's library shows: one card, unless the test gave it others before. */
    SimulatedProvider host(String name) {
        return hosts.computeIfAbsent(name, any -> {
            SimulatedProvider host = network.host(name);
            host.addDevice("sim0", ++lastAddress);
            return host;
        });
    }

    /** Has a node have settings of its own. */
    void configOf(String name, RdmaConfig own) {
        configs.put(name, own);
    }

    /** Has a node find memory registered when it starts, as nodes find their pools. */
    void poolOf(String name, MemorySegment pool) {
        pools.put(name, pool);
    }

    void poolInto(EngineContext context) {
        MemorySegment pool = pools.get(context.self().name());
        if (pool != null) {
            context.regions().register(Memory.of(pool), Access.READABLE);
        }
    }

    EngineRig.Side side(NodeId id) {
        return side(id, "c");
    }

    @Override
    protected TransferEngine engine(EngineContext context) {
        bus.join(context);
        poolInto(context);
        TransferEngine engine = RdmaTransferEngine.create(context, configs.getOrDefault(context.self().name(), config),
                host(context.self().name()));
        bus.prefer(context, engine, this::peer);
        return engine;
    }

    private Peer peer(NodeId id) {
        return sides().stream()
                .filter(side -> side.id.name().equals(id.name()))
                .findAny()
                .map(side -> side.peer(id))
                .orElseGet(() -> new Peer(id, Map.of()));
    }

    @Override
    public int lastingUses() {
        return 1;
    }

    @Override
    public long largeBytes() {
        return 24L << 20;
    }

    @Override
    public long endBoundNs() {
        OneSidedConfig.Times times = RdmaTransferEngine.machine(config).times();
        return times.silentEndBoundNs() + 1_000_000;
    }

    @Override
    public long nowNs() {
        return time.nowNs();
    }

    @Override
    public void advance(long ns) {
        time.runTo(time.nowNs() + ns);
    }

    @Override
    public void freeze(Side side) {
        sides().stream()
                .filter(other -> !other.equals(side))
                .forEach(other -> network.cut(side.id.name(),
                        other.id.name()));
    }

    @Override
    public void thaw(Side side) {
        sides().stream()
                .filter(other -> !other.equals(side))
                .forEach(other -> network.heal(side.id.name(),
                        other.id.name()));
    }

    @Override
    public void cycle() {
        time.runTo(Math.min(time.nextNs(), time.nowNs() + MOST_NS_PER_CYCLE));
        super.cycle();
    }

    @Override
    public void close() {
        super.close();
        hosts.forEach((name, host) -> assertEquals("", host.leftovers(), "what host " + name + " has left"));
    }
}
