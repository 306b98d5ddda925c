package io.mooncake.core;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.Hold;
import io.mooncake.core.manager.BlockManager;
import io.mooncake.core.manager.Reservation;
import io.mooncake.core.schedule.PlacementPlan.Action;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Transfer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * What one attempt at a plan has of this node, and what this node does for it. The conductor's, but for tasks and seals, which come back to it.
 *
 * <pre>
 *   a block of it    here            held
 *                    not here        room ─ TRANSFER ─▶ held
 *                                    room ─ PREFILL ──▶ writer ─ SEAL ─▶ held
 *   RELEASE          all of that goes; not before its transfers are released and its tasks have ended
 * </pre>
 */
final class PlanShare {
    /** Whose, which, and which attempt at it. */
    record Key(NodeId asker, long run, int attempt) {}

    private static final int MAX_PULLS = 3;
    /** The first in the queue for room waits for this part of the time that is left; then there is time for another node. */
    private static final int PATIENCE_SHARE = 4;

    private static final class Work {
        final PlanMessage.Step step;
        int pulls;
        /** Until when it waits for others' writers; 0 before it does. */
        long patientUntilNs;
        /** What became of it; null while it goes on. */
        PlanMessage.@Nullable Done answer;

        Work(PlanMessage.Step step) {
            this.step = step;
        }
    }

    private final Plans plans;
    private final Key key;
    private final PlanMessage.Common plan;
    private final long deadlineNs;
    private final Map<Integer, Work> works = new HashMap<>();
    private final Map<BlockId, Hold> holds = new HashMap<>();
    private final Map<BlockId, Reservation> rooms = new HashMap<>();
    private final Map<BlockId, BlockWriter> writers = new HashMap<>();
    private final List<Transfer> transfers = new ArrayList<>();
    private final Set<Integer> releases = new HashSet<>();
    /** What waits for blocks that somebody else is just writing here. */
    private final List<Work> behindOthers = new ArrayList<>();
    /** Tasks and seals that other threads are at. */
    private int busy;
    /** Whether the registry knew who asks: one that it has not heard of yet is not dead. */
    private boolean askerSeen;
    private volatile boolean releasing;

    PlanShare(Plans plans, Key key, PlanMessage.Common plan) {
        this.plans = plans;
        this.key = key;
        this.plan = plan;
        deadlineNs = plans.nowNs() + plan.milliseconds() * 1_000_000L;
    }

    private BlockManager blocks() {
        return plans.node().blocks();
    }

    private long leftNs() {
        return Math.max(1, deadlineNs - plans.nowNs());
    }

    void take(PlanMessage.Step step) {
        Work known = works.get(step.step());
        if (step.action() == Action.RELEASE) {
            release();
            releases.add(step.step());
        } else if (releasing || plans.isClosing()) {
            answer(late(key, step.step(), plans.node().life().id));
        } else if (known == null) {
            Work work = new Work(step);
            works.put(step.step(), work);
            begin(work);
        } else if (known.answer != null) {
            answer(known.answer);
        } // Else it goes on.
    }

    private void begin(Work work) {
        try {
            switch (work.step.action()) {
                case RESERVE -> {
                    plans.node().life().checkTakesBlocks();
                    plans.queue(new Reserving(work));
                }
                case TRANSFER -> pull(work);
                case PREFILL, DECODE -> compute(work);
                case SEAL -> seal(work);
                case RELEASE -> release();
            }
        } catch (RuntimeException e) {
            end(work, known(e), List.of());
        }
    }

    /** Whatever goes wrong with a step here is the end of it, and is told. */
    private static MooncakeException known(RuntimeException e) {
        return e instanceof MooncakeException known
                ? known
                : new MooncakeException(Kind.STALE_VERSION, "a step of a plan ended with " + e, e);
    }

    private void end(Work work, @Nullable MooncakeException failure, List<BlockRef> refs) {
        if (!releasing && work.answer == null) {
            PlanMessage.Done done = new PlanMessage.Done(key.run, key.attempt, work.step.step(), failure, refs);
            work.answer = done;
            answer(done);
        }
    }

