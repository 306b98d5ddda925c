package io.mooncake.core.transfer.onesided;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Memory.DeviceMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Inbox;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Poller;
import io.mooncake.core.transfer.Priority;
import io.mooncake.core.transfer.ReadStatus;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The agent of a one-sided engine: it alone touches the fabric, its lanes and its completion queue. See the package for the picture.
 */
final class OneSidedPoller implements Poller, Fabric.Completions {
    private static final int READS_PER_CYCLE = 256;
    private static final int COMPLETIONS_PER_CYCLE = 256;
    private static final int MAX_PROOFS = 1024;
    /** A peer's turn. */
    private static final long TURN_BYTES = EngineContext.MAX_CHUNK_BYTES;
    private static final long TICK_NS = 1_000_000;
    private static final long IDLE_TICK_NS = 10_000_000;
    private static final Priority[] PRIORITIES = Priority.values();

    private final EngineContext context;
    private final Fabric fabric;
    private final OneSidedConfig config;
    private final Rules rules;
    private final Inbox<GuardedRead> inbox;
    private final FailingPeers failing;

    private final RequestSlots chunks;
    private final RequestSlots proofs;
    private final Landing landing;
    private final Credits credits;
    private final Verification verification;
    private final Map<NodeId, PeerPaths> peers = new HashMap<>();
    private final List<PeerPaths> turns = new ArrayList<>();
    private int nextTurn;
    private final List<ReadProgress> active = new ArrayList<>();
    private final ArrayDeque<ReadProgress> spare = new ArrayDeque<>();

    private long nowNs;
    private long nextTickNs;
    private long events;
    private boolean closed;

    OneSidedPoller(EngineContext context, Fabric fabric, OneSidedConfig config, Rules rules, Inbox<GuardedRead> inbox,
            FailingPeers failing) {
        this.failing = failing;
        this.context = context;
        this.fabric = fabric;
        this.config = config;
        this.rules = rules;
        this.inbox = inbox;
        int completions = fabric.limits().completions();
        chunks = new RequestSlots(Cookies.CHUNK, config.window().chunks(), rules);
        proofs = new RequestSlots(Cookies.PROOF, Math.min(completions, MAX_PROOFS), rules);
        landing = new Landing(context.regions(), Math.min(completions, MAX_PROOFS), Verification.PLACES);
        fabric.keep(landing.region());
        verification = new Verification(this);
        credits = new Credits(completions);
        nowNs = context.nanoClock().getAsLong();
        nextTickNs = nowNs;
    }

    EngineContext context() {
        return context;
    }

    Fabric fabric() {
        return fabric;
    }

    OneSidedConfig config() {
        return config;
    }

    Rules rules() {
        return rules;
    }

    RequestSlots chunks() {
        return chunks;
    }

    RequestSlots proofs() {
        return proofs;
    }

    Landing landing() {
        return landing;
    }

    Credits credits() {
        return credits;
    }

    Verification verification() {
        return verification;
    }

    /** The time at which this duty cycle began. */
    long nowNs() {
        return nowNs;
    }

    /** Counts what happens, so that before and after can be told. */
    long nextEvent() {
        return ++events;
    }

    int laneRequests() {
        return Math.min(config.window().laneRequests(), fabric.limits().requestsPerLane());
    }

    long chunkBytes() {
        return Math.min(config.window().chunkBytes(), fabric.limits().requestBytes());
    }

    /** One peer that stands still leaves slots to the others. */
    int slotsPerPeer() {
        return config.window().chunks() / 2;
    }

    @Override
    public String roleName() {
        return fabric.name();
    }

    @Override
    public int doWork() {
        if (closed) {
            return 0;
        }
        nowNs = context.nanoClock().getAsLong();
        int work = takeReads();
        work += settle();
        work += verification.run();
        if (inbox.takeRing() || nowNs - nextTickNs >= 0) {
            work += tick();
        }
        work += feed();
        fabric.flush();
        return work;
    }

