package io.mooncake.rdma;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.ControlChannel;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Topic;
import io.mooncake.rdma.verbs.VerbsException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A node's control messages over its cards: a lane of their own to each peer that was sent one, SENT when short, written into a grant of the
 * peer's landing region when long. The poller's, but for {@link #send} and {@link #carries}, which are for any thread.
 *
 * <pre>
 *   send ─▶ Outbox ─▶ OutgoingLane ── FrameQueue ══ SEND ════════▶ FrameQueue ── IncomingLane ─▶ deliver
 *                                         ║                            ▲ credits, grants   │ copy, check
 *                                         ╚══════ WRITE ═▶ LandingRegion ◀─────────────────┘
 * </pre>
 */
final class MessageLanes {
    private static final Logger LOG = LoggerFactory.getLogger(MessageLanes.class);
    private static final long TICK_NS = 10_000_000;

    private final RdmaFabric fabric;
    private final boolean used;
    private final int mostPeers;
    /** By the peers' names; any thread. */
    private final ConcurrentHashMap<String, Outbox> outboxes = new ConcurrentHashMap<>();
    /** To lives that are over, in the order of their ends; any thread. */
    private final ConcurrentLinkedQueue<Outbox> dead = new ConcurrentLinkedQueue<>();
    private volatile boolean closed;

    private final List<OutgoingLane> outgoing = new ArrayList<>();
    private final List<IncomingLane> incoming = new ArrayList<>();
    private long nextTickNs;

    MessageLanes(RdmaFabric fabric, RdmaConfig.Limits limits) {
        this.fabric = fabric;
        used = limits.memory().landingBytes() > 0;
        mostPeers = limits.peers();
        nextTickNs = fabric.nowNs();
    }

    /** Whether messages go by the cards at all. */
    boolean isUsed() {
        return used;
    }

    /** Takes a message, to be carried in its turn; false when it has to go another way, or to wait. */
    boolean send(Peer peer, Topic topic, ByteBuffer message) {
        if (!mayCarry(topic)) {
            return false;
        }
        Outbox outbox = outboxTo(peer);
        if (outbox == null || outbox.isAway()
                || !outbox.offer(new Outbox.Message(topic, ControlChannel.copy(peer, message)))) {
            return false;
        }
        if (outbox.mustTell()) {
            fabric.tell(() -> look(outbox));
        }
        return true;
    }

    /** Whether a message that was not taken has to wait, since it would overtake others by another engine. */
    boolean carries(Peer peer, Topic topic) {
        Outbox outbox = mayCarry(topic) ? outboxes.get(peer.id().name()) : null;
        return outbox != null && !outbox.isAway() && outbox.peer.id().equals(peer.id());
    }

    /** Lanes themselves are connected by another engine's messages. */
    private boolean mayCarry(Topic topic) {
        return used && !closed && topic != Topic.LANES;
    }

    private @Nullable Outbox outboxTo(Peer peer) {
        NodeId id = peer.id();
        Outbox known = outboxes.get(id.name());
        if (known != null && known.peer.id().equals(id)) {
            return known;
        }
        boolean older = known != null && known.peer.id().incarnation() > id.incarnation();
        if (older || (known == null && outboxes.size() >= mostPeers && !forgetDead())) {
            return null;
        }
        Outbox made = new Outbox(peer);
        Outbox there = outboxes.compute(id.name(), (name, now) -> now == known ? made : now);
        if (known != null && there == made) {
            fabric.tell(() -> forget(known));
        }
        return there != null && there.peer.id().equals(id) ? there : null;
    }

    /** Makes room where a peer died: the one that did so first, to whom nothing is on its way any more. */
    private boolean forgetDead() {
        for (Outbox one; (one = dead.poll()) != null;) {
            if (outboxes.remove(one.peer.id().name(), one)) {
                return true;
            }
        }
        return false;
    }

    /** Membership says that a life is over: a lane that nothing is sent by would never find out. The poller. */
    void onDead(NodeId life) {
        Outbox outbox = outboxes.get(life.name());
        if (outbox == null || !outbox.peer.id().equals(life)) {
            return;
        }
        MooncakeException cause = new MooncakeException(Kind.PEER_UNREACHABLE, "node " + life + " is dead");
        OutgoingLane lane = outbox.lane;
        if (lane != null) {
            lane.onBroken(cause);
        } else if (!outbox.isAway()) {
            handOver(outbox, cause.getMessage());
        }
        if (outbox.end()) {
            dead.add(outbox);
        }
    }

    /** A later life of the peer is sent to. */
    private void forget(Outbox former) {
        OutgoingLane lane = former.lane;
        if (lane != null) {
            lane.onClosed();
        }
    }

    private void look(Outbox outbox) {
        outbox.onLook();
        OutgoingLane lane = outbox.lane;
        if (lane != null) {
            lane.pump();
        } else if (!outbox.isAway() && !closed) {
            connect(outbox);
        }
    }

    private void connect(Outbox outbox) {
        Nic nic = fabric.choose(outbox.peer);
        if (nic == null) {
            handOver(outbox, "no card has an active port now");
            return;
        }
        OutgoingLane lane = new OutgoingLane(this, fabric, nic, outbox);
        outbox.lane = lane;
        outgoing.add(lane);
        fabric.begin(lane);
    }

    void onLost(OutgoingLane lane, Outbox outbox, MooncakeException cause) {
        outgoing.remove(lane);
        outbox.lane = null;
        handOver(outbox, cause.getMessage());
    }

    /** What waits goes by another engine; what was posted may have arrived, and is not sent again. */
    private void handOver(Outbox outbox, @Nullable String why) {
        LOG.info("node {}: messages to node {} go by another engine from now on: {}", fabric.node().self(),
                outbox.peer.id(), why);
        outbox.away(message -> {
            if (!fabric.node().control().send(outbox.peer.id(), message.topic(), ByteBuffer.wrap(message.bytes()))) {
                fabric.node().counters().increment(Counter.MESSAGES_DROPPED);
            }
        });
    }

    /** A peer's lane stands here. */
    void onServed(IncomingLane lane) {
        incoming.add(lane);
        lane.begin();
    }

    void onLost(IncomingLane lane) {
        incoming.remove(lane);
    }

    /** Takes what a card says about messages; how much that was. */
    int poll(Nic nic) {
        MessagePort port = nic.messagePort();
        if (port == null) {
            return 0;
        }
        try {
            return port.poll();
        } catch (VerbsException e) {
            nic.onDead(String.valueOf(e.getMessage()));
            return 0;
        }
    }

    /** What is due by time. */
    void tick() {
        if (outgoing.isEmpty() && incoming.isEmpty()) {
            return;
        }
        long nowNs = fabric.nowNs();
        if (nowNs - nextTickNs >= 0) {
            nextTickNs = nowNs + TICK_NS;
            List.copyOf(outgoing).forEach(lane -> lane.tick(nowNs));
            List.copyOf(incoming).forEach(lane -> lane.tick(nowNs));
        }
    }

    /** Takes no more messages. */
    void close() {
        closed = true;
    }
}