    private void answer(PlanMessage.Done done) {
        plans.send(key.asker, done);
    }

    long deadlineNs() {
        return deadlineNs;
    }

    static PlanMessage.Done released(Key key, int step) {
        return new PlanMessage.Done(key.run, key.attempt, step, null, List.of());
    }

    /** What a step is answered that comes too late. */
    static PlanMessage.Done late(Key key, int step, NodeId here) {
        return new PlanMessage.Done(key.run, key.attempt, step, new MooncakeException(Kind.TIMEOUT,
                "node " + here + " has given back what it had for this plan"), List.of());
    }

    /** True when everything is given back. */
    boolean look(long nowNs) {
        boolean gone = plans.isGone(key.asker);
        if (nowNs - deadlineNs >= 0 || (gone && askerSeen) || plans.isClosing()) {
            release();
        }
        askerSeen |= !gone;
        List<Work> again = List.copyOf(behindOthers);
        behindOthers.clear();
        again.forEach(this::begin);
        if (releasing && busy == 0) {
            writers.values().forEach(BlockWriter::close);
            writers.clear();
        }
        transfers.removeIf(Transfer::isReleased);
        boolean nothingLeft = releasing && busy == 0 && transfers.isEmpty();
        if (nothingLeft) {
            releases.forEach(step -> answer(released(key, step)));
        }
        return nothingLeft;
    }

    void release() {
        if (!releasing) {
            releasing = true;
            transfers.forEach(Transfer::cancel);
            giveBack();
            works.clear();
            behindOthers.clear();
        }
    }

    private void giveBack() {
        holds.values().forEach(Hold::close);
        holds.clear();
        rooms.values().forEach(Reservation::close);
        rooms.clear();
    }

    // ---- reserving

    /** Whether a block is here, and stays. */
    private boolean keeps(BlockId id) {
        Hold before = holds.get(id);
        if (before != null && blocks().copies(id).contains(before.refs().getFirst())) {
            return true;
        }
        // Else it came just now, or another version of it did.
        Hold hold = blocks().hold(List.of(id), plan.tier(), leftNs());
        if (hold.refs().isEmpty()) {
            hold.close();
            return false;
        }
        holds.put(id, hold);
        if (before != null) {
            before.close();
        }
        Reservation room = rooms.remove(id);
        if (room != null) {
            room.close();
        }
        return true;
    }

    private boolean hasRoomFor(BlockId id) {
        Reservation room = blocks().reserve(id, plan.blockBytes(), plan.tier(), leftNs());
        if (room != null) {
            rooms.put(id, room);
        }
        return room != null;
    }

    /** A reservation that waits until it is the first, and then for room. */
    final class Reserving {
        private final Work work;
        private @Nullable List<BlockId> missing;
        private int found;
        private long untilNs;

        private Reserving(Work work) {
            this.work = work;
        }

        boolean isOver(long nowNs) {
            if (releasing) {
                return true;
            }
            try {
                if (!hasAll(nowNs)) {
                    if (nowNs - untilNs < 0) {
                        return false;
                    }
                    throw new MooncakeException(Kind.OUT_OF_MEMORY, "node " + plans.node().life().id
                            + " has no room for " + work.step.ids().size() + " blocks of a plan: "
                            + blocks().describeHolders());
                }
                end(work, null, List.of());
            } catch (RuntimeException e) {
                giveBack();
                end(work, known(e), List.of());
            }
            return true;
        }

        /** What is here is held first, so that it does not leave for what is not. */
        private boolean hasAll(long nowNs) {
            List<BlockId> left = missing;
            if (left == null) {
                untilNs = patience(nowNs);
                // Each once: one that is set aside already would be waited for.
                left = work.step.ids().stream().distinct().filter(id -> !keeps(id)).toList();
                missing = left;
            }
            while (found < left.size() && (keeps(left.get(found)) || hasRoomFor(left.get(found)))) {
                found++;
            }
            return found == left.size();
        }
    }

