package io.mooncake.core;

import io.mooncake.core.base.Counters;
import io.mooncake.core.base.Endpoint;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.manager.BlockManager;
import io.mooncake.core.manager.EvictionPolicy;
import io.mooncake.core.manager.ManagerConfig;
import io.mooncake.core.manager.PoolBinding;
import io.mooncake.core.pool.BlockPool;
import io.mooncake.core.pool.DramPool;
import io.mooncake.core.pool.SizeClass;
import io.mooncake.core.registry.Registry;
import io.mooncake.core.schedule.ClusterView;
import io.mooncake.core.schedule.Scheduler;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.MessageHandler;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Poller;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.RegionTable;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.core.transfer.local.LocalTransferEngine;
import io.mooncake.core.transfer.tcp.TcpConfig;
import io.mooncake.core.transfer.tcp.TcpTransferEngine;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One embedded node: its memory, its engines, its agents. Any thread; in INVOKER mode only the thread that started it may run it or
 * wait for it.
 *
 * <pre>
 *   BlockStore ─▶ BlockManager ─▶ DramPool          a hit: no queue, no copy
 *       │
 *       └─▶ Pull ─▶ Scheduler ─▶ TransferEngine     local copy, or TCP from a peer, proven by the guard
 *                   Registry       │
 *   Conductor ◀────────────────────┘ replicas committed, further attempts, announcements, evictions
 * </pre>
 */
