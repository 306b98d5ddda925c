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
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;

/** The way to a peer, made before anything is measured: engines find out by and by that they reach it. */
final class FirstPull {
    private static final Duration MOST = Duration.ofSeconds(20);

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
        try (Arena arena = Arena.ofShared();
                Region region = node.register(Memory.of(arena.allocate(Long.BYTES)), Access.LOCAL_ONLY)) {
            Piece piece = Piece.of(from, 0, Long.BYTES, Destination.at(region, 0));
            Await.until(() -> pull(node, piece, join), Outcome.OK::equals, MOST, outcome -> "node " + from.node()
                    + " was not reached within " + MOST.toSeconds() + " s: " + outcome);
        }
    }

    private static Outcome pull(Node node, Piece piece, Consumer<Transfer> join) {
        Transfer transfer = node.store().prepare(List.of(piece), TransferOptions.DEFAULT).submit();
        join.accept(transfer);
        return transfer.outcome(0);
    }
}
