package io.mooncake.bench.jmh;

import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** A node full of written blocks. */
final class Blocks implements AutoCloseable {
    private static final Duration ANNOUNCED = Duration.ofMinutes(1);

    final Node node;
    final List<BlockRef> refs;

    Blocks(int count, long blockBytes) {
        node = Node.start(NodeConfig.builder("bench")
                .blockSize(blockBytes)
                .poolSize((count + 1L) * blockBytes)
                .spareSlots(1)
                .build());
        refs = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            try (BlockWriter writer = node.store().allocate(BlockId.of("block-" + i), blockBytes)) {
                writer.segment().fill((byte) i);
                refs.add(writer.commit());
            }
        }
        if (!node.store().awaitAnnounced(ANNOUNCED)) {
            throw new IllegalStateException(count + " blocks were not announced within " + ANNOUNCED);
        }
    }

    @Override
    public void close() {
        node.close();
    }
}
