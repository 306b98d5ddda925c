package io.mooncake.rdma;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.onesided.Lane;
import io.mooncake.core.transfer.onesided.LaneListener;
import io.mooncake.core.transfer.onesided.ReadRequest;
import io.mooncake.core.transfer.onesided.RemoteRegion;
import io.mooncake.rdma.LaneMessage.Keys;
import io.mooncake.rdma.LaneMessage.NoRegion;
import io.mooncake.rdma.LaneMessage.Purpose;
import io.mooncake.rdma.LaneMessage.Query;
import io.mooncake.rdma.verbs.QueuePair;
import io.mooncake.rdma.verbs.WorkRequestRing;

/**
 * A queue pair by which this node reads from one process life of a peer. The poller posts; it destroys the queue pair itself where requests
 * are outstanding.
 */
final class RdmaLane extends RequestedLane implements Lane {
    private final LaneListener listener;
    private final KnownRegions regions = new KnownRegions();
    private final WorkRequestRing ring;
    private final long[] filled;
    private final OutstandingReads outstanding;
    private boolean destroyed;
    private int openQueuePair;

    RdmaLane(RdmaFabric fabric, Nic nic, NodeId peer, LaneListener listener) {
        super(fabric, nic, peer, Purpose.READS);
        this.listener = listener;
        int requests = fabric.limits().requestsPerLane();
        ring = new WorkRequestRing(requests);
        filled = new long[requests];
        outstanding = new OutstandingReads(requests);
    }

    @Override
    QueuePair newQueuePair() {
        return nic.newQueuePair(nic.completions, fabric.capacity());
    }

    @Override
    void onOpen(QueuePair open) {
        if (!destroyed) {
            openQueuePair = open.number();
            nic.use.onOpen(openQueuePair, this);
            listener.onOpen();
        }
    }

    @Override
    public void onBroken(MooncakeException cause) {
        if (!destroyed) {
            listener.onBroken(cause);
        }
    }

    @Override
    void onKeys(Keys keys) {
        if (!isOfEpoch(keys.keyEpoch())) {
            broken(Kind.PEER_UNREACHABLE, "the peer's card was reset: keys of epoch " + keys.keyEpoch());
            return;
        }
        fabric.tell(() -> {
            if (!destroyed) {
                regions.answer(keys);
                listener.onRegion(keys.region());
            }
        });
    }

    @Override
    void onNoRegion(NoRegion none) {
        MooncakeException why = new MooncakeException(none.kind(), none.text());
        fabric.tell(() -> {
            if (!destroyed) {
                regions.refuse(none.region(), why);
                listener.onRegion(none.region());
            }
        });
    }

    @Override
    public RemoteRegion region(int region) {
        RdmaRegion known = regions.get(region);
        if (!known.isTold() && known.mustAsk(fabric.nowNs())) {
            known.onAsked(fabric.nowNs());
            if (!fabric.send(peer, new Query(number(), region))) {
                broken(Kind.PEER_UNREACHABLE, "no message about region r" + region + " could be sent");
            }
        }
        return known;
    }

    @Override
    public boolean isReady(Region destination, long readBytes) {
        return fabric.registrations().canLand(nic, destination, readBytes);
    }

    @Override
    public boolean post(ReadRequest request) {
        Region destination = request.destination();
        Registration local = nic.use.find(destination);
        BounceRing bounce = local == null ? nic.use.ringFor(request) : null;
        if ((local == null && bounce == null) || !ring.hasRoom() || outstanding.isFull()) {
            return false;
        }
        RdmaRegion source = (RdmaRegion) request.source();
        long from = request.sourceOffset();
        long to = request.destinationOffset();
        if (ring.filled() == 0) {
            fabric.onFilled(this);
        }
        filled[ring.filled()] = request.cookie();
        // Each with a completion: a chunk counts only when its own was seen.
        ring.read(request.cookie(), true)
                .remote(source.address(request.part(), from), source.key(request.part(), from));
        if (local != null) {
            ring.local(destination.memory().address() + to, (int) request.bytes(), local.localKey(to));
            outstanding.addDirect(request.cookie(), local);
            nic.use.onPosted(local);
        } else if (bounce != null) {
            int place = bounce.take();
            ring.local(bounce.address(place), (int) request.bytes(), bounce.key());
            outstanding.addBounced(bounce, place, request);
            nic.use.onBounced(destination, request.bytes());
        }
        if (request.isFenced()) {
            ring.fenced();
        }
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
        if (ring.refusal() == 0) {
            return;
        }
        // Also when it took all of them: whether they are done is unknown then.
        String why = "ibv_post_send took " + taken + " of " + count + " requests, errno " + ring.refusal();
        broken(Kind.PEER_UNREACHABLE, why);
        MooncakeException cause = new MooncakeException(Kind.PEER_UNREACHABLE, this + ": " + why);
        for (int i = taken; i < count; i++) {
            outstanding.dropLast();
            fabric.onNotPosted(this, filled[i], cause);
        }
    }

    /** A request has ended; false when it is not this lane's. */
    boolean onCompleted(long cookie, boolean arrived) {
        return outstanding.end(cookie, arrived);
    }

    @Override
    public void fail() {
        fabric.later(this::toError);
    }

    @Override
    public void destroy() {
        if (destroyed) {
            return;
        }
        destroyed = true;
        ring.clear();
        if (outstanding.size() > 0) {
            end();
        } else {
            fabric.later(this::end);
        }
        outstanding.dropAll();
        nic.use.onDestroyed(openQueuePair, this);
        fabric.onDestroyed(this);
    }

    @Override
    void release() {
        ring.close();
    }
}