    // ---- transfers

    private void pull(Work work) {
        Map<BlockId, BlockRef> refs = new HashMap<>();
        work.step.refs().forEach(ref -> refs.put(ref.id(), ref));
        List<Piece> pieces = work.step.ids()
                .stream()
                .filter(id -> !keeps(id))
                .map(id -> new Piece(id, refs.get(id), 0, Piece.WHOLE, Destination.replica(plan.tier()), 0))
                .toList();
        if (pieces.isEmpty()) {
            end(work, null, List.of());
        } else if (work.pulls++ == MAX_PULLS) {
            throw new MooncakeException(Kind.STALE_VERSION, "block " + pieces.getFirst().id() + " leaves node "
                    + plans.node().life().id + " as soon as it is there: give it more memory");
        } else {
            TransferOptions options = TransferOptions.DEFAULT.withTimeout(Duration.ofNanos(leftNs()))
                    .withCallback(transfer -> plans.give(() -> pulled(work, pieces, transfer)));
            transfers.add(plans.store().prepare(pieces, options).submit());
        }
    }

    /** What came is held; what left in that moment is pulled again. */
    private void pulled(Work work, List<Piece> pieces, Transfer transfer) {
        if (releasing) {
            return;
        }
        for (int i = 0; i < pieces.size(); i++) {
            if (transfer.outcome(i) != Outcome.OK) {
                end(work, failure(pieces.get(i), transfer, i), List.of());
                return;
            }
        }
        begin(work);
    }

    private MooncakeException failure(Piece piece, Transfer transfer, int i) {
        Outcome outcome = transfer.outcome(i);
        MooncakeException cause = transfer.cause(i);
        Kind kind = switch (outcome) {
            case TIMED_OUT, CANCELED -> Kind.TIMEOUT;
            case UNREACHABLE -> Kind.PEER_UNREACHABLE;
            case REFUSED -> cause == null ? Kind.PEER_UNREACHABLE : cause.kind();
            default -> Kind.STALE_VERSION;
        };
        return new MooncakeException(kind, "block " + piece.id() + " could not be brought to node "
                + plans.node().life().id + ": " + outcome + (cause == null ? "" : ", " + cause.getMessage()));
    }

    // ---- computing

    private void compute(Work work) {
        PlanWorker worker = plans.worker();
        if (worker == null) {
            throw new MooncakeException(Kind.UNSUPPORTED, "node " + plans.node().life().id
                    + " computes nothing: say by what, BlockMover.computeBy, or leave it out of plans");
        }
        if (waitsForOthers(work)) {
            return;
        }
        List<BlockWriter> toFill = new ArrayList<>();
        for (BlockId id : work.step.ids()) {
            if (!keeps(id)) {
                toFill.add(writer(id, work.step.action()));
            }
        }
        Computing task = new Computing(work, List.copyOf(toFill));
        busy++;
        if (!plans.tell(() -> task.run(worker))) {
            busy--;
            throw new MooncakeException(Kind.BACK_PRESSURE,
                    "node " + plans.node().life().id + " has too many callbacks waiting");
        }
    }

    /**
     * Whether another plan, say, computes a block of it here at this moment: it will be here sooner than if it were computed elsewhere. Nothing
     * of the step is begun before, so that no two wait for each other.
     */
    private boolean waitsForOthers(Work work) {
        long nowNs = plans.nowNs();
        work.patientUntilNs = work.patientUntilNs == 0 ? patience(nowNs) : work.patientUntilNs;
        boolean waits = nowNs - work.patientUntilNs < 0 && work.step.action() == Action.PREFILL
                && work.step.ids().stream().anyMatch(id -> blocks().pendingUntil(id) != 0 && !keeps(id));
        if (waits) {
            behindOthers.add(work);
        }
        return waits;
    }

