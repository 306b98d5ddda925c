package io.mooncake.core;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.manager.BlockManager;
import org.jspecify.annotations.Nullable;

/**
 * What reads that failed say of the blocks that they were to read, and who is told. The conductor's; while closing, that of whoever ends its parts.
 *
 * @param life the node's
 * @param blocks what is here: a damaged copy goes
 * @param events told of references that turned out stale, damaged or lost
 * @param nodes told of holders that could not be reached
 */
record SourceFaults(Life life, BlockManager blocks, BlockEvents events, NodeEvents nodes) {
    void stale(BlockRef source) {
        events.raise(BlockEvent.Kind.STALE, source,
                "its guard has changed: node " + source.node() + " evicted or replaced it");
    }

    void damaged(BlockRef source) {
        events.raise(BlockEvent.Kind.DAMAGED, source,
                "the checksum of what node " + source.node() + " gave is another than when it was written");
        if (source.node().equals(life.id)) {
            boolean _ = blocks.drop(source);
        }
    }

    void unreachable(BlockRef source, @Nullable MooncakeException cause) {
        String reason = cause == null ? "it cannot be reached" : String.valueOf(cause.getMessage());
        events.raise(BlockEvent.Kind.LOST, source, reason);
        nodes.raise(NodeEvent.Kind.SUSPECT, source.node(), reason);
    }
}
