package io.mooncake.core;

import io.mooncake.core.MoveMessage.Ask;
import io.mooncake.core.MoveMessage.Done;
import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Topic;
import io.mooncake.core.transfer.Transfer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Blocks that go from node to node because one asks the other to take them.
 *
 * <pre>
 *   source                                      target
 *     │ pins                                      │
 *     │ ASK, topic MOVES                          │
 *     │ ─────────────────────────────────────────►│ replicas, by reference, pulled as any
 *     │ ◄──────────────────────────────────── DONE│
 *     │ ◄──── registry: it has them ──────────────│
 *     │ hand-over: evicts                         │
 * </pre>
 *
 * <p>A block is in one move at a time; and who hands one over does not take it over meanwhile. Any thread, but for {@link #look}, which is the
 * conductor's.
 */
final class Moves {
    private static final Logger LOG = LoggerFactory.getLogger(Moves.class);

    private final NodeParts node;
    private final NodeStore store;
    private final AtomicLong lastNumber = new AtomicLong();
    private final ConcurrentHashMap<Long, Move> asked = new ConcurrentHashMap<>();
    private final ConcurrentHashMap<BlockId, Move> moving = new ConcurrentHashMap<>();

    Moves(NodeParts node, NodeStore store) {
        this.node = node;
        this.store = store;
        node.control().onMessage(Topic.MOVES, this::onMessage);
        node.conductor().alsoLook(this::look);
    }

    Transfer begin(List<BlockId> ids, NodeId to, boolean handOver, TransferOptions options) {
        store.checkOpen();
        if (to.equals(node.life().id)) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT,
                    "node " + to + " has its own blocks: name another node to take them");
        }
        Move move = new Move(this, List.copyOf(ids), to, handOver, options.priority());
        return store.transfer(move, ids.size(), true, options).submit();
    }

    NodeParts node() {
        return node;
    }

    /** False when the block is in another move. */
    boolean claim(BlockId id, Move move) {
        return moving.putIfAbsent(id, move) == null;
    }

    void end(BlockId id, Move move) {
        moving.remove(id, move);
    }

    /** From now on answers are taken, and time is looked after. */
    long number(Move move) {
        long number = lastNumber.incrementAndGet();
        asked.put(number, move);
        return number;
    }

    /** Conductor: ends what is over. */
    private int look(long nowNs) {
        int ended = 0;
        if (asked.isEmpty()) {
            return ended;
        }
        for (Map.Entry<Long, Move> each : asked.entrySet()) {
            Move move = each.getValue();
            // One that was submitted again has another number by now.
            if (move.number() != each.getKey() || move.look(nowNs)) {
                asked.remove(each.getKey(), move);
                ended++;
            }
        }
        return ended;
    }

    // ---- pollers

    private void onMessage(NodeId from, byte[] bytes) {
        MoveMessage message;
        try {
            message = MoveMessage.read(bytes);
        } catch (MooncakeException e) {
            node.counters().increment(Counter.MESSAGES_DROPPED);
            LOG.debug("node {}: {} of {}", node.life().id, e.getMessage(), from);
            return;
        }
        switch (message) {
            case Ask ask -> take(from, ask);
            case Done done -> {
                Move move = asked.get(done.number());
                if (move != null && move.isTo(from)) {
                    move.answered(done);
                    node.conductor().wakeup();
                } // Else it is over.
            }
        }
    }

    private void take(NodeId from, Ask ask) {
        Outcome[] outcomes = new Outcome[ask.refs().size()];
        Arrays.fill(outcomes, Outcome.REFUSED);
        List<Piece> pieces = new ArrayList<>();
        List<Integer> places = new ArrayList<>();
        for (int i = 0; i < outcomes.length; i++) {
            BlockRef ref = ask.refs().get(i);
            if (ref.node().equals(from) && !(ask.handOver() && moving.containsKey(ref.id()))) {
                pieces.add(Piece.of(ref, 0, Piece.WHOLE, Destination.replica()));
                places.add(i);
            }
        }
        if (pieces.isEmpty()) {
            answer(from, ask, outcomes);
            return;
        }
        try {
            TransferOptions options = TransferOptions.DEFAULT.withPriority(ask.priority())
                    .withTimeout(Duration.ofMillis(Math.max(1, ask.milliseconds())))
                    .withCallback(pulled -> {
                        for (int i = 0; i < places.size(); i++) {
                            outcomes[places.get(i)] = pulled.outcome(i);
                        }
                        answer(from, ask, outcomes);
                    });
            store.prepare(pieces, options).submit();
        } catch (MooncakeException e) {
            // This node takes nothing any more.
            answer(from, ask, outcomes);
        }
    }

    /** One that is lost is as if the other node had not answered in time. */
    private void answer(NodeId to, Ask ask, Outcome[] outcomes) {
        Done done = new Done(ask.number(), ask.first(), List.of(outcomes));
        if (!node.control().send(to, Topic.MOVES, done.encode())) {
            LOG.debug("node {}: {} cannot be told of what it asked for", node.life().id, to);
        }
    }
}