    private long patience(long nowNs) {
        return nowNs + (deadlineNs - nowNs) / PATIENCE_SHARE;
    }

    private BlockWriter writer(BlockId id, Action action) {
        Reservation room = rooms.get(id);
        if (action != Action.PREFILL || room == null) {
            throw new MooncakeException(Kind.STALE_VERSION,
                    "block " + id + " of a plan is not at node " + plans.node().life().id + " any more");
        }
        // Where it throws the room is among those that are given back.
        BlockWriter writer = blocks().write(room, leftNs());
        rooms.remove(id);
        writers.put(id, writer);
        return writer;
    }

    private final class Computing implements PlanWorker.Task {
        private final Work work;
        private final List<BlockWriter> toFill;
        private final AtomicBoolean ended = new AtomicBoolean();

        private Computing(Work work, List<BlockWriter> toFill) {
            this.work = work;
            this.toFill = toFill;
        }

        void run(PlanWorker worker) {
            try {
                worker.compute(this);
            } catch (RuntimeException | Error e) {
                failed("it threw " + e);
                throw e;
            }
        }

        @Override
        public long tag() {
            return plan.tag();
        }

        @Override
        public Action action() {
            return work.step.action();
        }

        @Override
        public List<BlockId> blocks() {
            return work.step.ids();
        }

        @Override
        public List<BlockWriter> writers() {
            return toFill;
        }

        @Override
        public boolean isCanceled() {
            return releasing;
        }

        @Override
        public void done() {
            end(null);
        }

        @Override
        public void failed(String why) {
            end(new MooncakeException(Kind.ILLEGAL_STATE,
                    work.step.action() + " at node " + plans.node().life().id + " failed: " + why));
        }

        private void end(@Nullable MooncakeException failure) {
            if (ended.compareAndSet(false, true)) {
                plans.give(() -> {
                    busy--;
                    PlanShare.this.end(work, failure, List.of());
                });
                if (releasing) {
                    // The conductor may have looked for the last time.
                    toFill.forEach(BlockWriter::close);
                }
            }
        }
    }

    // ---- sealing

    /** By a callback's thread, since a commit waits for copies that devices have begun. */
    private void seal(Work work) {
        List<BlockWriter> toSeal = work.step.ids().stream().map(writers::get).filter(Objects::nonNull).toList();
        Duration kept = Duration.ofNanos(leftNs());
        busy++;
        boolean taken = plans.tell(() -> {
            List<Hold> sealed = new ArrayList<>();
            MooncakeException failure = null;
            for (BlockWriter writer : toSeal) {
                try {
                    sealed.add(writer.commitAndHold(writer.length(), kept));
                } catch (RuntimeException e) {
                    failure = known(e);
                    writer.close();
                }
            }
            MooncakeException why = failure;
            plans.give(() -> sealed(work, sealed, why));
            if (releasing) {
                // The conductor may have looked for the last time.
                sealed.forEach(Hold::close);
            }
        });
        if (!taken) {
            busy--;
            throw new MooncakeException(Kind.BACK_PRESSURE,
                    "node " + plans.node().life().id + " has too many callbacks waiting");
        }
    }

    private void sealed(Work work, List<Hold> sealed, @Nullable MooncakeException failure) {
        busy--;
        work.step.ids().forEach(writers::remove);
        if (releasing) {
            sealed.forEach(Hold::close);
            return;
        }
        sealed.forEach(hold -> holds.put(hold.refs().getFirst().id(), hold));
        List<BlockRef> refs = new ArrayList<>();
        for (BlockId id : work.step.ids()) {
            if (!keeps(id)) {
                end(work, failure != null
                        ? failure
                        : new MooncakeException(Kind.STALE_VERSION, "block " + id + " was not computed"), List.of());
                return;
            }
            refs.add(Objects.requireNonNull(holds.get(id)).refs().getFirst());
        }
        end(work, null, refs.subList(0, Math.min(refs.size(), RefMessage.MAX_REFS)));
    }
}
