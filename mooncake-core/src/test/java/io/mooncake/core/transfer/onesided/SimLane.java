package io.mooncake.core.transfer.onesided;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.Region;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A simulated queue pair. Completions come in the order of posting; the bytes of all outstanding requests are sampled and land in any, but
 * those of a fenced one, which waits until all before it have completed.
 */
public final class SimLane implements Lane {
    private enum State {
        CONNECTING, OPEN, BROKEN, DESTROYED
    }

    private final SimFabric fabric;
    private final SimNetwork network;
    private final NodeId peer;
    private final LaneListener listener;
    private final int number;
    private final ArrayDeque<SimRequest> outstanding = new ArrayDeque<>();
    private final Map<Integer, SimRegion> regions = new HashMap<>();
    private State state = State.CONNECTING;
    private @Nullable SimFabric owner;

    SimLane(SimFabric fabric, NodeId peer, LaneListener listener) {
        this.fabric = fabric;
        this.peer = peer;
        this.listener = listener;
        network = fabric.network();
        number = network.nextLane();
    }

    boolean isOpen() {
        return state == State.OPEN;
    }

    boolean isDestroyed() {
        return state == State.DESTROYED;
    }

    /** Requests whose completion has not come. */
    public int outstanding() {
        return outstanding.size();
    }

    void connect() {
        network.trace(() -> this + " connects");
        network.time().after(network.upTo(network.timing().connectNs()), this::onConnect);
    }

    private void onConnect() {
        if (state != State.CONNECTING) {
            return;
        }
        SimFabric there = network.find(peer.name());
        if (network.isCut(fabric.self(), peer)) {
            network.time().after(network.timing().retryNs(), () -> {
                if (network.isCut(fabric.self(), peer)) {
                    refuse(Kind.PEER_UNREACHABLE, "node " + peer + " does not answer");
                } else {
                    onConnect();
                }
            });
        } else if (there == null) {
            refuse(Kind.PEER_UNREACHABLE, "node " + peer + ": nobody is there, connection refused");
        } else if (!there.self().equals(peer)) {
            refuse(Kind.STALE_INCARNATION, "node " + there.self() + " answers here, not " + peer);
        } else {
            owner = there;
            state = State.OPEN;
            network.trace(() -> this + " is open");
            fabric.tell(this, listener::onOpen);
        }
    }

    private void refuse(Kind kind, String text) {
        if (state == State.CONNECTING) {
            state = State.BROKEN;
            network.trace(() -> this + " refused: " + text);
            fabric.tell(this, () -> listener.onBroken(new MooncakeException(kind, text)));
        }
    }

    @Override
    public RemoteRegion region(int region) {
        SimRegion known = regions.get(region);
        if (known == null) {
            SimRegion asked = new SimRegion(region);
            regions.put(region, asked);
            network.time().after(network.upTo(network.timing().connectNs()), () -> onAnswer(region, asked));
            return asked;
        }
        return known;
    }

    private void onAnswer(int region, SimRegion asked) {
        SimFabric there = owner;
        if (state != State.OPEN || there == null) {
            return;
        }
        if (there.isDead() || network.isCut(fabric.self(), peer)) {
            // Asked on the control connection, which is tried until the lane is given up.
            network.time().after(network.timing().retryNs(), () -> onUnanswered(region, asked));
        } else {
            asked.answer(there);
            fabric.tell(this, () -> listener.onRegion(region));
        }
    }

    private void onUnanswered(int region, SimRegion asked) {
        SimFabric there = owner;
        if (there == null || there.isDead() || network.isCut(fabric.self(), peer)) {
            breakDown("no answer about region r" + region);
        } else {
            onAnswer(region, asked);
        }
    }

    @Override
    public boolean isReady(Region destination, long readBytes) {
        return true;
    }

    @Override
    public boolean post(ReadRequest request) {
        if (state == State.DESTROYED || state == State.CONNECTING) {
            throw new AssertionError(this + " is " + state + ", nothing may be posted");
        }
        if (request.bytes() > fabric.limits().requestBytes() || request.bytes() <= 0
                || outstanding.size() >= fabric.limits().requestsPerLane()) {
            throw new AssertionError(this + ": " + request.bytes() + " bytes, " + outstanding.size()
                    + " outstanding exceed " + fabric.limits());
        }
        SimRequest read = new SimRequest(request, fabric.network().bytes(request.destination().memory()),
                network.timing().bursts(), network.below(1 << 20));
        fabric.onPosted();
        network.onPosted(read);
        outstanding.add(read);
        network.trace(() -> this + ": " + read + " posted");
        if (state == State.BROKEN) {
            read.end = RequestEnd.FLUSHED;
            if (outstanding.size() == 1) {
                flushLater();
            }
            return true;
        }
        read.heldBack = request.isFenced() && outstanding.size() > 1;
        if (!read.heldBack) {
            begin(read);
        }
        return true;
    }

