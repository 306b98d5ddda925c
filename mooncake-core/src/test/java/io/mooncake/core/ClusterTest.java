package io.mooncake.core;

import static io.mooncake.core.TestNodes.BLOCK;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.ClusterSecret;
import io.mooncake.core.base.Endpoint;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.testing.FreePorts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Nodes that are joined by JGroups, as if each were a process: what they know of each other, and what they refuse. */
@Timeout(120)
class ClusterTest extends JoinedNodes {
    private static final ClusterSecret SECRET = ClusterSecret.of("0123456789abcdef0123456789abcdef");
    private static final ClusterSecret ANOTHER = ClusterSecret.of("another secret, another cluster");

    ClusterTest() {
        super("cluster-test", 2, Duration.ofMillis(200), 15);
    }

    private Node start(String name, int place) {
        return start(name, list.get(place), builder -> builder.clusterSecret(SECRET));
    }

    @Test
    void nodesFindEachOtherAndReadEachOthersBlocks() {
        Node a = start("a", 0);
        BlockId early = BlockId.of("early");
        TestNodes.write(a, early, BLOCK, 1);
        assertEquals(NodeHealth.State.DEGRADED, a.health().state(), "it is alone, and the list names others");
        Node b = start("b", 1);
        awaitMembers(2, a, b);
        BlockId late = BlockId.of("late");
        TestNodes.write(b, late, BLOCK, 2);
        assertTrue(TestWaits.until(() -> b.store().locations(early).size() == 1), "a joiner gets what there was");
        assertTrue(TestWaits.until(() -> a.store().locations(late).size() == 1), "the others get what is new");
        assertEquals(Outcome.OK, read(b, early, 1));
        assertEquals(Outcome.OK, read(a, late, 2));
        a.store().evict(List.of(early));
        assertTrue(TestWaits.until(() -> b.store().locations(early).isEmpty()));
        assertTrue(TestWaits.until(() -> a.health().state() == NodeHealth.State.OK), () -> a.health().toString());
        assertEquals(list.get(0), a.health().clusterAddress().orElseThrow());
        assertEquals(2, a.health().members());
    }

    @Test
    void aNodeThatIsInNoListIsFoundAtAnyPort() {
        Node a = start("a", list.get(0), builder -> builder);
        Node b = start("b", new Endpoint("127.0.0.1", 0), builder -> builder);
        Node c = start("c", new Endpoint("127.0.0.1", 0), builder -> builder);
        awaitMembers(3, a, b, c);
        BlockId id = BlockId.of("x");
        TestNodes.write(b, id, BLOCK, 3);
        assertTrue(TestWaits.until(() -> c.store().locations(id).size() == 1));
        assertEquals(Outcome.OK, read(c, id, 3));
    }

    @Test
    void joiningAndLeavingAreNumberedEvents() {
        Node a = start("a", 0);
        List<NodeEvent> events = Collections.synchronizedList(new ArrayList<>());
        a.nodeEvents(events::add);
        Node b = start("b", 1);
        awaitMembers(2, a, b);
        BlockId id = BlockId.of("x");
        BlockRef ref = TestNodes.write(b, id, BLOCK, 4);
        assertTrue(TestWaits.until(() -> a.store().locations(id).equals(List.of(ref))));
        b.close();
        assertTrue(TestWaits.until(() -> events.size() == 2), events::toString);
        assertEquals(List.of(1L, 2L), events.stream().map(NodeEvent::number).toList());
        assertEquals(List.of(NodeEvent.Kind.JOINED, NodeEvent.Kind.DEAD),
                events.stream().map(NodeEvent::kind).toList());
        assertTrue(events.stream().allMatch(event -> event.node().equals(b.id()) && !event.reason().isBlank()));
        assertEquals(List.of(), a.store().locations(id), "a node that left has no blocks");
        assertEquals(List.of(a.id()), a.nodes());
        assertEquals(NodeHealth.State.STOPPED, b.health().state());
    }

    @Test
    void theOlderOfTwoNodesOfOneNameStopsAndSaysWhy() {
        Node older = start("same", 0);
        BlockId id = BlockId.of("x");
        TestNodes.write(older, id, BLOCK, 5);
        Node younger = start("same", 1);
        assertTrue(younger.id().incarnation() > older.id().incarnation());
        assertTrue(TestWaits.until(() -> older.health().state() == NodeHealth.State.STOPPED));
        MooncakeException refused = assertThrows(MooncakeException.class,
                () -> older.store().allocate(BlockId.of("y"), BLOCK));
        assertEquals(Kind.CLOSED, refused.kind());
        assertTrue(refused.getMessage().contains("duplicate name") && refused.getMessage()
                .contains(younger.id().toString()), refused.getMessage());
        TestNodes.write(younger, id, BLOCK, 6);
        assertEquals(Outcome.OK, read(younger, id, 6));
        assertEquals(List.of(younger.id()), younger.nodes());
    }