    private int takeReads() {
        int taken = 0;
        int most = inbox.commandsDue(READS_PER_CYCLE);
        for (GuardedRead read; taken < most && (read = inbox.poll()) != null; taken++) {
            begin(read);
        }
        for (Inbox.Death death = inbox.pollDeath(); death != null; death = inbox.pollDeath(), taken++) {
            fabric.onDead(death.life());
            PeerPaths paths = peers.get(death.life());
            if (paths != null) {
                paths.onDead(new MooncakeException(Kind.PEER_UNREACHABLE, "node " + death.life() + " by "
                        + fabric.name() + ": it is dead: " + death.reason()));
            }
        }
        return taken;
    }

    private int settle() {
        int completed = fabric.poll(this, COMPLETIONS_PER_CYCLE);
        if (completed < COMPLETIONS_PER_CYCLE) {
            credits.onDrained();
        }
        return completed;
    }

    private int feed() {
        int posted = 0;
        for (Priority priority : PRIORITIES) {
            for (int i = 0; i < turns.size(); i++) {
                posted += turns.get((nextTurn + i) % turns.size()).feed(priority, TURN_BYTES);
            }
        }
        nextTurn = turns.isEmpty() ? 0 : (nextTurn + 1) % turns.size();
        return posted;
    }

    private void begin(GuardedRead read) {
        if (nowNs - read.deadlineNs() >= 0) {
            end(read, ReadStatus.TIMED_OUT, null);
        } else if (read.isGivenUp()) {
            end(read, ReadStatus.CANCELED, null);
        } else if (read.length() < 0 || read.offset() < 0 || (read.length() > 0 && !read.fitsDestination())) {
            end(read, ReadStatus.REFUSED, new MooncakeException(Kind.OUT_OF_BOUNDS,
                    read + ": a number is negative, or the destination is too small"));
        } else if (read.length() > 0 && !fabric.canWrite(read.destination().memory())) {
            end(read, ReadStatus.REFUSED, new MooncakeException(Kind.UNSUPPORTED, read + ": the destination "
                    + read.destination() + " is read-only or no memory that " + fabric.name() + " can write"));
        } else {
            beginAt(read);
        }
    }

    private void beginAt(GuardedRead read) {
        PeerPaths paths = peers.get(read.owner().id());
        MooncakeException down = paths == null ? unreachable(read.owner()) : paths.downCause();
        if (down != null) {
            end(read, ReadStatus.UNREACHABLE, down);
            return;
        }
        if (paths == null) {
            paths = new PeerPaths(this, read.owner());
            peers.put(read.owner().id(), paths);
            turns.add(paths);
        }
        ReadProgress progress = spare.poll();
        if (progress == null) {
            progress = new ReadProgress(config.window().lanesPerPeer());
        }
        progress.begin(read, paths);
        progress.index = active.size();
        active.add(progress);
        tickBy(read.deadlineNs());
        paths.begin(progress);
    }

    private @Nullable MooncakeException unreachable(Peer peer) {
        if (!fabric.reaches(peer)) {
            return new MooncakeException(Kind.PEER_UNREACHABLE,
                    "node " + peer.id() + " has no " + fabric.name() + " address");
        }
        if (peers.size() >= config.peers() && !forgetOne()) {
            return new MooncakeException(Kind.BACK_PRESSURE, "node " + peer.id() + " by " + fabric.name() + ": "
                    + peers.size() + " peers have reads outstanding, no more are allowed");
        }
        return null;
    }

    private boolean forgetOne() {
        for (int i = 0; i < turns.size(); i++) {
            if (!turns.get(i).isWanted()) {
                forget(i);
                return true;
            }
        }
        return false;
    }

    private void forget(int turn) {
        PeerPaths gone = turns.remove(turn);
        peers.remove(gone.peer().id());
        gone.destroy();
    }

