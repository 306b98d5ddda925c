package io.mooncake.core.transfer.onesided;

import io.mooncake.core.base.NodeId;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Which peers could not be read a moment ago, so that another engine is asked for some time. Written by the poller, read by any thread;
 * reading allocates nothing.
 */
final class FailingPeers {
    private final int most;
    private final ConcurrentHashMap<NodeId, Long> untilNs = new ConcurrentHashMap<>();

    FailingPeers(int most) {
        this.most = most;
    }

    boolean contains(NodeId peer, long nowNs) {
        if (untilNs.isEmpty()) {
            return false;
        }
        Long until = untilNs.get(peer);
        return until != null && nowNs - until < 0;
    }

    void onFailed(NodeId peer, long endNs) {
        if (untilNs.size() >= most) {
            untilNs.clear(); // They are only asked once more.
        }
        untilNs.put(peer, endNs);
    }

    void onSucceeded(NodeId peer) {
        if (!untilNs.isEmpty()) {
            untilNs.remove(peer);
        }
    }
}
