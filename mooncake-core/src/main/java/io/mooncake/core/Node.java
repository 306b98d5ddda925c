package io.mooncake.core;

import io.mooncake.core.base.ByteSize;
import io.mooncake.core.base.Counters;
import io.mooncake.core.base.Endpoint;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.FreeRanges;
import io.mooncake.core.block.PoolSpace;
import io.mooncake.core.block.Tier;
import io.mooncake.core.pool.BlockPool;
import io.mooncake.core.registry.NodeSpace;
import io.mooncake.core.registry.PairFigures;
import io.mooncake.core.registry.RegistryStatus;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Topic;
import io.mooncake.core.transfer.TransferEngine;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One embedded node: its memory, its engines, its agents. Any thread; in INVOKER mode only the thread that started it may run it or
 * wait for it.
 *
 * <pre>
 *   BlockStore ─▶ BlockManager ─▶ DramPool          a hit: no queue, no copy
 *       │
 *       └─▶ Pull ─▶ Scheduler ─▶ TransferEngine     a copy here, inside this host, or by TCP; proven by the guard
 *                   Registry       │
 *   Conductor ◀────────────────────┘ replicas committed, further attempts, announcements, evictions
 * </pre>
 */
public final class Node implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Node.class);

    private final NodeConfig config;
    private final NodeParts parts;
    private final NodeStore store;
    private final HandOver handOver;
    private final NodeMover mover;

    private Node(NodeConfig config, NodeParts parts) {
        this.config = config;
        this.parts = parts;
        store = new NodeStore(parts, config);
        handOver = new HandOver(parts, store);
        Raising.serve(parts, store);
        mover = new NodeMover(parts, store);
    }

    /**
     * Starts a node: finds its cluster, reserves its pool, binds its port, joins its registry, starts its agents. Every byte of the pool is written once, so
     * that memory that is not there is an error now and no surprise later; that takes about a second a GiB.
     *
     * @param config the settings
     * @return the running node
     * @throws MooncakeException CONFIG_ERROR, also for an address that cannot be bound; OUT_OF_MEMORY; IN_USE when the name is taken.
     *     Nothing is left behind then
     */
    public static Node start(NodeConfig config) {
        Node node = new Node(config, NodeParts.start(config));
        node.parts.life().onStop(node::stop);
        LOG.info("node {} started: {} slots of {}, {} spare, cluster {}, tcp {}, {}, {} {}", node.id(),
                config.pool().slots(),
                ByteSize.format(config.pool().blockSize()), config.pool().spareSlots(), config.cluster().name(),
                node.endpoint().map(Endpoint::toString).orElse("none"), node.parts.pool(),
                config.agents().threading(), config.agents().idle());
        String warning = config.pool().smallBlockWarning();
        if (warning != null) {
            LOG.warn("node {}: {}", node.id(), warning);
        }
        return node;
    }

    /** For tests. */
    NodeParts parts() {
        return parts;
    }

    /**
     * Who this node is.
     *
     * @return name and incarnation
     */
    public NodeId id() {
        return parts.life().id;
    }

    /**
     * How it is set up.
     *
     * @return as started
     */
    public NodeConfig config() {
        return config;
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
     * What schedulers move blocks with.
     *
     * @return the same one always
     */
    public BlockMover mover() {
        return mover;
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
        return parts.regions().register(memory, access);
    }

    /**
     * What the node has counted since it started.
     *
     * @return live counters
     */
    public Counters counters() {
        return parts.counters();
    }

    /**
     * How the slots of the node's memory are shared out.
     *
     * @return used + quarantined + free = capacity
     */
    public BlockPool.Usage usage() {
        return usage(Tier.DRAM);
    }

    /**
     * How the slots of a tier are shared out.
     *
     * @param tier which
     * @return used + quarantined + free = capacity; all 0 for a tier that the node does not have
     */
    public BlockPool.Usage usage(Tier tier) {
        return parts.blocks().usage(tier);
    }

    /**
     * How what is free of this node's memory lies, where blocks take as many bytes as they need.
     *
     * @return zeros where each has a slot
     */
    public FreeRanges freeRanges() {
        return freeRanges(Tier.DRAM);
    }

    /**
     * How what is free of a tier lies, where blocks take as many bytes as they need.
     *
     * @param tier which
     * @return zeros where each has a slot, and for a tier that the node does not have
     */
    public FreeRanges freeRanges(Tier tier) {
        return parts.blocks().freeRanges(tier);
    }

    /**
     * Where peers dial this node by TCP.
     *
     * @return the advertised address, with the port that was really bound
     */
    public Optional<Endpoint> endpoint() {
        return parts.engines()
                .stream()
                .filter(engine -> engine.name().equals("tcp"))
                .findFirst()
                .flatMap(TransferEngine::advertised)
                .map(address -> Endpoint.parse(address, 0));
    }

    /**
     * Where peers reach this node by each of its engines: what {@code LocalRegistry.withAddress} takes in another process.
     *
     * @return text by the engine's name
     */
    public Map<String, String> addresses() {
        return NodeParts.addresses(parts.engines());
    }

    /**
     * How the node fares.
     *
     * @return at this moment; any thread, at any time
     */
    public NodeHealth health() {
        RegistryStatus status = parts.sources().registry().status();
        List<String> troubles = new ArrayList<>(status.troubles());
        String stopped = parts.life().whyNot();
        if (stopped != null) {
            troubles.addFirst(stopped);
        }
        NodeHealth.State state = stopped != null
                ? NodeHealth.State.STOPPED
                : troubles.isEmpty() ? NodeHealth.State.OK : NodeHealth.State.DEGRADED;
        return new NodeHealth(state, status.members(), status.rejoins(),
                Optional.ofNullable(status.address()).map(address -> Endpoint.parse(address, 0)), troubles);
    }

    /**
     * Listens to what happens to other nodes, from now on; called by the callback executor, one event at a time. Who is there already is
     * told by no event.
     *
     * @param listener must not block
     * @return closing it ends the listening
     */
    public BlockStore.Subscription nodeEvents(Consumer<? super NodeEvent> listener) {
        store.checkOpen();
        return parts.nodeEvents().listen(listener);
    }

    /**
     * Who is there.
     *
     * @return the live nodes that are known, this one included
     */
    public List<NodeId> nodes() {
        return parts.sources().registry().nodes().stream().map(Peer::id).toList();
    }

    /**
     * How many changes of a node's facts (its blocks written and evicted, above all) are known here, none of them missing. What a node
     * announced, {@link BlockStore#awaitAnnounced}, is found from here once this is as high here as it was there.
     *
     * @param node this one or another, in this incarnation
     * @return 0 where nothing is known of it, and where the nodes share one registry, in which nothing is late
     */
    public long changesKnown(NodeId node) {
        return parts.sources().registry().changesKnown(node);
    }

    /**
     * What reads between nodes take, as each measured its own and told the others: what blocks are read by. And what copies between devices of a node
     * take, as its engines measured them before it began, in the pair of that node and itself.
     *
     * @return a pair for each reader and holder of which anything is known; this node's own as of now, the others' a few seconds old
     */
    public List<PairFigures> matrix() {
        return parts.sources().costs().figures();
    }

    /**
     * What room a node has in its pools.
     *
     * @param node this one or another, in this incarnation
     * @return as that node said last: a hint, a second old or more; empty when nothing is known of it
     */
    public List<PoolSpace> space(NodeId node) {
        NodeSpace space = parts.sources().registry().space(node);
        return space == null ? List.of() : space.pools();
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
        return parts.control().send(to, Topic.APPLICATION, message);
    }

    /**
     * INVOKER: one duty cycle of the node's agents, and the callbacks that are due.
     *
     * @return how much was done; 0 lets the caller do something else
     * @throws MooncakeException ILLEGAL_STATE in another mode or thread
     */
    public int doWork() {
        return parts.agents().doWork() + parts.callbacks().runDue();
    }

    /**
     * Leaves the cluster in order: takes no block any more, asks the other nodes to take copies of those that nobody else has, and then
     * closes as {@link #close()} does. Without it a node that closes drops its blocks. Any thread, but in INVOKER mode the owner.
     *
     * @param timeout for handing over, at most
     * @return how many blocks nobody has taken: they are gone
     * @throws MooncakeException as {@link #close()}, and INVALID_ARGUMENT for a time that is not positive
     */
    public int leave(Duration timeout) {
        store.checkOpen();
        parts.agents().checkMayRun();
        long timeoutNs = NodeStore.positiveNs("timeout", timeout);
        parts.life().beginLeaving();
        int dropped = handOver.run(parts.life().nowNs() + timeoutNs);
        LOG.info("node {} leaves: {} blocks are handed over to nobody", id(), dropped);
        close();
        return dropped;
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
        AgentGroup agents = parts.agents();
        agents.checkMayRun();
        boolean first;
        // Whoever closes too waits here: what follows is the conductor's work, which is nobody else's while that lives.
        synchronized (agents) {
            first = parts.life().beginClosing();
            if (first) {
                leave();
                agents.close();
                parts.callbacks().beginClosing();
            }
        }
        try {
            parts.callbacks().runDueWhereInvoked();
            parts.blocks().close(parts.life().nowNs() + config.timeouts().close().toNanos());
        } finally {
            if (first) {
                // Only now, so that listeners are not called by this thread, inside the manager's lock.
                parts.callbacks().close();
                parts.pool().close();
            }
        }
        if (first) {
            LOG.info("node {} closed", id());
        }
    }

    /** Somebody has this node's name, and came later. */
    private void stop() {
        Thread closer = config.environment().threads().newThread(() -> {
            leave();
            if (config.agents().threading() != ThreadingMode.INVOKER) {
                try {
                    close();
                } catch (MooncakeException e) {
                    LOG.warn("node {}: not everything could be given back when it stopped: {}", id(), e.getMessage());
                }
            }
        });
        closer.setName("mooncake-" + config.name() + "-stop");
        closer.start();
    }

    private void leave() {
        try {
            parts.sources().registry().leave(id());
        } catch (RuntimeException e) {
            LOG.error("node {}: the registry threw when it was left; closing goes on", id(), e);
        }
    }
}
