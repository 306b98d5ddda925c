package io.mooncake.bench.cli;

import io.mooncake.core.Destination;
import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.NodeConfigBuilder;
import io.mooncake.core.Piece;
import io.mooncake.core.TransferOptions;
import io.mooncake.core.base.Memory;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** One pulling node and several serving ones with one block each, all in this process. One thread. */
final class FairPeers implements AutoCloseable {
    private static final TransferOptions OPTIONS = TransferOptions.DEFAULT.withTimeout(Duration.ofMinutes(10));

    private final Arena arena = Arena.ofShared();
    private final List<Node> nodes = new ArrayList<>();
    private final List<BlockRef> blocks = new ArrayList<>();
    private final Node reader;
    private final Region region;

    /**
     * Starts everything.
     *
     * @param engine by which the pulling node reaches the others
     * @param settings of all nodes
     * @param lengths of the serving nodes' blocks, one each
     */
    FairPeers(String engine, NodeSettings settings, List<Long> lengths) {
        // What the pulling node knows is how to dial the others; whatever else joins them it does not see.
        LocalRegistry serving = new LocalRegistry();
        LocalRegistry pulling = new LocalRegistry();
        try {
            for (long length : lengths) {
                Node node = start(NodeConfig.builder("peer-" + nodes.size()).registry(serving), settings, length);
                Map<String, String> addresses = Objects.requireNonNull(serving.peer(node.id())).addresses();
                pulling.withAddress(node.id().name(), engine, Served.address(addresses, engine));
                blocks.add(write(node, length));
            }
            long longest = lengths.stream().mapToLong(Long::longValue).max().orElseThrow();
            reader = start(NodeConfig.builder("reader").registry(pulling), settings, 1 << 20);
            region = reader.register(Memory.of(arena.allocate(longest, 4096)), Access.LOCAL_ONLY);
            blocks.forEach(block -> FirstPull.await(reader, block));
        } catch (RuntimeException | Error e) {
            nodes.forEach(Node::close);
            arena.close();
            throw e;
        }
    }

    private Node start(NodeConfigBuilder builder, NodeSettings settings, long block) {
        Node node = Node.start(settings.applyTo(builder.blockSize(block).poolSize(2 * block).spareSlots(1)).build());
        nodes.add(node);
        return node;
    }

    private static BlockRef write(Node node, long length) {
        try (BlockWriter writer = node.store().allocate(BlockId.of("block of " + node.id().name()), length)) {
            writer.segment().fill((byte) 7);
            return writer.commit();
        }
    }

    /** A pull of a serving node's whole block; all go to the same place, since nobody looks at what came. */
    Transfer prepare(int peer) {
        return reader.store()
                .prepare(List.of(Piece.of(blocks.get(peer), 0, Piece.WHOLE, Destination.at(region, 0))), OPTIONS);
    }

    @Override
    public void close() {
        region.close();
        nodes.reversed().forEach(Node::close);
        arena.close();
    }
}
