package io.mooncake.rdma;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.rdma.LaneMessage.Closed;
import io.mooncake.rdma.LaneMessage.Keys;
import io.mooncake.rdma.LaneMessage.NoRegion;
import io.mooncake.rdma.LaneMessage.Purpose;
import io.mooncake.rdma.LaneMessage.Refused;
import io.mooncake.rdma.LaneMessage.Reply;
import io.mooncake.rdma.LaneMessage.Request;
import io.mooncake.rdma.verbs.Access;
import io.mooncake.rdma.verbs.Completion;
import io.mooncake.rdma.verbs.PeerEnd;
import io.mooncake.rdma.verbs.QueuePair;
import io.mooncake.rdma.verbs.VerbsException;
import org.jspecify.annotations.Nullable;

/**
 * A queue pair that this node asked one process life of a peer for, and how it is connected. The poller uses it; the registrar makes, connects
 * and destroys it, under the lane's lock, since the poller destroys it itself where nothing may land when that returns.
 */
abstract class RequestedLane {
    final RdmaFabric fabric;
    final Nic nic;
    final NodeId peer;
    private final long number;
    private final Purpose purpose;

    // Under the lock.
    private @Nullable QueuePair queuePair;
    private int packetNumber;
    private long keyEpoch;
    private boolean requested;
    private boolean answered;
    private boolean ended;

    RequestedLane(RdmaFabric fabric, Nic nic, NodeId peer, Purpose purpose) {
        this.fabric = fabric;
        this.nic = nic;
        this.peer = peer;
        this.purpose = purpose;
        number = fabric.nextLane();
        nic.use.lanes++;
    }

    /** Makes the queue pair. The registrar. */
    abstract QueuePair newQueuePair();

    /** What it needs before the peer may send. The registrar. */
    void prepare() {
        // Most need nothing.
    }

    /** It may be posted to. The poller. */
    abstract void onOpen(QueuePair open);

    /** It is of no use any more. The poller. */
    public abstract void onBroken(MooncakeException cause);

    /** Gives back what it has beside the queue pair, which is destroyed. */
    abstract void release();

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
            QueuePair made = newQueuePair();
            queuePair = made;
            made.toInit(nic.path().port(), Access.LOCAL_READ);
            prepare();
            packetNumber = fabric.nextPacketNumber();
            requested = fabric.send(peer, new Request(number, purpose, peer.incarnation(), fabric.reads(nic),
                    new PeerEnd(made.number(), packetNumber, nic.path().mtu(), nic.port().lid(), nic.gid().raw())));
            if (!requested) {
                broken(Kind.PEER_UNREACHABLE, "no engine carries its messages there, or too many wait");
            }
        } catch (VerbsException e) {
            broken(e.asMooncake().kind(), e.getMessage());
        } catch (MooncakeException e) {
            broken(e.kind(), e.getMessage());
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
            fabric.tell(() -> onOpen(made));
        } catch (VerbsException e) {
            broken(e.asMooncake().kind(), e.getMessage());
        }
    }

    /** Whether keys of an epoch are those that the peer's end works with. */
    synchronized boolean isOfEpoch(long epoch) {
        return answered && epoch == keyEpoch;
    }

    void onRefused(Refused refused) {
        broken(refused.kind(), refused.text());
    }

    /** The peer's end is gone. */
    void onClosed() {
        broken(Kind.PEER_UNREACHABLE, "the peer has closed it");
    }

    /** The peer told a region's keys. */
    void onKeys(Keys keys) {
        // Of use to who reads.
    }

    /** The peer has no such region. */
    void onNoRegion(NoRegion none) {
        // Of use to who reads.
    }

    /** It is of no use any more; told by the next poll. Any thread. */
    void broken(Kind kind, @Nullable String why) {
        MooncakeException cause = new MooncakeException(kind, this + ": " + why);
        fabric.tell(() -> onBroken(cause));
    }

    /** What a failed request says of it. */
    MooncakeException cause(Completion failed) {
        return new MooncakeException(Kind.PEER_UNREACHABLE, this + ": " + failed.status() + ", "
                + failed.status().meaning() + " (vendor error " + failed.vendorError() + ")");
    }

    // Set before the poller is told that the lane is open, and destroyed by the poller alone from then on.
    @SuppressWarnings("GuardedBy")
    @Nullable
    QueuePair queuePair() {
        return queuePair;
    }

    /** The number of its queue pair; 0 while there is none. */
    synchronized int queuePairNumber() {
        QueuePair open = queuePair;
        return open == null ? 0 : open.number();
    }

    /** Moves it to ERR: what is outstanding is flushed. The registrar. */
    synchronized void toError() {
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
        release();
        if (requested) {
            fabric.send(peer, new Closed(number, false));
        }
    }

    @Override
    public String toString() {
        return "lane " + number + " from " + nic + " to node " + peer;
    }
}