    @Override
    public void onCompletion(long cookie, RequestEnd end) {
        RequestSlots table = Cookies.op(cookie) == Cookies.PROOF ? proofs : chunks;
        Slot slot = table.posted(cookie);
        if (slot == null) {
            context.counters().increment(Counter.STALE_COMPLETIONS);
            return;
        }
        credits.onCompleted();
        LaneState lane = slot.lane();
        lane.onCompleted(slot.bytes);
        switch (end) {
            case OK -> {
            }
            case FAILED, FLUSHED -> lane.breakUp(null);
            case NO_DESTINATION -> finish(slot.read(), ReadStatus.REFUSED, slot.read().freed(null));
        }
        onEnded(table, slot, rules.hasArrived(end, lane.isOpen()));
        lane.destroyIfIdle();
    }

    /** A request has ended: its completion was polled, or its lane was destroyed. */
    private void onEnded(RequestSlots table, Slot slot, boolean arrived) {
        if (slot.state != Slot.State.POSTED) {
            return; // The loss of its lane has ended it before.
        }
        ReadProgress read = slot.read();
        read.onRequestEnded(slot);
        if (table.equals(proofs)) {
            onProofEnded(read, slot, arrived);
        } else if (read.ending != null) {
            read.drop(slot);
        } else if (arrived) {
            read.onCompleted(slot, nextEvent());
            read.paths().enqueue(read);
        } else {
            again(slot);
        }
        endIfDone(read);
    }

    private void onProofEnded(ReadProgress read, Slot proof, boolean arrived) {
        LaneState lane = proof.lane();
        long value = landing.value(proof);
        boolean fenced = proof.fenced;
        long postedAt = proof.postedAt;
        proofs.free(proof);
        if (read.ending != null || !arrived) {
            return;
        }
        GuardedRead asked = read.read();
        if (asked.guardOffset() != GuardedRead.NO_GUARD && value != asked.expected()) {
            finish(read, ReadStatus.STALE, null);
            return;
        }
        lane.onProven();
        read.onProven(lane, fenced, postedAt, rules);
        if (!read.isProven()) {
            read.paths().enqueue(read);
        } else if (!verification.begin(read)) {
            arrived(read);
        }
    }

    /** All of it is there: for the host by the completion, for a device's kernels when that was asked for. */
    private void arrived(ReadProgress read) {
        if (read.read().destination().memory() instanceof DeviceMemory device && device.cards() != null) {
            try {
                device.cards().makeVisible();
            } catch (MooncakeException e) {
                finish(read, ReadStatus.REFUSED, e);
                return;
            }
        }
        finish(read, ReadStatus.OK, null);
    }

    /** A chunk has not arrived. */
    private void again(Slot slot) {
        ReadProgress read = slot.read();
        LaneState lane = slot.lane();
        read.onNotArrived(slot);
        if (slot.tries > config.tries()) {
            finish(read, ReadStatus.UNREACHABLE, lane.cause());
        } else {
            read.paths().enqueue(read);
        }
    }

    /** A lane is broken, and perhaps destroyed: what completed on it and was not proven has not arrived; what is outstanding has to end. */
    void onLost(LaneState lane, boolean destroyed) {
        boolean ended = rules.endsRequests(destroyed);
        for (int i = 0; i < chunks.made(); i++) {
            Slot slot = chunks.at(i);
            if (lane.equals(slot.lane)) {
                if (slot.state == Slot.State.COMPLETED && !rules.hasArrived(RequestEnd.OK, false)) {
                    again(slot);
                } else if (slot.state == Slot.State.POSTED && ended) {
                    onEnded(chunks, slot, false);
                }
            }
        }
        for (int i = 0; ended && i < proofs.made(); i++) {
            if (lane.equals(proofs.at(i).lane) && proofs.at(i).state == Slot.State.POSTED) {
                onEnded(proofs, proofs.at(i), false);
            }
        }
    }

    /** A peer can't be reached: ends its reads. */
    void endAll(PeerPaths paths, MooncakeException cause) {
        for (int i = active.size() - 1; i >= 0; i--) {
            if (active.get(i).paths().equals(paths)) {
                finish(active.get(i), ReadStatus.UNREACHABLE, cause);
            }
        }
    }

