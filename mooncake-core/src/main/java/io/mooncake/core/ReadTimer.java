package io.mooncake.core;

import io.mooncake.core.schedule.PathMeter;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.TransferEngine;
import org.jspecify.annotations.Nullable;

/** Times one part's reads from other nodes, one at a time, for the meter of the way that each goes. Whoever has the part. */
final class ReadTimer {
    private final PeerCosts costs;
    private final Life life;
    private final GuardedRead read;
    /** Of the read that is timed; null while none is. */
    private @Nullable PathMeter meter;
    private long beganNs;

    ReadTimer(PeerCosts costs, Life life, GuardedRead read) {
        this.costs = costs;
        this.life = life;
        this.read = read;
    }

    /** An engine is about to get the read. One of this node's own memory is not timed. */
    void begin(TransferEngine engine) {
        Peer owner = read.owner();
        if (!owner.id().equals(life.id)) {
            PathMeter way = costs.meter(owner, engine);
            way.begin();
            meter = way;
            beganNs = life.nowNs();
        }
    }

    /** No engine has the read any more. One that none took ended as a canceled one: that tells nothing of the way. */
    void end(ReadStatus status) {
        PathMeter way = meter;
        if (way != null) {
            meter = null;
            long nowNs = life.nowNs();
            switch (status) {
                case OK -> way.served(beganNs, read.length(), nowNs);
                case TIMED_OUT -> way.timedOut(beganNs, read.length(), nowNs);
                default -> way.dropped(nowNs);
            }
        }
    }
}
