package io.mooncake.bench.cli;

import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Memory;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Region;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/** The embedded nodes of a replay, set up as nodes are by default, joined by one registry. One thread. */
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
     * Starts the nodes.
     *
     * @param options how many and how large
     */
    Cluster(ReplayOptions options) {
        LocalRegistry registry = new LocalRegistry();
        try {
            for (int i = 0; i < options.nodes(); i++) {
                NodeConfig config = NodeConfig.builder("node-" + i)
                        .registry(registry)
                        .blockSize(options.blockSize())
                        .poolSize(options.poolBytes())
                        .spareSlots(options.spareSlots())
                        .evictionPolicy(options.policy())
                        .build();
                start(i, config);
            }
        } catch (RuntimeException | Error e) {
            close();
            throw e;
        }
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

    /** What all nodes have counted together. */
    long total(Counter counter) {
        return members.stream().mapToLong(member -> member.node().counters().get(counter)).sum();
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
