package io.mooncake.core.transfer.onesided;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One of the lanes to a peer, again and again. The poller's.
 *
 * <pre>
 *   COOLING ──due, and a read waits──▶ CONNECTING ──▶ OPEN ──failed request, stall, undrained read──▶ BROKEN
 *      ▲                                   │ refused, or no answer                                      │ nothing outstanding,
 *      └───────────────────────────────────┴────────────────────────── destroyed ◀──────────────────────┘ or not within a bound
 * </pre>
 */
final class LaneState implements LaneListener {
    private enum State {
        COOLING, CONNECTING, OPEN, BROKEN
    }

    private static final int MAX_DOUBLINGS = 16;

    private final OneSidedPoller poller;
    private final PeerPaths paths;
    private final int index;

    private State state = State.COOLING;
    private @Nullable Lane lane;
    private long sinceNs;
    private long retryAtNs;
    private int failures;
    private int outstanding;
    private long outstandingBytes;
    private @Nullable MooncakeException cause;
    /** The fabric took no request; until the next tick. */
    private boolean refusing;
    private boolean undrained;

    LaneState(OneSidedPoller poller, PeerPaths paths, int index) {
        this.poller = poller;
        this.paths = paths;
        this.index = index;
        retryAtNs = poller.nowNs();
    }

    int index() {
        return index;
    }

    boolean isOpen() {
        return state == State.OPEN;
    }

    /** Whether it is on its way to or from being open. */
    boolean isAlive() {
        return state != State.COOLING;
    }

    /** Whether it may be connected now. */
    boolean isDue() {
        return state == State.COOLING && poller.nowNs() - retryAtNs >= 0;
    }

    /** Requests that have not ended. */
    int outstanding() {
        return outstanding;
    }

    long outstandingBytes() {
        return outstandingBytes;
    }

    /** Whether a request more may be posted. */
    boolean hasRoom() {
        return state == State.OPEN && !refusing && outstanding < poller.laneRequests();
    }

    /** Why it is not open. */
    MooncakeException cause() {
        MooncakeException known = cause;
        return known != null ? known : new MooncakeException(Kind.PEER_UNREACHABLE, this + ": a request failed");
    }

    Lane lane() {
        return Objects.requireNonNull(lane);
    }

    void connect() {
        state = State.CONNECTING;
        sinceNs = poller.nowNs();
        cause = null;
        lane = poller.fabric().connect(paths.peer(), this);
    }

    @Override
    public void onOpen() {
        if (state == State.CONNECTING) {
            state = State.OPEN;
            poller.context().counters().increment(Counter.LANES_OPENED);
            paths.onOpen();
        }
    }

    @Override
    public void onBroken(MooncakeException why) {
        if (state == State.BROKEN) {
            cause = cause == null ? why : cause;
        } else {
            breakUp(why);
        }
    }

    @Override
    public void onRegion(int number) {
        // Reads that wait for it stand in the queue, and are looked at in every duty cycle.
    }

    /** Posts; false when the fabric takes nothing now. */
    boolean post(ReadRequest request) {
        if (!lane().post(request)) {
            refusing = true;
            return false;
        }
        if (outstanding++ == 0) {
            sinceNs = poller.nowNs();
        }
        outstandingBytes += request.bytes();
        return true;
    }

    /** A request has ended, and its completion was polled. */
    void onCompleted(long bytes) {
        outstanding--;
        outstandingBytes -= bytes;
        if (state == State.OPEN) {
            sinceNs = poller.nowNs();
            paths.onProgress();
        }
    }

    /** A proof was right: the lane works. */
    void onProven() {
        failures = 0;
    }

    /** A read that was given up is outstanding here, and does not come to its end. */
    void onUndrained() {
        undrained = true;
    }

    /** Breaks it. A cause that is not known may be told later. */
    void breakUp(@Nullable MooncakeException why) {
        if (state == State.CONNECTING) {
            cause = why;
            destroy();
            paths.onRefused(cause());
        } else if (state == State.OPEN) {
            state = State.BROKEN;
            sinceNs = poller.nowNs();
            cause = why;
            poller.context().counters().increment(Counter.LANES_LOST);
            poller.tickBy(sinceNs + poller.config().times().flushNs());
            lane().fail();
            poller.onLost(this, false);
            destroyIfIdle();
        }
    }

    /** A broken lane is destroyed as soon as each of its requests has ended. */
    void destroyIfIdle() {
        if (state == State.BROKEN && outstanding == 0) {
            destroy();
        }
    }

    /** What is due. */
    void tick() {
        refusing = false;
        long waitedNs = poller.nowNs() - sinceNs;
        OneSidedConfig.Times times = poller.config().times();
        if (state == State.CONNECTING && waitedNs >= times.connectNs()) {
            breakUp(new MooncakeException(Kind.PEER_UNREACHABLE,
                    this + " did not open within " + times.connectNs() / 1_000_000 + " ms"));
        } else if (state == State.OPEN && undrained) {
            breakUp(new MooncakeException(Kind.PEER_UNREACHABLE,
                    this + ": what was given up did not end, and nothing came for " + times.drainNs() / 1_000_000
                            + " ms, or not all of it within " + times.stallNs() / 1_000_000 + " ms"));
        } else if (state == State.OPEN && outstanding > 0 && waitedNs >= times.stallNs()) {
            breakUp(new MooncakeException(Kind.PEER_UNREACHABLE,
                    this + " brought nothing for " + times.stallNs() / 1_000_000 + " ms"));
        } else if (state == State.BROKEN && waitedNs >= times.flushNs()) {
            destroy();
        } else if (state == State.BROKEN) {
            poller.tickBy(sinceNs + times.flushNs());
        } else if (isDue() && paths.isWanted()) {
            connect();
        }
    }

    /** Ends whatever is outstanding; connected again not before some time. */
    void destroy() {
        Lane gone = lane;
        if (gone == null) {
            return;
        }
        gone.destroy();
        lane = null;
        state = State.COOLING;
        undrained = false;
        OneSidedConfig.Times times = poller.config().times();
        retryAtNs = poller.nowNs()
                + Math.min(times.maxBackOffNs(), times.backOffNs() << Math.min(failures++, MAX_DOUBLINGS));
        int lost = outstanding;
        outstanding = 0;
        outstandingBytes = 0;
        if (lost > 0) {
            poller.credits().onDestroyed(lost);
            poller.onLost(this, true);
        }
    }

    @Override
    public String toString() {
        return "lane " + index + " to node " + paths.peer().id();
    }
}
