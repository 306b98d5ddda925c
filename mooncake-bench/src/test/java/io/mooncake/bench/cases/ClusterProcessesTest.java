package io.mooncake.bench.cases;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.bench.cli.Child;
import io.mooncake.core.Destination;
import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.NodeConfigBuilder;
import io.mooncake.core.NodeEvent;
import io.mooncake.core.Piece;
import io.mooncake.core.TransferOptions;
import io.mooncake.core.base.Endpoint;
import io.mooncake.core.base.Memory;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import io.mooncake.testing.FreePorts;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Nodes in processes of their own, joined by JGroups over loopback: killed, frozen, restarted on the same ports, under verified reads. */
@Timeout(240)
class ClusterProcessesTest {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final Duration DEADLINE = Duration.ofSeconds(2);
    private static final BlockId OF_PEER = BlockId.of("of-peer");
    private static final BlockId OF_BYSTANDER = BlockId.of("of-bystander");
    private static final byte BYSTANDER = 3;

    private final Arena arena = Arena.ofShared();
    private final MemorySegment memory = arena.allocate(ClusterProgram.BLOCK, 64);
    private final List<NodeEvent> events = Collections.synchronizedList(new ArrayList<>());
    private final List<Child> children = new ArrayList<>();
    private final List<Endpoint> free = freePorts();

    private static List<Endpoint> freePorts() {
        try {
            return FreePorts.of("127.0.0.1", 6);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @AfterEach
    void end() {
        children.forEach(Child::close);
        arena.close();
    }

    /** Each place has its own addresses, the same in every life. */
    private Map<String, String> settings(int place) {
        Map<String, String> settings = new TreeMap<>();
        settings.put("cluster", "processes-test");
        settings.put("cluster.secret", "a secret for the processes of this test");
        settings.put("cluster.discovery", free.get(0) + "," + free.get(1) + "," + free.get(2));
        settings.put("cluster.bind", free.get(place).toString());
        settings.put("cluster.heartbeat", "250ms");
        settings.put("cluster.heartbeatMisses", "8");
        settings.put("tcp.bind", free.get(3 + place).toString());
        settings.put("sharedMemory", "off");
        return settings;
    }

    private Child start(String name, int place, BlockId block, byte content) {
        List<String> args = new ArrayList<>(List.of(name, block.toString(), String.valueOf(content)));
        settings(place).forEach((key, value) -> args.add(key + "=" + value));
        Child child = Child.start(List.of("-Xmx128m"), ClusterProgram.class, args);
        children.add(child);
        assertTrue(Objects.toString(child.readLine(LIMIT)).startsWith(name + "#"), "it did not start");
        return child;
    }

    private Node startHere() {
        NodeConfigBuilder builder = NodeConfig.builder("here")
                .blockSize(ClusterProgram.BLOCK)
                .poolSize(8L * ClusterProgram.BLOCK);
        settings(0).forEach(builder::set);
        return Node.start(builder.build());
    }

    /** Ends by its deadline, and has right bytes when it is OK. */
    private Outcome read(Node node, Piece piece, byte content) {
        memory.fill((byte) 0);
        Transfer transfer = node.store()
                .prepare(List.of(piece), TransferOptions.DEFAULT.withTimeout(DEADLINE))
                .submit();
        assertTrue(transfer.await(DEADLINE.plusSeconds(2)), () -> transfer + " is over its deadline");
        Outcome outcome = transfer.outcome(0);
        for (long i = 0; outcome == Outcome.OK && i < memory.byteSize(); i++) {
            if (memory.get(ValueLayout.JAVA_BYTE, i) != content) {
                throw new AssertionError("byte " + i + " of " + piece.id() + " is wrong");
            }
        }
        return outcome;
    }

    private boolean happened(NodeEvent.Kind kind, BlockRef of) {
        synchronized (events) {
            return events.stream().anyMatch(event -> event.kind() == kind && event.node().equals(of.node()));
        }
    }

    /** Reads the bystander's block all the while: it is never unavailable. */
    private void until(Node node, Region region, BooleanSupplier condition, String what) {
        long deadlineNs = System.nanoTime() + LIMIT.toNanos();
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() - deadlineNs < 0, () -> what + ": " + node.health() + events);
            assertEquals(Outcome.OK, read(node, piece(OF_BYSTANDER, region), BYSTANDER), () -> what + events);
        }
    }

    private static Piece piece(BlockId id, Region region) {
        return Piece.of(id, 0, Piece.WHOLE, Destination.at(region, 0));
    }

    private static Piece piece(BlockRef ref, Region region) {
        return Piece.of(ref, 0, Piece.WHOLE, Destination.at(region, 0));
    }

    private static BlockRef only(Node node) {
        return node.store().locations(OF_PEER).getFirst();
    }

    /** C28: restarted on the same address. C34: frozen, declared dead, and back. C36: killed, and closed in good order. */
    @Test
    void C28_C34_C36_killedRestartedFrozenBackAndClosed() {
        try (Node node = startHere(); Region region = node.register(Memory.of(memory), Access.LOCAL_ONLY)) {
            node.nodeEvents(events::add);
            start("bystander", 2, OF_BYSTANDER, BYSTANDER);
            Child peer = start("peer", 1, OF_PEER, (byte) 1);
            long deadlineNs = System.nanoTime() + LIMIT.toNanos();
            while (node.store().locations(OF_BYSTANDER).isEmpty()) {
                assertTrue(System.nanoTime() - deadlineNs < 0, () -> "no bystander: " + node.health());
                Thread.onSpinWait();
            }
            until(node, region, () -> !node.store().locations(OF_PEER).isEmpty(), "the peer's block is found");
            BlockRef first = only(node);
            assertEquals(Outcome.OK, read(node, piece(first, region), (byte) 1));

            peer.kill();
            peer.waitFor(LIMIT);
            until(node, region, () -> read(node, piece(first, region), (byte) 1) == Outcome.UNREACHABLE,
                    "a read from the dead fails");
            until(node, region, () -> happened(NodeEvent.Kind.SUSPECT, first), "that makes it a suspect");
            until(node, region, () -> happened(NodeEvent.Kind.DEAD, first), "membership says that it is dead");
            assertEquals(List.of(), node.store().locations(OF_PEER));

            Child again = start("peer", 1, OF_PEER, (byte) 2);
            until(node, region, () -> !node.store().locations(OF_PEER).isEmpty(), "it is back on its old ports");
            BlockRef second = only(node);
            assertTrue(second.node().incarnation() > first.node().incarnation());
            assertEquals(Outcome.OK, read(node, piece(second, region), (byte) 2));
            assertNotEquals(Outcome.OK, read(node, piece(first, region), (byte) 1), "the earlier life is over");

            again.signal("STOP");
            until(node, region, () -> happened(NodeEvent.Kind.DEAD, second), "whoever is silent is dead");
            assertEquals(List.of(), node.store().locations(OF_PEER));
            events.clear();
            again.signal("CONT");
            until(node, region, () -> happened(NodeEvent.Kind.JOINED, second), "it announces anew");
            until(node, region, () -> node.store().locations(OF_PEER).equals(List.of(second)), "all that it has");
            until(node, region, () -> read(node, piece(OF_PEER, region), (byte) 2) == Outcome.OK, "and can be read");

            events.clear();
            again.close();
            assertEquals(0, again.waitFor(LIMIT), "nothing of it was pinned, and it said good-bye");
            until(node, region, () -> happened(NodeEvent.Kind.DEAD, second), "that it left is known");
            assertEquals(List.of(), node.store().locations(OF_PEER));
        }
    }
}
