package io.mooncake.bench.cli;

import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.NodeConfigBuilder;
import io.mooncake.core.base.Memory;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Region;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/** The embedded nodes of a replay that are in this process. One thread. */
final class Cluster implements AutoCloseable {
    private final List<Member> members = new ArrayList<>();
    private final Arena arena = Arena.ofShared();

    /**
     * A node with what a request on it needs.
     *
     * @param index its place in the cluster
     * @param node the node
     * @param copies registered memory for one block
     * @param copy the same memory
     * @param view for one block at a time
     */
    record Member(int index, Node node, Region copies, MemorySegment copy, BlockView view) {}

    /**
     * Starts all nodes, in this process.
     *
     * @param options how many and how large
     */
    Cluster(ReplayOptions options) {
        this(configs(options), 0);
    }

    /**
     * Starts some of the nodes.
     *
     * @param configs how they are set up
     * @param firstIndex place of the first of them in the cluster
     */
    Cluster(List<NodeConfig> configs, int firstIndex) {
        try {
            for (int i = 0; i < configs.size(); i++) {
                start(firstIndex + i, configs.get(i));
            }
        } catch (RuntimeException | Error e) {
            close();
            throw e;
        }
    }

    private static List<NodeConfig> configs(ReplayOptions options) {
        LocalRegistry registry = new LocalRegistry();
        List<NodeConfig> configs = new ArrayList<>();
        for (int i = 0; i < options.nodes(); i++) {
            NodeConfigBuilder builder = NodeConfig.builder("node-" + i)
                    .registry(registry)
                    .blockSize(options.blockSize())
                    .poolSize(options.poolBytes())
                    .spareSlots(options.spareSlots())
                    .evictionPolicy(options.policy());
            ReplayVram.apply(NodeSettings.byKey(options.tierSettings(i)), i, options.blockSize(), builder);
            configs.add(builder.build());
        }
        return configs;
    }

    private void start(int index, NodeConfig config) {
        Node node = Node.start(config);
        try {
            MemorySegment copy = arena.allocate(config.pool().blockSize(), Content.MIN_BYTES);
            Region copies = node.register(Memory.of(copy), Access.LOCAL_ONLY);
            members.add(new Member(index, node, copies, copy, node.store().newView()));
        } catch (RuntimeException | Error e) {
            node.close();
            throw e;
        }
    }

    /** The nodes, in the order of routing. */
    List<Member> members() {
        return members;
    }

    /** Closes every node, then frees the memory that was copied into. */
    @Override
    public void close() {
        RuntimeException failure = null;
        for (Member member : members) {
            try {
                member.copies().close();
                member.node().close();
            } catch (RuntimeException e) {
                if (failure == null) {
                    failure = e;
                } else {
                    failure.addSuppressed(e);
                }
            }
        }
        if (failure != null) {
            throw failure; // what is still in use is not freed
        }
        arena.close();
    }
}
