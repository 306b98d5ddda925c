package io.mooncake.bench.cli;

import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.NodeConfigBuilder;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * How soon nodes that JGroups joins know what one of them has written: whole nodes in this process, each with a membership of its own, by TCP on
 * loopback. One thread writes and looks; what is measured passes through every thread that a registry has.
 */
final class RegistryConvergence implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final long BLOCK = 64;
    /** More blocks than are written, so that none is evicted. */
    private static final int ROOM = 2;

    private final int share;
    private final List<Node> nodes = new ArrayList<>();
    private final List<Integer> written = new ArrayList<>();

    /**
     * Starts the nodes, which find each other.
     *
     * @param count of nodes that have blocks
     * @param facts of all of them together
     * @param more blocks that there is to be room for on each
     */
    RegistryConvergence(int count, int facts, int more) {
        share = facts / count;
        try {
            for (int i = 0; i < count; i++) {
                start(more);
            }
            agree();
        } catch (RuntimeException | Error e) {
            close();
            throw e;
        }
    }

    private void start(int more) {
        String others = nodes.isEmpty()
                ? MatrixCommand.NOBODY
                : nodes.getFirst().health().clusterAddress().orElseThrow().toString();
        NodeConfigBuilder builder = NodeConfig.builder("node-" + nodes.size())
                .blockSize(BLOCK)
                .poolSize(BLOCK * ROOM * (share + more + 64L))
                .set("sharedMemory", "off")
                .set("cluster.discovery", others)
                .set("cluster.bind", "127.0.0.1:0");
        nodes.add(Node.start(builder.build()));
        written.add(0);
    }

    /** Blocks of all nodes. */
    int facts() {
        return written.stream().mapToInt(Integer::intValue).sum();
    }

    private static BlockId id(int owner, int block) {
        return BlockId.of("block " + block + " of " + owner);
    }

    private void write(int owner) {
        BlockId id = id(owner, written.get(owner));
        try (BlockWriter writer = nodes.get(owner).store().allocate(id, BLOCK)) {
            writer.commit();
        }
        written.set(owner, written.get(owner) + 1);
    }

    /** Every node writes its share, a block of each in turn; nanoseconds from the first one until everybody knows all. */
    long writeAll() {
        long startNs = System.nanoTime();
        for (int block = 0; block < share; block++) {
            for (int owner = 0; owner < nodes.size(); owner++) {
                write(owner);
            }
        }
        agree();
        return System.nanoTime() - startNs;
    }

    /** One node writes one block; nanoseconds until every other one finds it. */
    long writeOne(int owner) {
        BlockId id = id(owner, written.get(owner));
        long startNs = System.nanoTime();
        write(owner);
        for (Node node : nodes) {
            Await.until(() -> node.store().locations(id), found -> !found.isEmpty(), PATIENCE,
                    none -> id + " was not known to " + node.id() + " within " + PATIENCE);
        }
        return System.nanoTime() - startNs;
    }

    /** One more node starts; nanoseconds from then on until it knows everything. */
    long join() {
        long startNs = System.nanoTime();
        start(0);
        agree();
        return System.nanoTime() - startNs;
    }

    /** Until everybody knows as many changes of everybody as that one has made. */
    private void agree() {
        for (Node owner : nodes) {
            if (!owner.store().awaitAnnounced(PATIENCE)) {
                throw new IllegalStateException(owner.id() + " did not announce its blocks within " + PATIENCE);
            }
            long made = owner.changesKnown(owner.id());
            for (Node node : nodes) {
                Await.until(() -> node.changesKnown(owner.id()), known -> known >= made && known > 0, PATIENCE,
                        known -> node.id() + " knows " + known + " of " + made + " changes of " + owner.id()
                                + " after " + PATIENCE);
            }
        }
    }

    /** How many blocks the newest node knows otherwise than their owner. */
    long differences() {
        Node newest = nodes.getLast();
        long different = 0;
        for (int owner = 0; owner < nodes.size(); owner++) {
            for (int block = 0; block < written.get(owner); block++) {
                BlockId id = id(owner, block);
                List<BlockRef> told = nodes.get(owner).store().locations(id);
                different += told.size() == 1 && newest.store().locations(id).equals(told) ? 0 : 1;
            }
        }
        return different;
    }

    @Override
    public void close() {
        nodes.reversed().forEach(Node::close);
    }
}
