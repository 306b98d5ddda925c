package io.mooncake.core.transfer.tcp;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.ClusterSecret;
import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Topic;
import io.mooncake.testing.EngineRig.Reading;
import io.mooncake.testing.EngineRig.Side;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Who gets in with a cluster secret, and what everybody else learns, which is nothing. */
@Timeout(120)
final class TcpAuthenticationTest {
    private static final String SECRET = "the-secret-of-the-first-cluster";
    private static final String OTHER = "the-secret-of-another-cluster!!";

    private final Rig rig = new Rig();

    @AfterEach
    void close() {
        rig.close();
    }

    private Side side(String name, @Nullable String secret) {
        return rig.side(new NodeId(name, 1000 + rig.sides().size()), "c",
                TcpConfig.defaults().withSecret(secret == null ? null : ClusterSecret.of(secret)));
    }

    private static Credentials credentials(String secret) {
        return new Credentials(ClusterSecret.of(secret), new Random(5));
    }

    @Test
    void shouldLetInWhoKnowsTheSecret() {
        Side server = side("server", SECRET);
        Side client = side("client", SECRET);
        Region source = server.register(rig.pattern(4096), Access.READABLE);
        Reading read = client.read(server.peer(), source.id(), 0, 4096,
                client.register(rig.filled(4096, Rig.FILL), Access.LOCAL_ONLY));
        client.engine.send(server.peer(), Topic.APPLICATION, Rig.utf8("hello"));
        rig.until(() -> read.ended() && !server.messages.isEmpty());
        assertEquals(ReadStatus.OK, read.status);
        assertEquals(List.of("client:hello"), server.messages);
    }

    @Test
    void shouldRefuseByNameWhoHasNoSecretOrAnotherOne() {
        String[][] pairs = {{SECRET, OTHER, "was not proven"}, {SECRET, null, "this node has none"},
                {null, SECRET, "it has no cluster secret"}};
        for (String[] pair : pairs) {
            Side server = side("server", pair[0]);
            Side client = side("client", pair[1]);
            Region source = server.register(rig.pattern(64), Access.READABLE);
            Reading read = client.read(server.peer(), source.id(), 0, 64,
                    client.register(rig.filled(64, Rig.FILL), Access.LOCAL_ONLY));
            client.engine.send(server.peer(), Topic.APPLICATION, Rig.utf8("never"));
            rig.until(read::ended);
            rig.settle();
            assertEquals(ReadStatus.UNREACHABLE, read.status);
            assertEquals(Kind.UNAUTHORIZED, read.cause().kind());
            String message = String.valueOf(read.cause().getMessage());
            assertTrue(message.contains("node " + server.id) && message.contains(String.valueOf(pair[2])), message);
            assertTrue(message.contains("cluster.secret"), message);
            assertFalse(message.contains(SECRET) || message.contains(OTHER), message);
            assertEquals(0, client.count(Counter.LANES_OPENED));
            assertEquals(0, server.count(Counter.BYTES_SERVED));
            assertEquals(List.of(), server.messages);
        }
    }

    @Test
    void shouldTellAStrangerNothing() throws IOException {
        Side server = side("hidden", SECRET);
        try (Raw raw = Raw.dial(rig, Rig.endpoint(server))) {
            raw.send(Raw.hello("raw", "guess", new NodeId("whoever", 77)));
            Raw.Frame challenge = raw.next();
            assertEquals(Frames.CHALLENGE, challenge.type);
            assertEquals(77, challenge.incarnation, "what was asked for, not what is");
            raw.send(Raw.frame(Frames.PROOF, 0, 77, new byte[Frames.PROOF_BYTES]));
            Raw.Frame refused = raw.next();
            assertEquals(Frames.REFUSED, refused.type);
            assertEquals(Frames.WHY_SECRET, refused.status());
            assertEquals(0, refused.incarnation);
            assertFalse(refused.text().contains("hidden") || refused.text().contains("'c'"), refused.text());
            assertEquals(0, raw.awaitEnd());
        }
        try (Raw raw = Raw.dial(rig, Rig.endpoint(server))) {
            raw.send(Raw.hello("raw", "c", server.id).put(Frames.VERSION_AT, (byte) 9));
            Raw.Frame refused = raw.next();
            assertEquals(Frames.WHY_VERSION, refused.status());
            assertEquals(0, refused.incarnation);
            assertFalse(refused.text().contains("hidden"), refused.text());
        }
        assertEquals(2, server.count(Counter.HANDSHAKES_REFUSED));
    }

