package io.mooncake.core;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Counters;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.transfer.Outcome;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What a node counts of its pulls: how pieces ended, and how many bytes went which way. Any thread; allocates nothing.
 *
 * @param counters the node's
 * @param self this node
 * @param hot is told what is read from other nodes; null where no copies are taken of that
 */
record PullCounters(Counters counters, NodeId self, @Nullable HotReplicas hot) {
    /** A piece ended. */
    void ended(Outcome outcome) {
        counters.increment(switch (outcome) {
            case OK -> Counter.PIECES_OK;
            case ABSENT -> Counter.PIECES_ABSENT;
            case STALE -> Counter.PIECES_STALE;
            case CHECKSUM -> Counter.PIECES_CHECKSUM;
            case TIMED_OUT -> Counter.PIECES_TIMED_OUT;
            case CANCELED -> Counter.PIECES_CANCELED;
            case UNREACHABLE -> Counter.PIECES_UNREACHABLE;
            default -> Counter.PIECES_REFUSED;
        });
    }

    /** A piece goes on after a failure. */
    void retried() {
        counters.increment(Counter.PIECE_RETRIES);
    }

    /** A part has the bytes of its source, or has them one tier further on its way. */
    void moved(Part part) {
        BlockRef source = Objects.requireNonNull(part.source);
        boolean replica = part.piece.destination() instanceof Destination.Replica;
        if (!source.node().equals(self)) {
            counters.add(Counter.BYTES_PULLED, part.read.length());
            if (!replica && hot != null) {
                hot.read(source, part.read.length());
            }
        } else if (!replica) {
            counters.add(Counter.BYTES_COPIED, part.read.length());
        } else if (part.read.receivedSoFar() > 0) {
            counters.add(source.tier().compareTo(part.step) < 0 ? Counter.BYTES_DEMOTED : Counter.BYTES_PROMOTED,
                    part.read.length());
        }
    }
}