    @Test
    void C33_aNodeWhoseClockWasSetBackStillGetsALaterLife() {
        Node a = start("a", 0);
        Instant then = Instant.parse("2030-01-01T00:00:00Z");
        Node b = start("b", list.get(1),
                builder -> builder.clusterSecret(SECRET).incarnationFrom(() -> then, new Random(1)));
        awaitMembers(2, a, b);
        b.close();
        awaitMembers(1, a);
        Node again = start("b", list.get(1),
                builder -> builder.clusterSecret(SECRET)
                        .incarnationFrom(() -> then.minus(Duration.ofHours(2)), new Random(1)));
        assertEquals(b.id().incarnation() + 1, again.id().incarnation());
        awaitMembers(2, a, again);
    }

    @Test
    void whoHasAnotherSecretOrNoneStaysAlone() {
        Node a = start("a", 0);
        Node stranger = start("b", list.get(1), builder -> builder.clusterSecret(ANOTHER));
        assertEquals(List.of(stranger.id()), stranger.nodes());
        assertTrue(stranger.health().troubles().toString().contains("alone"), () -> stranger.health().toString());
        stranger.close();
        Node open = start("c", list.get(1), builder -> builder);
        assertEquals(List.of(open.id()), open.nodes());
        open.close();
        // The third one shows that the first would have been found.
        Node b = start("d", 1);
        awaitMembers(2, a, b);
        assertTrue(a.nodes().contains(b.id()), () -> a.nodes().toString());
    }

    @Test
    void everySocketIsBoundToTheClusterAddress() throws IOException {
        Set<String> before = listening();
        Endpoint at = FreePorts.of("127.0.0.2", 1).getFirst();
        start("a", at, builder -> builder.bind(new Endpoint("127.0.0.2", 0)));
        Set<String> opened = new HashSet<>(listening());
        opened.removeAll(before);
        assertTrue(opened.size() >= 3, () -> "TCP engine, JGroups, its failure detection: " + opened);
        assertTrue(opened.stream().allMatch(address -> address.startsWith("127.0.0.2:")), opened::toString);
    }

    /** What this process listens at, TCP and UDP. */
    private static Set<String> listening() throws IOException {
        Set<String> inodes = new HashSet<>();
        try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
            for (Path descriptor : descriptors.toList()) {
                if (Files.isSymbolicLink(descriptor)) {
                    inodes.add(Files.readSymbolicLink(descriptor).toString());
                }
            }
        }
        Set<String> addresses = new HashSet<>();
        for (String table : List.of("tcp", "tcp6", "udp", "udp6")) {
            Path file = Path.of("/proc/net", table);
            for (String line : Files.exists(file) ? Files.readAllLines(file) : List.<String>of()) {
                String[] words = line.strip().split("\\s+", -1);
                boolean bound = words[2].matches("0+:0000") && (table.startsWith("udp") || words[3].equals("0A"));
                if (bound && inodes.contains("socket:[" + words[9] + "]")) {
                    addresses.add(text(words[1]));
                }
            }
        }
        return addresses;
    }

    /** The kernel writes an address as words of 4 bytes, each in the host's order. */
    private static String text(String address) {
        byte[] bytes = HexFormat.of().parseHex(address.substring(0, address.indexOf(':')));
        int last = bytes.length - 4;
        return (bytes[last + 3] & 0xFF) + "." + (bytes[last + 2] & 0xFF) + "." + (bytes[last + 1] & 0xFF) + "."
                + (bytes[last] & 0xFF) + address.substring(address.indexOf(':'));
    }

    @Test
    void C85_anAddressThatOthersCannotDialIsRefused() {
        for (String[] wrong : new String[][]{{"0.0.0.0:0", "wildcard"}, {"[::]:0", "wildcard"},
                {"192.0.2.1:0", "cluster.secret"}, {"no.such.host.invalid:0", "no.such.host.invalid"}}) {
            MooncakeException e = assertThrows(MooncakeException.class,
                    () -> start("a", Endpoint.parse(wrong[0], 0), builder -> builder));
            assertEquals(Kind.CONFIG_ERROR, e.kind());
            assertTrue(e.getMessage().contains("cluster.bind") && e.getMessage().contains(wrong[1]), e.getMessage());
        }
        // Not an address of this host (TEST-NET-1), and a port that is taken.
        assertEquals(Kind.CONFIG_ERROR, assertThrows(MooncakeException.class, () -> start("a",
                new Endpoint("192.0.2.1", 0), builder -> builder.clusterSecret(SECRET))).kind());
        start("a", 0);
        MooncakeException taken = assertThrows(MooncakeException.class, () -> start("b", 0));
        assertTrue(taken.getMessage().contains(list.get(0).toString()), taken.getMessage());
        assertFalse(nodes.size() > 1);
    }
}
