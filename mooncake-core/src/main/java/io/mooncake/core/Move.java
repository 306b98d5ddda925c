package io.mooncake.core;

import io.mooncake.core.MoveMessage.Ask;
import io.mooncake.core.MoveMessage.Done;
import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Hold;
import io.mooncake.core.manager.BlockManager;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Priority;
import io.mooncake.core.transfer.Topic;
import io.mooncake.core.transfer.Transfer;
import io.mooncake.core.transfer.TransferWork;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Blocks of this node that another one was asked to take. Any thread; a lock, since there is one message for many blocks.
 *
 * <pre>
 *   WAITING ── DONE(OK) ──▶ TAKEN ── the registry knows it there ──▶ ended: OK; handed over: evicted here
 *      └─ DONE(other), deadline, cancel, the other node is gone ───▶ ended
 * </pre>
 */
final class Move implements TransferWork {
    private enum Phase {
        WAITING, TAKEN, ENDED
    }

    private static final class One {
        Phase phase = Phase.ENDED;
        @Nullable
        BlockRef ref;
        @Nullable
        Hold hold;
    }

    private final Moves moves;
    private final List<BlockId> ids;
    private final NodeId to;
    private final boolean handOver;
    private final Priority priority;
    private final One[] all;
    private @Nullable Transfer transfer;
    private long deadlineNs;
    private long number;

    Move(Moves moves, List<BlockId> ids, NodeId to, boolean handOver, Priority priority) {
        this.moves = moves;
        this.ids = ids;
        this.to = to;
        this.handOver = handOver;
        this.priority = priority;
        all = new One[ids.size()];
        Arrays.setAll(all, _ -> new One());
    }

    boolean isTo(NodeId node) {
        return to.equals(node);
    }

    synchronized long number() {
        return number;
    }

    private BlockManager blocks() {
        return moves.node().blocks();
    }

    private Transfer transfer() {
        return Objects.requireNonNull(transfer);
    }

    @Override
    public int stage(int piece) {
        return 0;
    }

    @Override
    public void abort() {
        moves.node().conductor().wakeup();
    }

    // ---- begun

    @Override
    public synchronized void start(Transfer transfer, long deadlineNs) {
        this.transfer = transfer;
        this.deadlineNs = deadlineNs;
        for (int i = 0; i < all.length; i++) {
            all[i] = new One();
            all[i].phase = Phase.WAITING;
        }
        number = moves.number(this);
        for (int i = 0; i < all.length; i++) {
            pin(i);
        }
        for (int first = 0; first < all.length; first += RefMessage.MAX_REFS) {
            ask(first, Math.min(all.length, first + RefMessage.MAX_REFS));
        }
    }

    private void pin(int i) {
        BlockId id = ids.get(i);
        if (!moves.claim(id, this)) {
            end(i, Outcome.REFUSED, new MooncakeException(Kind.IN_USE,
                    "block " + id + " is being moved already: wait for that, then move it again"));
            return;
        }
        BlockRef ref = blocks().find(id);
        Hold hold = ref == null ? null : blocks().hold(List.of(ref), Math.max(1, deadlineNs - nowNs()));
        if (hold == null || hold.refs().isEmpty()) {
            moves.end(id, this);
            end(i, Outcome.ABSENT, null);
            return;
        }
        // Perhaps it was moved since it was found.
        all[i].ref = hold.refs().getFirst();
        all[i].hold = hold;
    }

    private long nowNs() {
        return moves.node().life().nowNs();
    }

    /** In one message each run of blocks that are waiting. */
    private void ask(int from, int until) {
        for (int first = from; first < until;) {
            List<BlockRef> refs = new ArrayList<>();
            for (int i = first; i < until && all[i].phase == Phase.WAITING; i++) {
                refs.add(Objects.requireNonNull(all[i].ref));
            }
            if (refs.isEmpty()) {
                first++;
                continue;
            }
            int milliseconds = Math.clamp((deadlineNs - nowNs()) / 1_000_000, 1, Integer.MAX_VALUE);
            transfer().posted();
            Ask ask = new Ask(number, first, handOver, priority, milliseconds, refs);
            if (!moves.node().control().send(to, Topic.MOVES, ask.encode())) {
                for (int i = first; i < first + refs.size(); i++) {
                    end(i, Outcome.UNREACHABLE, unreachable());
                }
            }
            first += refs.size();
        }
    }

    private MooncakeException unreachable() {
        return new MooncakeException(Kind.PEER_UNREACHABLE, "node " + to
                + " is not known, or cannot be told: see health() and addresses(), or name another node");
    }

    // ---- ended

    synchronized void answered(Done done) {
        for (int k = 0; k < done.outcomes().size(); k++) {
            int i = done.first() + k;
            if (i < 0 || i >= all.length || all[i].phase != Phase.WAITING) {
                continue;
            }
            Outcome outcome = done.outcomes().get(k);
            if (outcome == Outcome.OK) {
                all[i].phase = Phase.TAKEN;
            } else {
                end(i, outcome, new MooncakeException(Kind.PEER_UNREACHABLE,
                        "node " + to + " did not take block " + ids.get(i) + ": its pull ended as " + outcome
                                + "; ask again, or another node"));
            }
        }
    }

    /** Conductor: true when all of it has ended. */
    synchronized boolean look(long nowNs) {
        boolean over = true;
        for (int i = 0; i < all.length; i++) {
            if (all[i].phase == Phase.TAKEN && isKnownThere(Objects.requireNonNull(all[i].ref))) {
                end(i, Outcome.OK, null);
            } else if (all[i].phase != Phase.ENDED) {
                endEarly(i, nowNs);
            }
            over &= all[i].phase == Phase.ENDED;
        }
        return over;
    }

    private boolean isKnownThere(BlockRef ref) {
        List<BlockRef> holders = moves.node().sources().registry().locations(ref.id());
        for (int i = 0; i < holders.size(); i++) {
            if (holders.get(i).node().equals(to) && holders.get(i).isSameContent(ref)) {
                return true;
            }
        }
        return false;
    }

    private void endEarly(int i, long nowNs) {
        if (moves.node().life().isClosing() || transfer().isGivenUp()) {
            end(i, Outcome.CANCELED, null);
        } else if (nowNs - deadlineNs >= 0) {
            end(i, Outcome.TIMED_OUT, null);
        } else if (moves.node().sources().registry().peer(to) == null) {
            end(i, Outcome.UNREACHABLE, unreachable());
        }
    }

    private void end(int i, Outcome outcome, @Nullable MooncakeException cause) {
        One one = all[i];
        one.phase = Phase.ENDED;
        Outcome told = transfer().unlessGivenUp(outcome);
        BlockRef ref = one.ref;
        Hold hold = one.hold;
        if (ref != null && hold != null) {
            one.ref = null;
            one.hold = null;
            if (told == Outcome.OK) {
                moves.node().counters().increment(handOver ? Counter.BLOCKS_HANDED_OVER : Counter.BLOCKS_COPIED_OUT);
                if (handOver) {
                    blocks().evict(ref);
                }
            }
            hold.close();
            moves.end(ids.get(i), this);
        }
        transfer().end(i, told, told == outcome ? cause : null);
    }
}