    @Test
    void shouldTakeNoOtherFrameBeforeTheProof() throws IOException {
        Side server = side("server", SECRET);
        Region source = server.register(rig.pattern(64), Access.READABLE);
        List<ByteBuffer> frames = List.of(Raw.read(server.id, source.id(), 0, 64),
                Raw.frame(Frames.QUERY, 1, server.id.incarnation(), new byte[]{1, 0, 0, 0}),
                Raw.frame(Frames.MESSAGE, 0, server.id.incarnation(), new byte[]{'x'}),
                Raw.hello("raw", "c", server.id));
        for (ByteBuffer frame : frames) {
            try (Raw raw = Raw.dial(rig, Rig.endpoint(server))) {
                raw.send(Raw.hello("raw", "c", server.id));
                assertEquals(Frames.CHALLENGE, raw.next().type);
                raw.send(frame);
                assertEquals(0, raw.awaitEnd());
            }
        }
        assertEquals(frames.size(), server.count(Counter.PROTOCOL_ERRORS));
        assertEquals(0, server.count(Counter.LANES_OPENED));
        assertEquals(List.of(), server.messages);
    }

    @Test
    void shouldRefuseARecordedProof() throws IOException {
        Side server = side("server", SECRET);
        byte[] recorded = new byte[0];
        for (boolean replay : new boolean[]{false, true}) {
            try (Raw raw = Raw.dial(rig, Rig.endpoint(server))) {
                raw.send(Raw.hello("raw", "c", server.id));
                byte[] nonce = raw.next().bytes();
                if (!replay) {
                    recorded = proofOf("raw", server.id, nonce);
                }
                raw.send(Raw.frame(Frames.PROOF, 0, server.id.incarnation(), recorded));
                assertEquals(replay ? Frames.REFUSED : Frames.WELCOME, raw.next().type);
            }
        }
    }

    private static byte[] proofOf(String name, NodeId server, byte[] nonce) {
        return credentials(SECRET).proof(Credentials.CLIENT,
                new Greeting("c", new NodeId(name, 9), server, new byte[Frames.NONCE_BYTES]), nonce);
    }

    @Test
    void shouldNotTakeItsOwnProofBack() throws IOException {
        Side client = side("client", SECRET);
        try (Raw.Listener listener = new Raw.Listener(rig)) {
            Reading read = client.read(listener.peer(), 1, 0, 8,
                    client.register(rig.filled(8, Rig.FILL), Access.LOCAL_ONLY));
            try (Raw raw = listener.accept()) {
                byte[] hello = raw.next().bytes();
                byte[] nonce = Arrays.copyOfRange(hello, 8, 8 + Frames.NONCE_BYTES);
                raw.send(Raw.frame(Frames.CHALLENGE, 0, listener.id.incarnation(), nonce));
                Raw.Frame proof = raw.next();
                assertEquals(Frames.PROOF, proof.type);
                raw.send(Raw.frame(Frames.WELCOME, 0, listener.id.incarnation(), proof.bytes()));
                rig.until(() -> read.ended() || client.count(Counter.LANES_OPENED) > 0);
                assertEquals(0, client.count(Counter.LANES_OPENED), "its own proof opened the lane");
                assertEquals(Kind.UNAUTHORIZED, read.cause().kind());
                assertTrue(String.valueOf(read.cause().getMessage()).contains("somebody else"), "reflected");
            }
        }
    }

    @Test
    void shouldOpenNoLaneToAServerThatProvesNothing() throws IOException {
        Side client = side("client", SECRET);
        for (int fault = 0; fault < 3; fault++) {
            try (Raw.Listener listener = new Raw.Listener(rig)) {
                long life = listener.id.incarnation();
                Reading read = client.read(listener.peer(), 1, 0, 8,
                        client.register(rig.filled(8, Rig.FILL), Access.LOCAL_ONLY));
                try (Raw raw = listener.accept()) {
                    raw.next();
                    ByteBuffer challenge = Raw.frame(Frames.CHALLENGE, 0, life, new byte[Frames.NONCE_BYTES]);
                    if (fault == 0) {
                        raw.send(Raw.frame(Frames.WELCOME, 0, life, new byte[Frames.PROOF_BYTES]));
                    } else if (fault == 1) {
                        raw.send(challenge);
                        raw.send(Raw.frame(Frames.WELCOME, 0, life, new byte[0]));
                    } else {
                        raw.send(challenge);
                        raw.send(challenge.rewind());
                    }
                    rig.until(() -> read.ended() || client.count(Counter.LANES_OPENED) > 0);
                    assertEquals(0, client.count(Counter.LANES_OPENED), "nothing was proven");
                    assertEquals(fault == 2 ? Kind.PROTOCOL_ERROR : Kind.UNAUTHORIZED, read.cause().kind());
                }
            }
        }
        assertEquals(0, client.count(Counter.LANES_OPENED));
    }

