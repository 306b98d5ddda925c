package io.mooncake.core;

import io.mooncake.core.base.ByteSize;
import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Counters;
import io.mooncake.core.base.Memory.DeviceMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.base.Site;
import io.mooncake.core.block.Tier;
import io.mooncake.core.manager.BlockManager;
import io.mooncake.core.manager.ManagerConfig;
import io.mooncake.core.manager.PoolBinding;
import io.mooncake.core.manager.eviction.EvictionPolicy;
import io.mooncake.core.manager.eviction.SlotUse;
import io.mooncake.core.pool.BlockPool;
import io.mooncake.core.pool.DramPool;
import io.mooncake.core.registry.MemberChange;
import io.mooncake.core.registry.Membership;
import io.mooncake.core.registry.Registry;
import io.mooncake.core.registry.jgroups.JGroupsRegistry;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.ControlChannel;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.MessageHandler;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Poller;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.RegionTable;
import io.mooncake.core.transfer.SharedBlocks;
import io.mooncake.core.transfer.Topic;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.core.transfer.file.FileTransferEngine;
import io.mooncake.core.transfer.local.LocalTransferEngine;
import io.mooncake.core.transfer.shm.SharedMemory;
import io.mooncake.core.transfer.shm.SharedMemoryTransferEngine;
import io.mooncake.core.transfer.tcp.TcpConfig;
import io.mooncake.core.transfer.tcp.TcpEnvironment;
import io.mooncake.core.transfer.tcp.TcpTransferEngine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The parts of a running node, wired by hand, in the order in which they need each other.
 *
 * @param life identity, clock, closing
 * @param counters what the node counts
 * @param waits how callers wait
 * @param callbacks runs the user's code
 * @param events numbers what happens to blocks
 * @param nodeEvents numbers what happens to nodes
 * @param regions registered memory
 * @param pool where the pool's memory lies
 * @param slow its file; null = none
 * @param blocks the block manager
 * @param control small messages
 * @param engines what moves bytes, in the order of preference
 * @param sources where to read from
 * @param conductor the agent of everything but bytes
 * @param agents the agents' threads
 */
