package io.mooncake.core.registry.jgroups;

import io.mooncake.core.base.ClusterSecret;
import io.mooncake.core.base.Endpoint;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.registry.Discovery.Addresses;
import io.mooncake.core.registry.MemberChange;
import io.mooncake.core.registry.Membership;
import io.mooncake.core.registry.NodeSpace;
import io.mooncake.core.registry.PairFigures;
import io.mooncake.core.registry.Registry;
import io.mooncake.core.registry.RegistryMessage;
import io.mooncake.core.registry.RegistryMessage.Ask;
import io.mooncake.core.registry.RegistryMessage.LatestLife;
import io.mooncake.core.registry.RegistryStatus;
import io.mooncake.core.registry.RegistryTransport;
import io.mooncake.core.registry.ReplicatedRegistry;
import io.mooncake.core.transfer.ControlChannel;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Topic;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jgroups.Address;
import org.jgroups.JChannel;
import org.jgroups.PhysicalAddress;
import org.jgroups.protocols.TP;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The registry of one node of several processes, joined by JGroups. Any thread, as {@link ReplicatedRegistry}; {@link #begin} connects and
 * {@link #leave} disconnects, and between them two threads live: one takes in what JGroups brings ({@link Inbox}), the other, in here, is
 * the only one that sends, since a send may block.
 *
 * <p>While the cluster transport is down, everything that is known stays readable until membership says otherwise, and the node's own blocks
 * are announced when it is back.
 */
public final class JGroupsRegistry implements Registry {
    private static final Logger LOG = LoggerFactory.getLogger(JGroupsRegistry.class);
    /** Every so many heartbeats a node says which of its facts is the last. */
    private static final int BEAT_HEARTBEATS = 3;
    private static final long BLOCKED_NS = TimeUnit.SECONDS.toNanos(1);
    private static final long ASK_STEP_NS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long JOIN_MS = 1_000;

    private final Membership membership;
    private final String cluster;
    private final JChannel channel;
    private final ThreadFactory threads;
    private final LongSupplier nanoClock;
    private final ReplicatedRegistry facts;
    private final Inbox inbox;
    private final Carrier carrier = new Carrier();
    private final AtomicInteger answers = new AtomicInteger();
    private volatile @Nullable Thread outbound;
    private volatile @Nullable NodeId self;
    private volatile @Nullable ControlChannel control;
    private volatile boolean closed;
    private volatile boolean greeting;
    /** Since when a send goes on; 0 = none does. */
    private volatile long sendingSinceNs;
    private volatile @Nullable String failure;

    /**
     * A registry that is not connected yet.
     *
     * @param membership how to be a member
     * @param node the node's name
     * @param of whom to meet
     * @param threads makes the two threads
     * @param nanoClock the node's clock
     * @throws io.mooncake.core.base.MooncakeException CONFIG_ERROR for addresses that cannot be used
     */
    public JGroupsRegistry(Membership membership, String node, Cluster of, ThreadFactory threads,
            LongSupplier nanoClock) {
        this.membership = membership;
        this.threads = threads;
        this.nanoClock = nanoClock;
        cluster = of.name();
        channel = Stack.channel(node, of.name(), of.secret(), membership);
        facts = new ReplicatedRegistry(carrier);
        inbox = new Inbox(facts, this::onMessage, this::greet, channel::getAddress);
        channel.setReceiver(inbox);
    }

    /**
     * Whom to meet.
     *
     * @param name the cluster's
     * @param secret the cluster's; null = none
     */
    public record Cluster(String name, @Nullable ClusterSecret secret) {}

    // ---- life

    @Override
    public NodeId begin(NodeId proposed) {
        start(inbox, "registry-in");
        try {
            channel.connect(cluster);
        } catch (Exception e) {
            throw Stack.cannot(membership, e);
        }
        outbound = start(this::send, "registry-out");
        facts.ask(proposed);
        long deadlineNs = nanoClock.getAsLong() + membership.heartbeat().toNanos();
        // Whoever was killed a moment ago is still in the view and does not answer.
        while (answers.get() < channel.getView().size() - 1 && nanoClock.getAsLong() - deadlineNs < 0) {
            LockSupport.parkNanos(ASK_STEP_NS);
        }
        return facts.begin(proposed);
    }

    private Thread start(Runnable task, String name) {
        Thread thread = threads.newThread(task);
        thread.setName("mooncake-" + channel.getName() + "-" + name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    @Override
    public void join(Peer node) {
        facts.join(node);
        self = node.id();
        greet();
    }

    @Override
    public void leave(NodeId node) {
        facts.leave(node);
        closed = true;
        wakeup();
        Thread sender = outbound;
        if (sender != null) {
            try {
                sender.join(JOIN_MS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
        channel.close();
        inbox.close();
    }

    // ---- the node's side

    @Override
    public void watch(Consumer<? super MemberChange> listener) {
        facts.watch(listener);
    }

    @Override
    public void carriedBy(ControlChannel channel) {
        channel.onMessage(Topic.REGISTRY, inbox::receive);
        control = channel;
    }

    @Override
    public void announce(BlockRef written) {
        facts.announce(written);
        wakeup();
    }

    @Override
    public void withdraw(BlockRef evicted) {
        facts.withdraw(evicted);
        wakeup();
    }

    @Override
    public void announce(PairFigures measured) {
        facts.announce(measured);
        wakeup();
    }

    @Override
    public void announce(NodeSpace space) {
        facts.announce(space);
        wakeup();
    }

    @Override
    public @Nullable NodeSpace space(NodeId node) {
        return facts.space(node);
    }

    @Override
    public List<PairFigures> figures() {
        return facts.figures();
    }

    @Override
    public List<Peer> nodes() {
        return facts.nodes();
    }

    @Override
    public @Nullable Peer peer(NodeId node) {
        return facts.peer(node);
    }

    @Override
    public List<BlockRef> locations(BlockId id) {
        return facts.locations(id);
    }

    @Override
    public long changesKnown(NodeId node) {
        return facts.changesKnown(node);
    }

    @Override
    public RegistryStatus status() {
        List<String> troubles = new ArrayList<>();
        String failed = failure;
        if (failed != null) {
            troubles.add("the last message could not be sent: " + failed);
        }
        long since = sendingSinceNs;
        long blockedNs = since == 0 ? 0 : nanoClock.getAsLong() - since;
        if (blockedNs > BLOCKED_NS) {
            troubles.add("announcements wait: sending has been blocked for "
                    + TimeUnit.NANOSECONDS.toMillis(blockedNs) + " ms");
        }
        if (closed || !channel.isConnected()) {
            troubles.add("the node is not connected to its cluster");
        } else if (channel.getView().size() == 1 && membership.discovery() instanceof Addresses list
                && list.addresses().stream().anyMatch(address -> !address.toString().equals(address()))) {
            troubles.add("the node is alone: nobody answers at " + list);
        }
        facts.incomplete().forEach(node -> troubles.add("facts of node " + node + " are missing and asked for"));
        return new RegistryStatus(address(), facts.nodes().size(), inbox.rejoins(), troubles);
    }

    /** Where others find this node. */
    private @Nullable String address() {
        TP transport = channel.getProtocolStack().getTransport();
        PhysicalAddress address = transport.localPhysicalAddress();
        return address == null
                ? null
                : new Endpoint(address.getIpAddress().getHostAddress(), address.getPort()).toString();
    }

    // ---- in

    /** Inbound: what a message said. */
    private void onMessage(RegistryMessage message) {
        if (message instanceof LatestLife) {
            answers.incrementAndGet();
        }
        wakeup();
    }

    /** Inbound: somebody is new. */
    private void greet() {
        greeting = true;
        wakeup();
    }

    // ---- out

    private void wakeup() {
        LockSupport.unpark(outbound);
    }

    /** Outbound: until the node leaves. */
    private void send() {
        long beatNs = BEAT_HEARTBEATS * membership.heartbeat().toNanos();
        long nextBeatNs = nanoClock.getAsLong();
        while (!closed) {
            long nowNs = nanoClock.getAsLong();
            sendingSinceNs = nowNs == 0 ? 1 : nowNs;
            boolean beats = nowNs - nextBeatNs >= 0;
            if (beats) {
                facts.beat();
                nextBeatNs = nowNs + beatNs;
            }
            if (greeting || beats) {
                greeting = false;
                askStrangers();
            }
            int sent = facts.flush();
            sendingSinceNs = 0;
            if (sent == 0 && !greeting) {
                LockSupport.parkNanos(this, Math.max(1, nextBeatNs - nowNs));
            }
        }
    }

    /** Who they are, and what they have: nobody else says it of them. */
    private void askStrangers() {
        NodeId asker = self;
        if (asker != null) {
            byte[] question = new Ask(asker).toBytes();
            inbox.strangers().forEach(stranger -> carrier.carry(stranger, question));
        }
    }

    /** Outbound, and whoever begins. */
    private final class Carrier implements RegistryTransport {
        @Override
        public void broadcast(byte[] message) {
            carry(null, message);
        }

        @Override
        public void send(NodeId to, byte[] message) {
            Address address = inbox.address(to.name());
            if (address != null) {
                carry(address, message);
            }
        }

        /** By this library's own connections, where the asker is known; else as every other message. */
        @Override
        public void sendBulk(NodeId to, byte[] message) {
            ControlChannel own = control;
            if (own == null || !own.send(to, Topic.REGISTRY, ByteBuffer.wrap(message))) {
                send(to, message);
            }
        }

        private void carry(@Nullable Address to, byte[] message) {
            try {
                channel.send(to, message);
                failure = null;
            } catch (Exception e) {
                // It is lost, which the receivers will notice and ask.
                if (failure == null && !closed) {
                    LOG.warn("node {}: a message of {} bytes to the cluster could not be sent; it will be asked for",
                            channel.getName(), message.length, e);
                }
                failure = e.toString();
            }
        }
    }
}
