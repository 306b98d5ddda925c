package io.mooncake.rdma;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.onesided.Lane;
import io.mooncake.core.transfer.onesided.LaneListener;
import io.mooncake.core.transfer.onesided.ReadRequest;
import io.mooncake.core.transfer.onesided.RemoteRegion;
import io.mooncake.rdma.LaneMessage.Closed;
import io.mooncake.rdma.LaneMessage.Keys;
import io.mooncake.rdma.LaneMessage.NoRegion;
import io.mooncake.rdma.LaneMessage.Query;
import io.mooncake.rdma.LaneMessage.Refused;
import io.mooncake.rdma.LaneMessage.Reply;
import io.mooncake.rdma.LaneMessage.Request;
import io.mooncake.rdma.verbs.Access;
import io.mooncake.rdma.verbs.Completion;
import io.mooncake.rdma.verbs.PeerEnd;
import io.mooncake.rdma.verbs.QueuePair;
import io.mooncake.rdma.verbs.VerbsException;
import io.mooncake.rdma.verbs.WorkRequestRing;
import org.agrona.collections.Int2ObjectHashMap;
import org.jspecify.annotations.Nullable;

/**
 * A queue pair by which this node reads from one process life of a peer. The poller posts; the registrar makes, connects and destroys it,
 * under the lane's lock, since the poller destroys it itself where requests are outstanding: nothing may land when that returns.
 */
final class RdmaLane implements Lane {
    private static final long ASK_AGAIN_NS = 500_000_000;

    private final RdmaFabric fabric;
    private final Nic nic;
    private final NodeId peer;
    private final LaneListener listener;
    private final long number;

    // The poller's.
    private final Int2ObjectHashMap<RdmaRegion> regions = new Int2ObjectHashMap<>();
    private final WorkRequestRing ring;
    private final long[] filled;
    private int outstanding;
    private boolean destroyed;
    private int openQueuePair;

    // Under the lock.
    private @Nullable QueuePair queuePair;
    private int packetNumber;
    private long keyEpoch;
    private boolean requested;
    private boolean answered;
    private boolean ended;

    RdmaLane(RdmaFabric fabric, Nic nic, NodeId peer, LaneListener listener, long number) {
        this.fabric = fabric;
        this.nic = nic;
        this.peer = peer;
        this.listener = listener;
        this.number = number;
        int requests = fabric.limits().requestsPerLane();
        ring = new WorkRequestRing(requests);
        filled = new long[requests];
        nic.use.lanes++;
    }

    Nic nic() {
        return nic;
    }

    long number() {
        return number;
    }

    /** Whether a message about it comes from where it leads: a refusal may come from another life of that node. */
    boolean isOf(NodeId from, LaneMessage message) {
        return from.equals(peer) || (message instanceof Refused && from.name().equals(peer.name()));
    }

    /** Makes the queue pair and asks the peer for its end. The registrar. */
    synchronized void begin() {
        if (ended) {
            return;
        }
        try {
            QueuePair made = nic.newQueuePair(nic.completions, fabric.capacity());
            queuePair = made;
            made.toInit(nic.path().port(), Access.LOCAL_READ);
            packetNumber = fabric.nextPacketNumber();
            requested = fabric.send(peer, new Request(number, peer.incarnation(), fabric.reads(nic),
                    new PeerEnd(made.number(), packetNumber, nic.path().mtu(), nic.port().lid(), nic.gid().raw())));
            if (!requested) {
                broken(Kind.PEER_UNREACHABLE, "no engine carries its messages there, or too many wait");
            }
        } catch (VerbsException e) {
            broken(e.asMooncake().kind(), e.getMessage());
        }
    }

    /** The peer's end stands. The registrar. */
    synchronized void onReply(Reply reply) {
        QueuePair made = queuePair;
        if (ended || answered || made == null) {
            return;
        }
        answered = true;
        keyEpoch = reply.keyEpoch();
        try {
            int reads = Math.min(reply.reads(), fabric.reads(nic));
            made.toReadyToReceive(nic.path(), reply.end(), fabric.settings(reads));
            made.toReadyToSend(packetNumber, fabric.settings(reads));
            int queuePairNumber = made.number();
            fabric.tell(() -> {
                if (!destroyed) {
                    openQueuePair = queuePairNumber;
                    fabric.onOpen(queuePairNumber, this);
                    listener.onOpen();
                }
            });
        } catch (VerbsException e) {
            broken(e.asMooncake().kind(), e.getMessage());
        }
    }

    void onRefused(Refused refused) {
        broken(refused.kind(), refused.text());
    }

    /** The peer's end is gone. */
    void onClosed() {
        broken(Kind.PEER_UNREACHABLE, "the peer has closed it");
    }

    /** It is of no use any more; told by the next poll. Any thread. */
    void broken(Kind kind, @Nullable String why) {
        MooncakeException cause = new MooncakeException(kind, this + ": " + why);
        fabric.tell(() -> onBroken(cause));
    }

