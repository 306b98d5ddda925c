package io.mooncake.bench.cli;

import io.mooncake.core.Destination;
import io.mooncake.core.Node;
import io.mooncake.core.Piece;
import io.mooncake.core.TransferOptions;
import io.mooncake.core.base.Memory;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/** The way to a peer, made before anything is measured: engines find out by and by that they reach it. */
final class FirstPull {
    private static final long MOST_NS = TimeUnit.SECONDS.toNanos(20);
    private static final long STEP_NS = TimeUnit.MILLISECONDS.toNanos(1);

    private FirstPull() {}

    /**
     * Pulls a few bytes, again and again until they come.
     *
     * @param node the pulling node
     * @param from a block of the peer's
     * @throws IllegalStateException when they did not come in time
     */
    static void await(Node node, BlockRef from) {
        await(node, from, Transfer::join);
    }

    /** The same, where more is to be driven while a pull is awaited than the node. */
    static void await(Node node, BlockRef from, Consumer<Transfer> join) {
        long end = System.nanoTime() + MOST_NS;
        try (Arena arena = Arena.ofShared();
                Region region = node.register(Memory.of(arena.allocate(Long.BYTES)), Access.LOCAL_ONLY)) {
            Piece piece = Piece.of(from, 0, Long.BYTES, Destination.at(region, 0));
            Outcome outcome = pull(node, piece, join);
            while (outcome != Outcome.OK) {
                if (System.nanoTime() - end >= 0) {
                    throw new IllegalStateException("node " + from.node() + " was not reached within "
                            + TimeUnit.NANOSECONDS.toSeconds(MOST_NS) + " s: " + outcome);
                }
                LockSupport.parkNanos(STEP_NS);
                outcome = pull(node, piece, join);
            }
        }
    }

    private static Outcome pull(Node node, Piece piece, Consumer<Transfer> join) {
        Transfer transfer = node.store().prepare(List.of(piece), TransferOptions.DEFAULT).submit();
        join.accept(transfer);
        return transfer.outcome(0);
    }
}
