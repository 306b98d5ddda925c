package io.mooncake.core;

import static io.mooncake.core.TestNodes.BLOCK;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Endpoint;
import io.mooncake.core.base.Memory;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.registry.Discovery;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import io.mooncake.testing.FreePorts;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;

/** Nodes of this process that are joined by JGroups over loopback, as if each were a process; closed after each test. */
abstract class JoinedNodes {
    final List<Node> nodes = new ArrayList<>();
    /** Where those that have a place of their own are found. */
    final List<Endpoint> list;
    private final Arena arena = Arena.ofShared();
    private final String cluster;
    private final Duration heartbeat;
    private final int misses;

    JoinedNodes(String cluster, int places, Duration heartbeat, int misses) {
        this.cluster = cluster;
        this.heartbeat = heartbeat;
        this.misses = misses;
        try {
            list = FreePorts.of("127.0.0.1", places);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    final Node start(String name, Endpoint at, UnaryOperator<NodeConfigBuilder> settings) {
        NodeConfigBuilder builder = NodeConfig.builder(name)
                .cluster(cluster)
                .discovery(new Discovery.Addresses(list))
                .clusterBind(at)
                .heartbeat(heartbeat, misses)
                .blockSize(BLOCK)
                .poolSize(16 * BLOCK);
        Node node = Node.start(settings.apply(builder).build());
        nodes.add(node);
        return node;
    }

    @AfterEach
    void close() {
        nodes.reversed().forEach(Node::close);
        arena.close();
    }

    static void awaitMembers(int members, Node... all) {
        for (Node node : all) {
            assertTrue(TestWaits.until(() -> node.nodes().size() == members),
                    () -> node.id() + " knows " + node.nodes() + ", not " + members + ": " + node.health());
        }
    }

    final Outcome read(Node reader, BlockId id, int fill) {
        MemorySegment memory = arena.allocate(BLOCK, 64);
        try (Region region = reader.register(Memory.of(memory), Access.LOCAL_ONLY)) {
            Outcome outcome = reader.store().read(Piece.of(id, 0, Piece.WHOLE, Destination.at(region, 0)));
            assertTrue(outcome != Outcome.OK || TestNodes.isAll(memory, 0, BLOCK, fill), "wrong bytes");
            return outcome;
        }
    }
}