    @Test
    void shouldSayByNameThatAnotherNodeAnswersAnAddress() {
        Side server = side("server", SECRET);
        Side client = side("client", SECRET);
        Peer moved = new Peer(new NodeId("moved", server.id.incarnation()), server.peer().addresses());
        Reading read = client.read(moved, 1, 0, 8,
                client.register(rig.filled(8, Rig.FILL), Access.LOCAL_ONLY));
        rig.until(read::ended);
        assertEquals(Kind.STALE_INCARNATION, read.cause().kind());
        assertTrue(String.valueOf(read.cause().getMessage()).contains("node " + server.id + " answers here"),
                "whoever proved the secret may know it");
    }

    @Test
    void shouldBindEverythingIntoTheProof() {
        Credentials ours = credentials(SECRET);
        byte[] nonce = ours.newNonce();
        byte[] other = ours.newNonce();
        assertNotEquals(ByteBuffer.wrap(nonce), ByteBuffer.wrap(other));
        NodeId a = new NodeId("a", 1);
        NodeId b = new NodeId("b", 2);
        Greeting greeting = new Greeting("c", a, b, nonce);
        byte[] proof = ours.proof(Credentials.CLIENT, greeting, other);
        assertArrayEquals(proof, ours.proof(Credentials.CLIENT, greeting, other));
        Set<ByteBuffer> proofs = new HashSet<>();
        proofs.add(ByteBuffer.wrap(proof));
        proofs.add(ByteBuffer.wrap(ours.proof(Credentials.SERVER, greeting, other)));
        proofs.add(ByteBuffer.wrap(ours.proof(Credentials.CLIENT, greeting, nonce)));
        proofs.add(ByteBuffer.wrap(credentials(OTHER).proof(Credentials.CLIENT, greeting, other)));
        for (Greeting changed : List.of(new Greeting("d", a, b, nonce), new Greeting("c", a, b, other),
                new Greeting("c", new NodeId("a", 3), b, nonce), new Greeting("c", new NodeId("x", 1), b, nonce),
                new Greeting("c", a, new NodeId("b", 3), nonce), new Greeting("c", a, new NodeId("x", 2), nonce),
                new Greeting("ca", new NodeId("b", 1), b, nonce))) {
            proofs.add(ByteBuffer.wrap(ours.proof(Credentials.CLIENT, changed, other)));
        }
        assertEquals(11, proofs.size(), "each part makes another proof");
        ByteBuffer in = ByteBuffer.wrap(proof);
        assertTrue(ours.proves(in, 0, Credentials.CLIENT, greeting, other));
        assertFalse(ours.proves(in, 0, Credentials.SERVER, greeting, other));
        assertFalse(ours.proves(in.put(31, (byte) ~in.get(31)), 0, Credentials.CLIENT, greeting, other));
    }

    @Test
    void shouldRefuseAClusterNameLongerThanAnyHas() throws IOException {
        Side server = side("server", SECRET);
        for (byte letter : new byte[]{'c', (byte) 0xFF}) {
            // 200 bytes that are no UTF-8 are 600 when they have been read.
            int bytes = letter == 'c' ? Frames.MAX_CLUSTER_BYTES + 1 : Frames.MAX_CLUSTER_BYTES;
            ByteBuffer hello = Raw.hello("raw", "c".repeat(bytes), server.id);
            for (int i = 0; i < bytes; i++) {
                hello.put(Frames.HEADER_BYTES + Frames.HELLO_FIXED_BYTES + i, letter);
            }
            try (Raw raw = Raw.dial(rig, Rig.endpoint(server))) {
                raw.send(hello);
                assertEquals(0, raw.awaitEnd());
            }
        }
        assertEquals(2, server.count(Counter.PROTOCOL_ERRORS));
    }

    @Test
    void shouldReadBackTheGreetingItWrote() throws IOException {
        Greeting greeting = new Greeting("ein Büschel", new NodeId("a", 1), new NodeId("b.c", 2),
                "0123456789abcdef0123456789abcdef".getBytes(StandardCharsets.US_ASCII));
        ByteBuffer frame = Raw.buffer(Frames.MAX_HELLO_BYTES);
        greeting.put(frame);
        Greeting back = Greeting.parse(frame, 0, frame.getInt(Frames.BODY_AT));
        assertEquals(greeting.cluster, back.cluster);
        assertEquals(greeting.sender, back.sender);
        assertEquals(greeting.wanted, back.wanted);
        assertArrayEquals(greeting.nonce, back.nonce);
    }
}