record NodeParts(Life life, Counters counters, Waits waits, Callbacks callbacks, BlockEvents events,
        NodeEvents nodeEvents, RegionTable regions, PoolMemory pool, @Nullable SlowTier slow, BlockManager blocks,
        ControlChannel control,
        List<TransferEngine> engines,
        Sources sources,
        Conductor conductor,
        AgentGroup agents) {
    private static final Logger LOG = LoggerFactory.getLogger(NodeParts.class);

    /** Starts everything; when something fails, undoes what was begun, last first. */
    static NodeParts start(NodeConfig config) {
        Deque<Runnable> undo = new ArrayDeque<>();
        try {
            return start(config, undo);
        } catch (RuntimeException | Error e) {
            for (Runnable step : undo) {
                try {
                    step.run();
                } catch (RuntimeException again) {
                    e.addSuppressed(again);
                }
            }
            throw e;
        }
    }

    private static NodeParts start(NodeConfig config, Deque<Runnable> undo) {
        NodeConfig.Environment environment = config.environment();
        // Before the pool, whose reservation can take seconds.
        Function<SlotUse, EvictionPolicy> policy = EvictionPolicy.named(config.pool().evictionPolicy());
        if (environment.engines() == null) {
            TcpTransferEngine.check(tcp(config));
        }

        Registry registry = registry(config);
        NodeId proposed = NodeId.newLife(config.name(), environment.wallClock(), environment.random());
        undo.push(() -> registry.leave(proposed));
        NodeId id = registry.begin(proposed);
        Life life = new Life(id, environment.nanoClock());
        undo.push(life::beginClosing);
        Counters counters = new Counters();
        Waits waits = new Waits(environment.nanoClock());
        RegionTable regions = new RegionTable(id, waits, environment.nanoClock(), config.timeouts().close().toNanos());
        Callbacks callbacks = new Callbacks(config.name(), environment.callbackExecutor(),
                config.agents().threading() == ThreadingMode.INVOKER ? null : environment.threads(), counters);
        undo.push(callbacks::close);
        BlockEvents events = new BlockEvents(callbacks);
        NodeEvents nodeEvents = new NodeEvents(callbacks);
        Doorbell doorbell = new Doorbell();

        PoolMemory memory = PoolMemory.choose(config, id);
        undo.push(memory::close);
        DramPool pool = config.pool().open(memory.source());
        undo.push(pool::close);
        Region region = regions.register(pool.memory(), Access.GUARDED);
        List<PoolBinding> bindings = new ArrayList<>(List.of(binding(pool, region, memory)));
        Supplier<? extends BlockPool> vram = environment.vram();
        if (vram != null) {
            BlockPool above = vram.get();
            undo.push(above::close);
            bindings.add(vram(above, pool, regions));
        }
        SlowTier slow = SlowTier.open(config, regions, counters);
        if (slow != null) {
            undo.push(slow.pool()::close);
            bindings.add(slow.binding());
        }
        BlockManager blocks = new BlockManager(
                new ManagerConfig(id, bindings, counters,
                        environment.nanoClock(), waits,
                        registry::highestCounter, config.timeouts().allocate().toNanos(), config.pool().cachedBlocks(),
                        policy, config.pool().sharesByTag()),
                new Announcer(id, registry, events, doorbell));
        undo.push(() -> blocks.close(life.nowNs()));

        ControlChannel control = new ControlChannel(counters);
        control.onMessage(Topic.APPLICATION, applicationMessages(environment.messages(), callbacks, counters));
        EngineContext context = new EngineContext(id, config.cluster().name(), regions, blocks.guards(), counters,
                environment.nanoClock(), control);
        List<TransferEngine> engines = engines(config, context, memory, slow, undo);
        control.carriedBy(registry::peer, engines);
        Peer self = new Peer(id, addresses(engines), site(config));
        PeerCosts costs = new PeerCosts(self, registry, engines, environment.nanoClock());
        Sources sources = new Sources(blocks, registry, environment.scheduler(), costs, engines, views(engines));
        Conductor conductor = new Conductor(life, sources, doorbell);

        registry.carriedBy(control);
        registry.watch(change -> onChange(life, nodeEvents, sources, change));
        undo.push(() -> registry.leave(id));
        registry.join(self);
        AgentGroup agents = startAgents(config, engines.reversed().stream().map(TransferEngine::poller).toList(),
                conductor, doorbell);
        if (config.agents().threading() == ThreadingMode.INVOKER) {
            waits.runWhileWaiting(agents, callbacks);
        }
        return new NodeParts(life, counters, waits, callbacks, events, nodeEvents, regions, memory, slow, blocks,
                control,
                engines, sources, conductor, agents);
    }

    private static Registry registry(NodeConfig config) {
        Membership membership = config.cluster().membership();
        NodeConfig.Environment environment = config.environment();
        if (membership == null) {
            return environment.registry();
        }
        try {
            return new JGroupsRegistry(membership, config.name(),
                    new JGroupsRegistry.Cluster(config.cluster().name(), config.cluster().secret()),
                    environment.threads(), environment.nanoClock());
        } catch (NoClassDefFoundError e) {
            throw new MooncakeException(Kind.CONFIG_ERROR, "cluster.discovery = '" + membership.discovery()
                    + "' takes JGroups, which is not there: add org.jgroups:jgroups to the application's"
                    + " dependencies, and on the module path --add-modules org.jgroups", e);
        }
    }

    /** A thread of the registry's. */
    private static void onChange(Life life, NodeEvents events, Sources sources, MemberChange change) {
        switch (change.kind()) {
            case JOINED -> events.raise(NodeEvent.Kind.JOINED, change.node(), change.reason());
            case DEAD -> {
                sources.engines().forEach(engine -> engine.onPeerDead(change.node(), change.reason()));
                sources.costs().forget(change.node());
                events.raise(NodeEvent.Kind.DEAD, change.node(), change.reason());
            }
            case DUPLICATE -> {
                LOG.error("node {} stops: {}", life.id, change.reason());
                life.stop(change.reason());
            }
        }
    }

    /** The default: here, in this node's file, in this host's memory, then TCP. */
    private static List<TransferEngine> engines(NodeConfig config, EngineContext context, PoolMemory memory,
            @Nullable SlowTier slow, Deque<Runnable> undo) {
        Function<EngineContext, List<TransferEngine>> own = config.environment().engines();
        if (own != null) {
            List<TransferEngine> engines = List.copyOf(own.apply(context));
            engines.forEach(engine -> undo.push(engine.poller()::onClose));
            if (engines.isEmpty()) {
                throw new MooncakeException(Kind.CONFIG_ERROR,
                        "node " + context.self() + " was given no engine: give it at least one, or leave the default");
            }
            return engines;
        }
        TcpTransferEngine tcp = new TcpTransferEngine(context, tcp(config),
                TcpEnvironment.system(config.environment().threads()));
        undo.push(tcp.poller()::onClose);
        // Shared threads park in the last engine's poller.
        EngineContext others = config.agents().threading() == ThreadingMode.DEDICATED
                ? context
                : context.wokenBy(tcp.poller()::wakeup);
        LocalTransferEngine local = new LocalTransferEngine(others);
        undo.push(local.poller()::onClose);
        List<TransferEngine> engines = new ArrayList<>();
        engines.add(local);
        if (slow != null) {
            FileTransferEngine file = slow.engine(others);
            undo.push(file.poller()::onClose);
            engines.add(file);
        }
        if (!config.pool().sharedMemory().equals(NodeConfig.SHARED_MEMORY_OFF)) {
            SharedMemoryTransferEngine shm = new SharedMemoryTransferEngine(others, memory.shared());
            undo.push(shm.poller()::onClose);
            engines.add(shm);
        }
        for (Function<EngineContext, @Nullable TransferEngine> added : config.environment().addedEngines()) {
            TransferEngine engine = added.apply(others);
            if (engine != null) {
                undo.push(engine.poller()::onClose);
                engines.add(engine);
            }
        }
        engines.add(tcp);
        return List.copyOf(engines);
    }

    private static TcpConfig tcp(NodeConfig config) {
        return TcpConfig.defaults()
                .withAddresses(config.tcp().bind(), config.tcp().advertise())
                .withSecret(config.cluster().secret())
                .withLanes(config.tcp().lanes());
    }

    /** What is not set is found out, where it can be. */
    private static Site site(NodeConfig config) {
        NodeConfig.Topology given = config.topology();
        String host = given.host().isEmpty() ? bootId() : given.host();
        return new Site(host.isEmpty() ? "" : host + "/" + ProcessHandle.current().pid(), host, given.rack(),
                given.zone());
    }

    /** The same for all processes of a host, in containers too, as long as it runs; empty where the system says none. */
    private static String bootId() {
        try {
            return Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).strip();
        } catch (IOException e) {
            LOG.debug("the system names no boot: nodes of this host are not known to be near each other", e);
            return "";
        }
    }

    private static SharedBlocks views(List<TransferEngine> engines) {
        for (TransferEngine engine : engines) {
            if (engine instanceof SharedBlocks views) {
                return views;
            }
        }
        return SharedBlocks.NONE;
    }

    private static PoolBinding vram(BlockPool pool, DramPool below, RegionTable regions) {
        if (pool.tier() != Tier.VRAM || pool.slots() < 2) {
            throw new MooncakeException(Kind.CONFIG_ERROR, "vram: pool " + pool.name() + " of tier " + pool.tier()
                    + " with " + pool.slots() + " slots must be of tier VRAM and have at least 2, one of them spare");
        }
        if (pool.largestSlotBytes() > below.largestSlotBytes()) {
            throw new MooncakeException(Kind.CONFIG_ERROR, "vram: pool " + pool.name() + " has blocks of "
                    + ByteSize.format(pool.largestSlotBytes()) + ", which could not be brought down: set block.size = '"
                    + ByteSize.format(below.largestSlotBytes()) + "' to that, or give it no longer ones");
        }
        return new PoolBinding(pool, regions.register(pool.memory(), Access.GUARDED,
                DeviceMemory.FIRST_REGION));
    }

    /** Other processes pin what they can map. */
    private static PoolBinding binding(DramPool pool, Region region, PoolMemory memory) {
        SharedMemory shared = memory.shared();
        if (shared == null) {
            return new PoolBinding(pool, region);
        }
        shared.publish(region.id());
        return new PoolBinding(pool, region, shared.pins());
    }

    static Map<String, String> addresses(List<TransferEngine> engines) {
        Map<String, String> addresses = new HashMap<>();
        engines.forEach(engine -> engine.advertised().ifPresent(address -> addresses.put(engine.name(), address)));
        return addresses;
    }

    /** Where threads are shared all park in the first poller, which both sockets and commands wake. */
    private static AgentGroup startAgents(NodeConfig config, List<Poller> pollers, Conductor conductor,
            Doorbell doorbell) {
        List<AgentIdle> idles = new ArrayList<>();
        if (config.agents().threading() == ThreadingMode.DEDICATED) {
            pollers.forEach(poller -> idles.add(new AgentIdle(config.agents().idle(), poller)));
            idles.add(new AgentIdle(config.agents().idle(), null));
        } else {
            idles.add(new AgentIdle(config.agents().idle(), pollers.getFirst()));
        }
        doorbell.connect(idles.getLast()::wakeup);
        return new AgentGroup(config, pollers, conductor, idles);
    }

    private static MessageHandler applicationMessages(MessageHandler handler, Callbacks callbacks, Counters counters) {
        return (from, message) -> {
            if (!callbacks.offer(() -> handler.onMessage(from, message))) {
                counters.increment(Counter.MESSAGES_DROPPED);
                LOG.warn(
                        "dropped a message of {} bytes from {}: the message handler is too slow, or the node is closed",
                        message.length, from);
            }
        };
    }

    /** What pulls need of this. */
    PullContext pulls(PrefetchBudget prefetches, @Nullable HotReplicas hot) {
        return new PullContext(life, sources, conductor, new SourceFaults(life, blocks, events, nodeEvents),
                new PullCounters(counters, life.id, hot), new SharedPulls(conductor::pullEnded),
                new ReplicaSteps(sources, life.id), control, prefetches);
    }
}