    /** The same at once, for the poller. */
    void onBroken(MooncakeException cause) {
        if (!destroyed) {
            listener.onBroken(cause);
        }
    }

    void onKeys(Keys keys) {
        boolean current;
        synchronized (this) {
            current = answered && keys.keyEpoch() == keyEpoch;
        }
        if (!current) {
            broken(Kind.PEER_UNREACHABLE, "the peer's card was reset: keys of epoch " + keys.keyEpoch());
            return;
        }
        fabric.tell(() -> {
            if (!destroyed) {
                known(keys.region()).answer(keys);
                listener.onRegion(keys.region());
            }
        });
    }

    void onNoRegion(NoRegion none) {
        MooncakeException why = new MooncakeException(none.kind(), none.text());
        fabric.tell(() -> {
            if (!destroyed) {
                known(none.region()).refuse(why);
                listener.onRegion(none.region());
            }
        });
    }

    private RdmaRegion known(int region) {
        return regions.computeIfAbsent(region, any -> new RdmaRegion());
    }

    @Override
    public RemoteRegion region(int region) {
        RdmaRegion known = regions.get(region);
        if (known == null) {
            known = known(region);
            ask(region, known);
        } else if (!known.isAnswered() && fabric.nowNs() - known.askedNs() >= ASK_AGAIN_NS) {
            ask(region, known); // A message may be lost.
        }
        return known;
    }

    private void ask(int number, RdmaRegion region) {
        region.onAsked(fabric.nowNs());
        if (!fabric.send(peer, new Query(this.number, number))) {
            broken(Kind.PEER_UNREACHABLE, "no message about region r" + number + " could be sent");
        }
    }

    @Override
    public boolean isReady(Region destination) {
        return fabric.isRegistered(nic, destination);
    }

    @Override
    public boolean post(ReadRequest request) {
        Region destination = request.destination();
        Registration local = nic.use.find(destination);
        if (local == null || !ring.hasRoom()) {
            return false;
        }
        RdmaRegion source = (RdmaRegion) request.source();
        boolean ofGuards = request.ofGuards();
        long from = request.sourceOffset();
        long to = request.destinationOffset();
        if (ring.filled() == 0) {
            fabric.onFilled(this);
        }
        filled[ring.filled()] = request.cookie();
        // Each with a completion: a chunk counts only when its own was seen.
        ring.read(request.cookie(), true)
                .remote(source.address(ofGuards, from), source.key(ofGuards, from))
                .local(destination.memory().address() + to, (int) request.bytes(), local.localKey(to));
        if (request.isFenced()) {
            ring.fenced();
        }
        outstanding++;
        return true;
    }

    /** Posts what was filled in, with one doorbell. */
    void flush() {
        QueuePair open = queuePair();
        int count = ring.filled();
        if (destroyed || open == null || count == 0) {
            return;
        }
        int taken = open.post(ring);
        if (taken < count) {
            MooncakeException cause = new MooncakeException(Kind.PEER_UNREACHABLE,
                    this + ": ibv_post_send took " + taken + " of " + count + " requests, errno " + ring.refusal());
            for (int i = taken; i < count; i++) {
                fabric.onNotPosted(this, filled[i], cause);
            }
        }
    }

    // Set before the poller is told that the lane is open, and destroyed by the poller alone from then on.
    @SuppressWarnings("GuardedBy")
    private @Nullable QueuePair queuePair() {
        return queuePair;
    }

    /** One of its requests has ended. */
    void onCompleted() {
        outstanding--;
    }

    /** What a failed request says of the lane. */
    MooncakeException cause(Completion failed) {
        return new MooncakeException(Kind.PEER_UNREACHABLE, this + ": " + failed.status() + ", "
                + failed.status().meaning() + " (vendor error " + failed.vendorError() + ")");
    }

    @Override
    public void fail() {
        fabric.later(this::toError);
    }

    private synchronized void toError() {
        QueuePair open = queuePair;
        if (ended || open == null || nic.isFailed()) {
            return;
        }
        try {
            open.toError();
        } catch (VerbsException e) {
            fabric.log(this + " could not be moved to ERR; it is destroyed when its time is up", e);
        }
    }

    @Override
    public void destroy() {
        if (destroyed) {
            return;
        }
        destroyed = true;
        ring.clear();
        if (outstanding > 0) {
            end();
        } else {
            fabric.later(this::end);
        }
        fabric.onDestroyed(this, openQueuePair);
    }

    /** Destroys the queue pair: no request of it touches memory any more. */
    synchronized void end() {
        if (ended) {
            return;
        }
        ended = true;
        QueuePair open = queuePair;
        if (open != null) {
            nic.close(open);
        }
        ring.close();
        if (requested) {
            fabric.send(peer, new Closed(number, false));
        }
    }

    /** The number of its queue pair; 0 while there is none. */
    synchronized int queuePairNumber() {
        QueuePair open = queuePair;
        return open == null ? 0 : open.number();
    }

    @Override
    public String toString() {
        return "lane " + number + " from " + nic + " to node " + peer;
    }
}
