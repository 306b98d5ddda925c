package io.mooncake.core;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Tier;
import io.mooncake.core.transfer.Topic;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Brings blocks into host memory that other nodes want and that are only in this node's file, or only on its device.
 *
 * <pre>
 *   reader                                     owner
 *     │ its references, topic WANTED              │
 *     │ ─────────────────────────────────────────►│ brings them up, or down, as loads
 *     │ ◄──── registry: they are in memory ───────│
 *     │ reads as ever                             │
 * </pre>
 *
 * <p>Nothing is answered: what is lost is asked for again, and what cannot be brought up is missed at the read's deadline.
 */
final class Raising {
    /** From one question about a block to the next. */
    private static final long AGAIN_NS = TimeUnit.MILLISECONDS.toNanos(500);

    private static final Logger LOG = LoggerFactory.getLogger(Raising.class);

    private final NodeParts node;
    private final NodeStore store;

    private Raising(NodeParts node, NodeStore store) {
        this.node = node;
        this.store = store;
    }

    /** The reader's half: asks the owner for what a part wants, unless that was done just now. False when the owner is not known any more. */
    static boolean ask(PullContext node, Part part, BlockRef source) {
        long nowNs = node.life().nowNs();
        if (isAsked(part, source) && nowNs - part.askedNs < AGAIN_NS) {
            return true;
        }
        part.raising = source;
        part.askedNs = nowNs;
        return node.control().send(source.node(), Topic.WANTED, RefMessage.of(List.of(source)))
                || node.sources().registry().peer(source.node()) != null;
    }

    static MooncakeException inVain(BlockRef source) {
        return new MooncakeException(Kind.TIMEOUT, "node " + source.node() + " did not bring block " + source.id()
                + " up from its file in time: give the transfer more time, or that node more memory");
    }

    static boolean isAsked(Part part, BlockRef source) {
        return source.equals(part.raising);
    }

    /** From now on a node brings up what others want. */
    static void serve(NodeParts node, NodeStore store) {
        node.control().onMessage(Topic.WANTED, new Raising(node, store)::onWanted);
    }

    /** A poller. Submitting waits for nothing, and a message names few blocks. */
    private void onWanted(NodeId from, byte[] message) {
        try {
            List<Piece> up = RefMessage.read(message)
                    .stream()
                    .filter(ref -> ref.node().equals(node.life().id) && ref.tier() != Tier.DRAM)
                    .map(BlockRef::id)
                    .map(id -> Piece.replica(id, Tier.DRAM))
                    .toList();
            if (!up.isEmpty()) {
                node.counters().add(Counter.BLOCKS_WANTED, up.size());
                store.pull(up, TransferOptions.DEFAULT).submit();
            }
        } catch (MooncakeException e) {
            // Not understood, or this node takes nothing any more.
            node.counters().increment(Counter.MESSAGES_DROPPED);
            LOG.debug("node {}: what {} wants was not brought up", node.life().id, from, e);
        }
    }
}
