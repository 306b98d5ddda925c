package io.mooncake.core;

import static io.mooncake.core.TestNodes.BLOCK;

import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/** A node that has blocks, and one run by hand (INVOKER, manual clock) that reads them by a {@link ManualEngine}. */
final class ManualNodes implements AutoCloseable {
    static final int SLOTS = 4;

    final TestNodes nodes = new TestNodes();
    final AtomicLong nowNs = new AtomicLong();
    final Node source;
    final Node node;
    final ManualEngine engine;

    ManualNodes() {
        AtomicReference<ManualEngine> made = new AtomicReference<>();
        source = nodes.start("source");
        node = nodes.start("reader", builder -> builder.threading(ThreadingMode.INVOKER)
                .poolSize(SLOTS * BLOCK)
                .nanoClock(nowNs::get)
                .engines(context -> {
                    made.set(new ManualEngine(context));
                    return List.of(made.get());
                }));
        engine = Objects.requireNonNull(made.get());
    }

    BlockRef block(String name) {
        return TestNodes.write(source, BlockId.of(name), BLOCK, 7);
    }

    Region region(long blocks) {
        return nodes.region(node, blocks * BLOCK);
    }

    static Piece into(Region region, int at, BlockRef ref) {
        return Piece.of(ref, 0, Piece.WHOLE, Destination.at(region, at * BLOCK));
    }

    Transfer prepare(Piece... pieces) {
        return node.store().prepare(List.of(pieces), TransferOptions.DEFAULT);
    }

    /** Until the node has nothing to do. */
    void run() {
        while (node.doWork() > 0) {
            // One more cycle.
        }
    }

    @Override
    public void close() {
        nodes.close();
    }
}
