package io.mooncake.rdma;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.onesided.Lane;
import io.mooncake.core.transfer.onesided.LaneListener;
import io.mooncake.core.transfer.onesided.ReadRequest;
import io.mooncake.core.transfer.onesided.RemoteRegion;

/** A lane that could not even be begun, since no card can be used now. The poller's. */
final class NoLane implements Lane {
    private boolean destroyed;

    NoLane(RdmaFabric fabric, NodeId peer, LaneListener listener) {
        MooncakeException cause = new MooncakeException(Kind.PEER_UNREACHABLE,
                "no lane to node " + peer + ": no card of node " + fabric.node().self() + " has an active port now");
        fabric.tell(() -> {
            if (!destroyed) {
                listener.onBroken(cause);
            }
        });
    }

    @Override
    public RemoteRegion region(int number) {
        return new RdmaRegion();
    }

    @Override
    public boolean isReady(Region destination, long readBytes) {
        return false;
    }

    @Override
    public boolean post(ReadRequest request) {
        return false;
    }

    @Override
    public void fail() {
        // Nothing is outstanding.
    }

    @Override
    public void destroy() {
        destroyed = true;
    }
}