    /** From now on nothing is posted for the read; it ends when nothing of it is outstanding. Says no more when it was said before. */
    void finish(ReadProgress read, ReadStatus status, @Nullable MooncakeException cause) {
        if (read.ending == null) {
            read.ending = status;
            read.cause = cause;
            if (status == ReadStatus.UNREACHABLE) {
                failing.onFailed(read.paths().peer().id(), nowNs + config.times().maxBackOffNs());
            } else if (status == ReadStatus.OK) {
                failing.onSucceeded(read.paths().peer().id());
            }
            read.dropIdle();
            read.decidedNs = nowNs;
            tickBy(nowNs + config.times().drainNs());
            endIfDone(read);
        }
    }

    private void endIfDone(ReadProgress read) {
        ReadStatus status = read.ending;
        if (status == null) {
            return;
        }
        if (!read.told && rules.mayEnd(read.outstanding())) {
            read.told = true;
            end(read.read(), status, read.cause);
        }
        if (read.outstanding() == 0) {
            forget(read);
        }
    }

    private void forget(ReadProgress read) {
        ReadProgress last = active.removeLast();
        if (!last.equals(read)) {
            active.set(read.index, last);
            last.index = read.index;
        }
        read.paths().end(read);
        verification.forget(read);
        read.clear();
        spare.push(read);
    }

    private void end(GuardedRead read, ReadStatus status, @Nullable MooncakeException cause) {
        if (read.engineState != inbox) {
            throw new IllegalStateException(read + " has ended before, and now " + status);
        }
        inbox.ended();
        read.end(status, cause);
    }

    /** Whatever is due by time, or was given up. */
    private int tick() {
        int before = active.size();
        nextTickNs = nowNs + TICK_NS;
        for (int i = active.size() - 1; i >= 0; i--) {
            look(active.get(i));
        }
        for (int i = turns.size() - 1; i >= 0; i--) {
            turns.get(i).tick();
            if (turns.get(i).isForgettable()) {
                forget(i);
            }
        }
        return before - active.size();
    }

    private void look(ReadProgress read) {
        GuardedRead asked = read.read();
        boolean late = nowNs - asked.deadlineNs() >= 0;
        if (late && read.outstanding() > 0 && !asked.isGivenUp()) {
            // Also one whose end is decided, but not told yet: its listener has a deadline.
            asked.expire();
        } else if (!late) {
            tickBy(asked.deadlineNs());
        }
        if (read.ending != null) {
            read.paths().drain(read);
        } else if (late) {
            finish(read, ReadStatus.TIMED_OUT, null);
        } else if (asked.isGivenUp()) {
            finish(read, ReadStatus.CANCELED, null);
        }
    }

    String leftovers() {
        return active.isEmpty() && chunks.used() == 0 && proofs.used() == 0 && credits.taken() == 0
                && verification.used() == 0
                        ? ""
                        : active.size() + " reads, " + chunks.used() + " chunks, " + proofs.used() + " proofs, "
                                + credits.taken()
                                + " credits";
    }

    /** Something is due then: whatever is due by time is looked at then at the latest. */
    void tickBy(long dueNs) {
        if (dueNs - nextTickNs < 0) {
            nextTickNs = dueNs;
        }
    }

    @Override
    public void park(long maxNs) {
        if (inbox.isEmpty()) {
            fabric.park(Math.min(maxNs, active.isEmpty() ? IDLE_TICK_NS : TICK_NS));
        }
    }

    @Override
    public void wakeup() {
        fabric.wakeup();
    }

    @Override
    public void onClose() {
        if (closed) {
            return;
        }
        closed = true;
        inbox.close();
        MooncakeException cause = new MooncakeException(Kind.CLOSED,
                "the " + fabric.name() + " engine of node " + context.self() + " is closed");
        for (int i = active.size() - 1; i >= 0; i--) {
            finish(active.get(i), ReadStatus.CANCELED, cause);
        }
        turns.forEach(PeerPaths::destroy);
        fabric.close();
        landing.close();
        inbox.drain(read -> end(read, ReadStatus.CANCELED, cause));
    }
}