    private void begin(SimRequest read) {
        int bursts = read.burstsLeft;
        for (int i = 0; i < bursts; i++) {
            int burst = i;
            network.time()
                    .after(network.upTo(network.timing().sampleNs()), () -> sample(read, burst, bursts));
        }
    }

    private void sample(SimRequest read, int burst, int bursts) {
        SimFabric there = owner;
        if (read.over || state != State.OPEN || there == null) {
            return;
        }
        if (there.isDead() || network.isCut(fabric.self(), peer)) {
            network.time().after(network.timing().retryNs(), () -> retry(read, burst, bursts));
            return;
        }
        MemorySegment memory = SimRegion.memory(there, read);
        if (memory == null) {
            read.end = RequestEnd.FAILED;
            breakDown(read + ": remote access error");
            return;
        }
        read.copyBurst(burst, bursts, memory, true);
        network.time().after(network.upTo(network.timing().landNs()), () -> land(read, burst, bursts));
    }

    private void retry(SimRequest read, int burst, int bursts) {
        SimFabric there = owner;
        if (!read.over && state == State.OPEN
                && (there == null || there.isDead() || network.isCut(fabric.self(), peer))) {
            read.end = RequestEnd.FAILED;
            breakDown(read + ": transport retry counter exceeded");
        } else {
            sample(read, burst, bursts);
        }
    }

    private void land(SimRequest read, int burst, int bursts) {
        if (read.over || state == State.DESTROYED) {
            return;
        }
        network.onLanding(read);
        read.copyBurst(burst, bursts, read.destination, false);
        if (--read.burstsLeft == 0) {
            read.landed = true;
            network.trace(() -> this + ": " + read + " has landed");
            if (state == State.OPEN) {
                completeInOrder();
            }
        }
    }

    private void completeInOrder() {
        for (SimRequest first; (first = outstanding.peek()) != null && first.landed;) {
            outstanding.remove();
            fabric.onCompleted(first);
        }
        SimRequest next = outstanding.peek();
        if (next != null && next.heldBack) {
            next.heldBack = false;
            begin(next);
        }
    }

    /** The lane is broken from now on: what is outstanding is flushed one after the other, and may land until then. */
    public void breakDown(String why) {
        if (state != State.OPEN && state != State.CONNECTING) {
            return;
        }
        state = State.BROKEN;
        network.trace(() -> this + " is broken: " + why + ", " + outstanding.size() + " outstanding");
        for (SimRequest read : outstanding) {
            read.end = read.end == RequestEnd.FAILED ? read.end : RequestEnd.FLUSHED;
        }
        SimRequest first = outstanding.peek();
        if (first != null && first.part != RemoteRegion.Part.GUARDS
                && network.below(100) < network.timing().falseOkPercent()) {
            first.end = RequestEnd.OK;
            network.trace(() -> this + ": " + first + " will be reported OK although it "
                    + (first.landed ? "was proven by nothing" : "has not arrived"));
        }
        flushLater();
        network.time()
                .after(network.upTo(network.timing().flushNs()), () -> fabric.tell(this,
                        () -> listener.onBroken(new MooncakeException(Kind.PEER_UNREACHABLE, this + ": " + why))));
    }

    private void flushLater() {
        network.time().after(network.upTo(network.timing().flushNs()), () -> {
            SimRequest first = outstanding.poll();
            if (first != null && state == State.BROKEN) {
                fabric.onCompleted(first);
                flushLater();
            }
        });
    }

    @Override
    public void fail() {
        breakDown("by this node");
    }

    @Override
    public void destroy() {
        if (state != State.DESTROYED) {
            state = State.DESTROYED;
            for (SimRequest read : outstanding) {
                read.over = true;
                fabric.onForgotten();
            }
            outstanding.clear();
            fabric.forget(this);
            network.trace(() -> this + " is destroyed");
        }
    }

    @Override
    public String toString() {
        return "lane " + number + " from " + fabric.self() + " to " + peer;
    }
}