public final class Node implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Node.class);

    private final Parts parts;
    private final NodeStore store;
    private final AgentGroup agents;

    private Node(Parts parts, NodeStore store, AgentGroup agents) {
        this.parts = parts;
        this.store = store;
        this.agents = agents;
    }

    /**
     * Starts a node: reserves its pool, binds its port, joins its registry, starts its agents.
     *
     * @param config the settings
     * @return the running node
     * @throws MooncakeException CONFIG_ERROR, OUT_OF_MEMORY, or IN_USE when the name or the port is taken; nothing is left behind then
     */
    public static Node start(NodeConfig config) {
        Parts parts = new Parts(config);
        try {
            parts.open();
            AgentGroup agents = parts.startAgents();
            Node node = new Node(parts, new NodeStore(parts, config, parts.waits, parts.callbacks), agents);
            LOG.info("node {} started: {}", parts.id, config);
            String warning = config.smallBlockWarning();
            if (warning != null) {
                LOG.warn("node {}: {}", parts.id, warning);
            }
            return node;
        } catch (RuntimeException | Error e) {
            parts.abandonStart();
            throw e;
        }
    }

    /**
     * Who this node is.
     *
     * @return name and incarnation
     */
    public NodeId id() {
        return parts.id;
    }

    /**
     * How it is set up.
     *
     * @return as started
     */
    public NodeConfig config() {
        return parts.config;
    }

    /**
     * What engines read and write blocks with.
     *
     * @return the same one always
     */
    public BlockStore store() {
        return store;
    }

    /**
     * Registers memory of the caller's, to read blocks into, or for peers to read.
     *
     * @param memory stays valid until the region is closed
     * @param access LOCAL_ONLY or READABLE
     * @return the region, to be closed before the memory is freed
     * @throws MooncakeException INVALID_ARGUMENT for GUARDED, which is for pools; CLOSED
     */
    public Region register(Memory memory, Access access) {
        store.checkOpen();
        if (access == Access.GUARDED) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT,
                    "memory of the caller's has no guards: register it LOCAL_ONLY or READABLE");
        }
        return parts.regions.register(memory, access);
    }

    /**
     * What the node has counted since it started.
     *
     * @return live counters
     */
    public Counters counters() {
        return parts.counters;
    }

    /**
     * How the pool's slots are shared out.
     *
     * @return used + quarantined + free = capacity
     */
    public BlockPool.Usage usage() {
        return parts.blocks().usage();
    }

    /**
     * Where peers dial this node by TCP.
     *
     * @return the advertised address, with the port that was really bound
     */
    public Optional<Endpoint> endpoint() {
        return parts.tcp().advertised();
    }

    /**
     * Sends a small control message to a node's message handler: in order while the connection lasts, at most once.
     *
     * @param to the receiver, in this incarnation
     * @param message its remaining bytes, at most {@link EngineContext#MAX_MESSAGE_BYTES}; copied
     * @return false when the node is unknown or the queue is full
     * @throws MooncakeException OUT_OF_BOUNDS for a longer message; CLOSED
     */
    public boolean send(NodeId to, ByteBuffer message) {
        store.checkOpen();
        if (message.remaining() > EngineContext.MAX_MESSAGE_BYTES) {
            throw new MooncakeException(Kind.OUT_OF_BOUNDS, "message to " + to + " has " + message.remaining()
                    + " bytes, more than " + EngineContext.MAX_MESSAGE_BYTES + ": write a block and send its ref");
        }
        Peer peer = parts.registry().peer(to);
        TransferEngine engine = peer == null ? null : parts.engineTo(peer);
        return peer != null && engine != null && engine.send(peer, message);
    }

    /**
     * INVOKER: one duty cycle of the node's agents, and the callbacks that are due.
     *
     * @return how much was done; 0 lets the caller do something else
     * @throws MooncakeException ILLEGAL_STATE in another mode or thread
     */
    public int doWork() {
        return agents.doWork() + parts.callbacks.runDue();
    }

    /**
     * Ends every transfer, waits for pins until the close timeout, gives everything back. The second time does nothing more than try
     * again to free what was pinned.
     *
     * @throws MooncakeException IN_USE naming the blocks that are still pinned or being written; their memory stays mapped until the
     *     last of them is closed; ILLEGAL_STATE, with nothing done, in INVOKER mode while another thread owns the node
     */
    @Override
    public void close() {
        agents.checkMayRun();
        boolean first;
        // Whoever closes too waits here: what follows is the conductor's work, which is nobody else's while that lives.
        synchronized (agents) {
            first = parts.beginClosing();
            if (first) {
                leave();
                agents.close();
            }
        }
        try {
            parts.callbacks.runDueWhereInvoked();
            parts.blocks().close(parts.nowNs() + parts.config.closeTimeout().toNanos());
        } finally {
            if (first) {
                // Only now, so that listeners are not called by this thread, inside the manager's lock.
                parts.callbacks.close();
            }
        }
        if (first) {
            LOG.info("node {} closed", parts.id);
        }
    }

    private void leave() {
        try {
            parts.registry().leave(parts.id);
        } catch (RuntimeException e) {
            LOG.error("node {}: the registry threw when it was left; closing goes on", parts.id, e);
        }
    }

    /** The parts of a node, wired by hand. */
    private static final class Parts implements NodeParts {
        private final NodeConfig config;
        private final NodeId id;
        private final Counters counters = new Counters();
        private final Waits waits;
        private final RegionTable regions;
        private final Callbacks callbacks;
        private final BlockEvents events;
        private final PeerLoads loads;
        private final Conductor conductor;
        private volatile boolean closing;
        private @Nullable DramPool pool;
        private @Nullable BlockManager blocks;
        private @Nullable TcpTransferEngine tcp;
        private List<TransferEngine> engines = List.of();
        private volatile Runnable wakeConductor = () -> {};

        Parts(NodeConfig config) {
            NodeConfig.Environment environment = config.environment();
            this.config = config;
            id = NodeId.newLife(config.name(), environment.wallClock(), environment.random());
            waits = new Waits(environment.nanoClock());
            regions = new RegionTable(id, waits, environment.nanoClock(), config.closeTimeout().toNanos());
            callbacks = new Callbacks(config.name(), environment.callbackExecutor(),
                    config.threading() == ThreadingMode.INVOKER ? null : environment.threads(), counters);
            events = new BlockEvents(callbacks);
            loads = new PeerLoads(id);
            conductor = new Conductor(this, () -> wakeConductor.run());
        }

        void open() {
            NodeConfig.Environment environment = config.environment();
            // Before the pool, whose reservation can take seconds.
            Supplier<EvictionPolicy> policy = EvictionPolicy.named(config.evictionPolicy());
            pool = new DramPool("dram", List.of(new SizeClass(config.blockSize(), config.slots())),
                    environment.memory());
            Region region = regions.register(pool.memory(), Access.GUARDED);
            blocks = new BlockManager(new ManagerConfig(id, List.of(new PoolBinding(pool, region)), counters,
                    environment.nanoClock(), waits, environment.registry()::highestCounter,
                    config.allocateTimeout().toNanos(), config.cachedBlocks(),
                    policy), conductor);
            EngineContext context = new EngineContext(id, config.cluster(), regions, blocks.guards(), counters,
                    environment.nanoClock(),
                    this::onMessage);
            tcp = new TcpTransferEngine(context,
                    TcpConfig.defaults().withAddresses(config.bind(), config.advertise()));
            boolean shared = config.threading() != ThreadingMode.DEDICATED;
            Poller parking = tcp.poller();
            engines = List.of(new LocalTransferEngine(context, shared ? parking::wakeup : null), tcp);
        }

        AgentGroup startAgents() {
            boolean shared = config.threading() != ThreadingMode.DEDICATED;
            Poller tcpPoller = tcp().poller();
            Poller localPoller = engines.getFirst().poller();
            AgentIdle tcpIdle = new AgentIdle(config.idle(), tcpPoller);
            AgentIdle conductorIdle = shared ? tcpIdle : new AgentIdle(config.idle(), null);
            wakeConductor = conductorIdle::wakeup;
            List<AgentIdle> threadIdles = shared
                    ? List.of(tcpIdle)
                    : List.of(tcpIdle, new AgentIdle(config.idle(), localPoller), conductorIdle);
            Map<String, Endpoint> endpoints = tcp().advertised().map(at -> Map.of(tcp().name(), at)).orElse(Map.of());
            registry().join(new Peer(id, endpoints));
            AgentGroup agents = new AgentGroup(config, List.of(tcpPoller, localPoller), conductor, threadIdles);
            if (config.threading() == ThreadingMode.INVOKER) {
                waits.runWhileWaiting(agents);
            }
            return agents;
        }

        void abandonStart() {
            closing = true;
            registry().leave(id);
            engines.forEach(engine -> engine.poller().onClose());
            callbacks.close();
            if (blocks != null) {
                blocks.close(nowNs());
            } else if (pool != null) {
                pool.close();
            }
        }

        private void onMessage(NodeId from, byte[] message) {
            MessageHandler handler = config.environment().messages();
            if (!callbacks.offer(() -> handler.onMessage(from, message))) {
                LOG.warn("node {}: dropped a message of {} bytes from {}: the message handler is too slow", id,
                        message.length,
                        from);
            }
        }

        synchronized boolean beginClosing() {
            boolean first = !closing;
            closing = true;
            return first;
        }

        TcpTransferEngine tcp() {
            return Objects.requireNonNull(tcp);
        }

        @Override
        public NodeId id() {
            return id;
        }

        @Override
        public long nowNs() {
            return config.environment().nanoClock().getAsLong();
        }

        @Override
        public boolean isClosing() {
            return closing;
        }

        @Override
        public Registry registry() {
            return config.environment().registry();
        }

        @Override
        public Scheduler scheduler() {
            return config.environment().scheduler();
        }

        @Override
        public ClusterView view() {
            return loads;
        }

        @Override
        public PeerLoads loads() {
            return loads;
        }

        @Override
        public BlockManager blocks() {
            return Objects.requireNonNull(blocks);
        }

        @Override
        public Conductor conductor() {
            return conductor;
        }

        @Override
        public BlockEvents events() {
            return events;
        }

        @Override
        public Counters counters() {
            return counters;
        }

        @Override
        public @Nullable TransferEngine engineTo(Peer peer) {
            for (int i = 0; i < engines.size(); i++) {
                if (engines.get(i).reaches(peer)) {
                    return engines.get(i);
                }
            }
            return null;
        }
    }
}
