package io.mooncake.core;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.registry.Registry;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Priority;
import io.mooncake.core.transfer.Topic;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A node that leaves asks others to take what nobody else has; a node that is asked pulls it.
 *
 * <pre>
 *   leaving                                    staying
 *     │ references of its blocks, topic BLOCKS    │
 *     │ ─────────────────────────────────────────►│ replicas, in the background, by reference
 *     │ ◄──────── registry: it has them ──────────│
 *     │ what was not taken within a second: to the next one
 * </pre>
 */
final class HandOver {
    private static final Logger LOG = LoggerFactory.getLogger(HandOver.class);
    private static final long PATIENCE_NS = TimeUnit.SECONDS.toNanos(1);

    private final NodeParts node;
    private final BlockStore store;
    private final Registry registry;

    HandOver(NodeParts node, BlockStore store) {
        this.node = node;
        this.store = store;
        registry = node.sources().registry();
        node.control().onMessage(Topic.BLOCKS, this::onOffer);
    }

    /** Until others have everything, nobody is left to ask, or it is time; how many blocks nobody has taken. */
    int run(long deadlineNs) {
        List<BlockRef> alone = alone();
        for (int round = 0; !alone.isEmpty() && node.life().nowNs() - deadlineNs < 0; round++) {
            List<BlockRef> offered = offer(alone, round);
            if (offered.isEmpty()) {
                break;
            }
            long untilNs = Math.min(PATIENCE_NS, deadlineNs - node.life().nowNs()) + node.life().nowNs();
            node.waits().await(() -> offered.stream().noneMatch(this::isAlone), untilNs);
            alone = alone();
        }
        return alone.size();
    }

    private List<BlockRef> alone() {
        // What is in the file is there when the node comes back.
        return node.blocks().written().stream().filter(ref -> !ref.isInFile() && isAlone(ref)).toList();
    }

    private boolean isAlone(BlockRef ref) {
        return registry.locations(ref.id())
                .stream()
                .noneMatch(other -> !other.node().equals(ref.node()) && other.isSameContent(ref));
    }

    /** Asks each other node for as many as one message names; in each round another one is asked for the same block. */
    private List<BlockRef> offer(List<BlockRef> alone, int round) {
        List<NodeId> others = registry.nodes()
                .stream()
                .map(Peer::id)
                .filter(id -> !id.equals(node.life().id))
                .sorted((a, b) -> a.name().compareTo(b.name()))
                .toList();
        List<BlockRef> offered = new ArrayList<>();
        for (int i = 0; i < others.size(); i++) {
            List<BlockRef> named = new ArrayList<>();
            for (int at = i; at < alone.size() && named.size() < RefMessage.MAX_REFS; at += others.size()) {
                named.add(alone.get(at));
            }
            NodeId to = others.get((i + round) % others.size());
            if (!named.isEmpty() && node.control().send(to, Topic.BLOCKS, RefMessage.of(named))) {
                offered.addAll(named);
            }
        }
        return offered;
    }

    /** A poller: somebody leaves. Submitting waits for nothing, and a message names few blocks. */
    private void onOffer(NodeId from, byte[] message) {
        List<Piece> pieces = new ArrayList<>();
        try {
            for (BlockRef ref : RefMessage.read(message)) {
                if (ref.node().equals(from)) {
                    pieces.add(Piece.of(ref, 0, Piece.WHOLE, Destination.replica()));
                }
            }
            if (!pieces.isEmpty()) {
                store.prepare(pieces, TransferOptions.DEFAULT.withPriority(Priority.BACKGROUND)).submit();
            }
        } catch (MooncakeException e) {
            // Not understood, or this node takes nothing any more: the other one asks somebody else.
            node.counters().increment(Counter.MESSAGES_DROPPED);
            LOG.debug("node {}: the offer of {} was not taken", node.life().id, from, e);
        }
    }
}
