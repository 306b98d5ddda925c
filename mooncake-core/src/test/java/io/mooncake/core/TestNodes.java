package io.mooncake.core;

import io.mooncake.core.base.Memory;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/** Nodes of one registry for a test, closed with it. */
final class TestNodes implements AutoCloseable {
    static final long BLOCK = 64 << 10;
    static final Duration LONG = Duration.ofSeconds(20);

    final LocalRegistry registry = new LocalRegistry();
    private final Arena arena = Arena.ofShared();
    private final List<Node> nodes = new ArrayList<>();

    Node start(String name, UnaryOperator<NodeConfigBuilder> settings) {
        NodeConfigBuilder builder = NodeConfig.builder(name).registry(registry).blockSize(BLOCK).poolSize(16 * BLOCK);
        Node node = Node.start(settings.apply(builder).build());
        nodes.add(node);
        return node;
    }

    Node start(String name) {
        return start(name, builder -> builder);
    }

    MemorySegment memory(long bytes) {
        return arena.allocate(bytes, 64);
    }

    Region region(Node node, long bytes) {
        return node.register(Memory.of(memory(bytes)), Access.LOCAL_ONLY);
    }

    /** Writes a block whose every byte is {@code fill}, and waits until everybody can find it. */
    static BlockRef write(Node node, BlockId id, long length, int fill) {
        try (BlockWriter writer = node.store().allocate(id, length)) {
            writer.segment().fill((byte) fill);
            BlockRef ref = writer.commit();
            announced(node);
            return ref;
        }
    }

    /** A transfer with nothing special about it. */
    static Transfer prepare(Node node, Piece... pieces) {
        return node.store().prepare(List.of(pieces), TransferOptions.DEFAULT);
    }

    static void announced(Node node) {
        if (!node.store().awaitAnnounced(LONG)) {
            throw new AssertionError("not announced in time");
        }
    }

    static boolean isAll(MemorySegment segment, long offset, long length, int fill) {
        for (long i = offset; i < offset + length; i++) {
            if (segment.get(ValueLayout.JAVA_BYTE, i) != (byte) fill) {
                return false;
            }
        }
        return true;
    }

    static MemorySegment segment(Region region) {
        return ((Memory.HostMemory) region.memory()).segment();
    }

    @Override
    public void close() {
        nodes.reversed().forEach(Node::close);
        arena.close();
    }
}
