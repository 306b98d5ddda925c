package io.mooncake.core.transfer.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Topic;
import io.mooncake.testing.EngineRig.Reading;
import io.mooncake.testing.EngineRig.Side;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Peers that are not there, go away, answer wrongly or late; reads that are given up. */
@Timeout(120)
final class TcpFailureTest {
    private static final int LONG = 1 << 20;

    private final Rig rig = new Rig();
    private final Side client = rig.side("client");
    private final MemorySegment to = rig.filled(LONG, Rig.FILL);
    private final Region into = client.register(to, Access.LOCAL_ONLY);

    @AfterEach
    void close() {
        rig.close();
    }

    private void assertUnreachable(Reading result, Kind kind, String part) {
        rig.until(result::ended);
        assertEquals(ReadStatus.UNREACHABLE, result.status);
        assertEquals(kind, result.cause().kind());
        assertTrue(String.valueOf(result.cause().getMessage()).contains(part), result.cause().getMessage());
        assertEquals(1, result.ends);
    }

    @Test
    void shouldEndUnreachableWhenNobodyListens() throws IOException {
        Peer gone;
        try (Raw.Listener listener = new Raw.Listener(rig)) {
            gone = listener.peer();
        }
        Reading one = client.read(gone, 1, 0, 8, into);
        Reading two = client.read(gone, 1, 0, 8, into);
        assertTrue(client.engine.send(gone, Topic.APPLICATION, Rig.utf8("dropped")));
        assertUnreachable(one, Kind.PEER_UNREACHABLE, "node raw#5 at 127.0.0.1:");
        assertUnreachable(two, Kind.PEER_UNREACHABLE, "refused");
        assertUnreachable(client.read(new Peer(new NodeId("x", 1), Map.of()), 1, 0, 8, into), Kind.PEER_UNREACHABLE,
                "no tcp address");
    }

    @Test
    void shouldEndUnreachableWhenTheHostHasNoAddress() {
        Peer nowhere = new Peer(new NodeId("x", 1), Map.of("tcp", "no.such.host.invalid:1"));
        assertUnreachable(client.read(nowhere, 1, 0, 8, into), Kind.PEER_UNREACHABLE, "no.such.host.invalid");
    }

    @Test
    void shouldEndUnreachableWhenAnotherLifeAnswers() {
        Side server = rig.side("server");
        Peer earlier = new Peer(new NodeId("server", 17), server.peer().addresses());
        assertUnreachable(client.read(earlier, 1, 0, 8, into), Kind.STALE_INCARNATION,
                "node " + server.id + " answers here");
        assertEquals(1, server.count(Counter.HANDSHAKES_REFUSED));
        assertEquals(1, client.count(Counter.HANDSHAKES_REFUSED));
    }

    @Test
    void shouldEndUnreachableWhenThePeerBelongsToAnotherCluster() {
        Side other = rig.side(new NodeId("other", 3), "elsewhere", TcpConfig.defaults());
        assertUnreachable(client.read(other.peer(), 1, 0, 8, into), Kind.UNAUTHORIZED, "cluster 'elsewhere'");
    }

    @Test
    void shouldEndUnreachableWhenThePeerSpeaksAnotherVersion() throws IOException {
        try (Raw.Listener listener = new Raw.Listener(rig)) {
            Reading result = client.read(listener.peer(), 1, 0, 8, into);
            try (Raw raw = listener.accept()) {
                raw.next();
                raw.send(Raw.frame(Frames.WELCOME, 0, 5, new byte[0]).put(Frames.VERSION_AT, (byte) 1));
                assertUnreachable(result, Kind.PROTOCOL_ERROR, "speaks version 1");
            }
        }
    }

    @Test
    void shouldEndUnreachableWhenAnAnswerComesFromAnotherLife() throws IOException {
        try (Raw.Listener listener = new Raw.Listener(rig)) {
            Reading result = client.read(listener.peer(), 1, 0, 8, into);
            Raw.Frame[] read = new Raw.Frame[1];
            try (Raw raw = listener.serving(8, read)) {
                raw.send(Raw.frame(Frames.END, read[0].cookie, 6, new byte[4]));
                assertUnreachable(result, Kind.STALE_INCARNATION, "incarnation 6");
            }
        }
    }

    @Test
    void shouldEndEveryReadUnreachableWhenTheServerDiesInMidRead() {
        Side server = rig.side("server");
        Region source = server.register(rig.pattern(64 << 20), Access.READABLE);
        Region large = client.register(rig.filled(64 << 20, Rig.FILL), Access.LOCAL_ONLY);
        List<Reading> results = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            results.add(client.read(server.peer(), source.id(), 0, 64 << 20, large));
        }
        rig.until(() -> results.getFirst().read.received > 0);
        server.engine.poller().onClose();
        for (Reading result : results) {
            assertUnreachable(result, Kind.PEER_UNREACHABLE, "node " + server.id);
        }
        assertEquals(0, source.uses());
        assertEquals(1, client.count(Counter.LANES_LOST));
        assertUnreachable(client.read(server.peer(), source.id(), 0, 8, into), Kind.PEER_UNREACHABLE, "refused");
    }

    /** Runs on after a duty cycle that failed, as a node's agents do; says what was thrown. */
    private List<RuntimeException> settle() {
        List<RuntimeException> thrown = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            try {
                rig.cycle();
            } catch (RuntimeException e) {
                thrown.add(e);
            }
        }
        return thrown;
    }

    @Test
    void shouldEndAReadThatMakesItThrow() {
        Side server = rig.side("server");
        Region source = server.register(rig.pattern(64), Access.READABLE);
        Reading ofNobody = new Reading();
        ofNobody.read.by(Long.MAX_VALUE);
        client.submit(ofNobody);
        Reading intoNothing = new Reading();
        intoNothing.read.from(server.peer(), source.id(), 0, 8).by(Long.MAX_VALUE);
        client.submit(intoNothing);
        Reading sound = client.read(server.peer(), source.id(), 0, 8, into);

        assertEquals(List.of(), settle());
        for (Reading reading : List.of(ofNobody, intoNothing)) {
            assertEquals(ReadStatus.REFUSED, reading.status);
            assertEquals(Kind.INVALID_ARGUMENT, reading.cause().kind());
            assertEquals(1, reading.ends);
        }
        assertEquals(ReadStatus.OK, sound.status);
    }

    @Test
    void shouldEndTheOtherReadsWhenOnesListenerThrows() throws IOException {
        try (Raw.Listener listener = new Raw.Listener(rig)) {
            List<Reading> readings = new ArrayList<>();
            for (int i = 0; i < 5; i++) {
                readings.add(client.read(listener.peer(), 1, 0, 8, into));
            }
            readings.get(1).onEnd = () -> {
                throw new IllegalStateException("as a listener must not");
            };
            try (Raw raw = listener.serving(8, new Raw.Frame[1])) {
                rig.settle();
                raw.send(ByteBuffer.allocate(Frames.HEADER_BYTES));
                assertEquals(List.of(), settle());
            }
            for (Reading reading : readings) {
                assertUnreachable(reading, Kind.PROTOCOL_ERROR, "node raw#5");
            }
        }
    }

    @Test
    void shouldConnectAgainAfterALoss() throws IOException {
        try (Raw.Listener listener = new Raw.Listener(rig)) {
            Reading first = client.read(listener.peer(), 1, 0, 8, into);
            listener.serving(8, new Raw.Frame[1]).close();
            Raw.Frame[] read = new Raw.Frame[1];
            try (Raw raw = listener.serving(8, read)) {
                raw.send(listener.chunk(read[0].cookie, 0, new byte[8], 0));
                rig.until(first::ended);
                assertEquals(ReadStatus.OK, first.status);
            }
            // What it proved is forgotten with the second loss in a row: then the peer is left alone.
            rig.settle();
            Reading second = client.read(listener.peer(), 1, 0, 8, into);
            listener.serving(8, new Raw.Frame[1]).close();
            assertUnreachable(second, Kind.PEER_UNREACHABLE, "closed the connection");
        }
    }

    @Test
    void shouldEndUnreachableWithoutAnHandshakeInTime() throws IOException {
        try (Raw.Listener listener = new Raw.Listener(rig)) {
            Reading result = client.read(listener.peer(), 1, 0, 8, into);
            try (Raw raw = listener.accept()) {
                raw.next();
                rig.advance(rig.config(client).times().handshakeNs());
                assertUnreachable(result, Kind.PEER_UNREACHABLE, "no handshake within 5000 ms");
            }
        }
    }

    @Test
    void shouldGiveUpAPeerThatAnswersNothing() throws IOException {
        try (Raw.Listener listener = new Raw.Listener(rig)) {
            Reading result = client.read(listener.peer(), 1, 0, 8, into);
            try (Raw raw = listener.serving(8, new Raw.Frame[1])) {
                rig.advance(rig.config(client).times().stallNs());
                assertUnreachable(result, Kind.PEER_UNREACHABLE, "answered nothing for 10000 ms");
                assertEquals(0, raw.awaitEnd());
            }
        }
    }

    @Test
    void shouldEndReadsAtTheirDeadlineWhereverTheyWait() throws IOException {
        try (Raw.Listener listener = new Raw.Listener(rig)) {
            Reading late = new Reading();
            late.read.from(listener.peer(), 1, 0, 8).into(into, 0).by(rig.nowNs());
            rig.until(client.submit(late)::ended);
            assertEquals(ReadStatus.TIMED_OUT, late.status);

            Reading connecting = new Reading();
            connecting.read.from(listener.peer(), 1, 0, 8).into(into, 0).by(rig.nowNs() + 500);
            client.submit(connecting);
            rig.settle();
            rig.advance(500);
            rig.cycle();
            assertEquals(ReadStatus.TIMED_OUT, connecting.status);

            try (Raw raw = listener.accept()) {
                raw.next();
                raw.send(Raw.frame(Frames.WELCOME, 0, 5, new byte[0]));
                Reading asking = new Reading();
                asking.read.from(listener.peer(), 1, 0, 8).into(into, 0).by(rig.nowNs() + 500);
                client.submit(asking);
                assertEquals(Frames.QUERY, raw.next().type);
                rig.advance(500);
                rig.cycle();
                assertEquals(ReadStatus.TIMED_OUT, asking.status);
                assertEquals(1, asking.ends);
            }
        }
    }

    @Test
    void shouldNotTouchTheDestinationOfATimedOutReadWhenItsPayloadComesLate() throws IOException {
        lateData(true);
    }

    @Test
    void shouldNotTouchTheDestinationOfAReadThatWasGivenUp() throws IOException {
        lateData(false);
    }

    private void lateData(boolean deadline) throws IOException {
        try (Raw.Listener listener = new Raw.Listener(rig)) {
            Reading result = new Reading();
            result.read.from(listener.peer(), 1, 0, LONG).into(into, 0).by(rig.nowNs() + Rig.SECOND_NS);
            client.submit(result);
            Raw.Frame[] read = new Raw.Frame[1];
            try (Raw raw = listener.serving(LONG, read)) {
                byte[] payload = new byte[LONG / 2];
                Arrays.fill(payload, (byte) 0x11);
                ByteBuffer chunk = listener.chunk(read[0].cookie, 0, payload, 0);
                int half = chunk.limit() / 2;
                raw.send(chunk.slice(0, half));
                rig.until(() -> result.read.received >= half - 100);
                if (deadline) {
                    rig.advance(Rig.SECOND_NS);
                } else {
                    result.givenUp = true;
                    client.engine.abort(result.read);
                }
                rig.cycle();
                assertEquals(deadline ? ReadStatus.TIMED_OUT : ReadStatus.CANCELED, result.status);
                to.fill((byte) 0x77);
                raw.send(chunk.slice(half, chunk.limit() - half));
                raw.send(listener.chunk(read[0].cookie, LONG / 2, payload, 0));
                assertEquals(Frames.CANCEL, raw.next().type);

                Reading next = client.read(listener.peer(), 1, 0, 8,
                        client.register(rig.filled(8, Rig.FILL), Access.LOCAL_ONLY));
                Raw.Frame second = raw.next();
                assertNotEquals(read[0].cookie, second.cookie);
                raw.send(listener.chunk(second.cookie, 0, new byte[8], 0));
                rig.until(next::ended);
                assertEquals(ReadStatus.OK, next.status);
                assertEquals(1, result.ends);
                assertTrue(Rig.isFilled(to, (byte) 0x77));
                assertTrue(client.count(Counter.STALE_COMPLETIONS) > 0);
            }
        }
    }

    @Test
    void shouldDropAnswersWithAStaleCookie() throws IOException {
        try (Raw.Listener listener = new Raw.Listener(rig)) {
            Reading result = client.read(listener.peer(), 1, 0, 100_000, into);
            Raw.Frame[] read = new Raw.Frame[1];
            try (Raw raw = listener.serving(100_000, read)) {
                long stale = Cookie.of(Cookie.generation(read[0].cookie) - 1, Cookie.slot(read[0].cookie));
                raw.send(listener.chunk(stale, 0, new byte[50_000], 0));
                raw.send(listener.chunk(Cookie.of(9, 200), 7, new byte[3], 0));
                raw.send(Raw.frame(Frames.END, stale, listener.id.incarnation(), new byte[4]));
                rig.until(() -> client.count(Counter.STALE_COMPLETIONS) == 3);
                rig.settle();
                assertFalse(result.ended());
                assertTrue(Rig.isFilled(to, Rig.FILL));
                raw.send(listener.chunk(read[0].cookie, 0, new byte[100_000], 0));
                rig.until(result::ended);
                assertEquals(ReadStatus.OK, result.status);
            }
        }
    }

    @Test
    void shouldCloseALaneWhoseServerBreaksTheProtocol() throws IOException {
        byte[] ok = new byte[8];
        for (int fault = 0; fault < 6; fault++) {
            try (Raw.Listener listener = new Raw.Listener(rig)) {
                Reading result = client.read(listener.peer(), 1, 0, 16, into);
                Raw.Frame[] read = new Raw.Frame[1];
                try (Raw raw = listener.serving(16, read)) {
                    long cookie = read[0].cookie;
                    raw.send(switch (fault) {
                        case 0 -> listener.chunk(cookie, 8, ok, 0);
                        case 1 -> listener.chunk(cookie, 0, new byte[17], 0);
                        case 2 -> Raw.frame(Frames.WELCOME, 0, 5, new byte[0]);
                        case 3 -> Raw.frame(Frames.REGION, cookie, 5, new byte[24]);
                        case 4 -> Raw.frame((byte) 33, cookie, 5, new byte[0]);
                        default -> Rig.utf8("HTTP/1.1 400 Bad Request");
                    });
                    assertUnreachable(result, Kind.PROTOCOL_ERROR, "node raw#5");
                    assertEquals(fault + 1, client.count(Counter.PROTOCOL_ERRORS));
                }
            }
        }
        assertTrue(Rig.isFilled(to.asSlice(8), Rig.FILL));
    }

    @Test
    void shouldRefuseAReadThatTheServerEndsWithoutBytes() throws IOException {
        try (Raw.Listener listener = new Raw.Listener(rig)) {
            Reading result = client.read(listener.peer(), 1, 0, 16, into);
            Raw.Frame[] read = new Raw.Frame[1];
            try (Raw raw = listener.serving(16, read)) {
                raw.send(Raw.frame(Frames.END, read[0].cookie, 5, new byte[4]));
                rig.until(result::ended);
                assertEquals(ReadStatus.REFUSED, result.status, "DONE with bytes outstanding is no success");
            }
        }
    }

    @Test
    void shouldEndEverythingOnCloseAndAcceptNothingAfter() throws IOException {
        try (Raw.Listener listener = new Raw.Listener(rig)) {
            Reading posted = client.read(listener.peer(), 1, 0, 16, into);
            try (Raw raw = listener.serving(16, new Raw.Frame[1])) {
                Reading queued = client.read(listener.peer(), 1, 0, 16, into);
                client.engine.poller().onClose();
                client.engine.poller().onClose();
                for (Reading result : List.of(posted, queued)) {
                    assertEquals(ReadStatus.CANCELED, result.status);
                    assertEquals(Kind.CLOSED, result.cause().kind());
                    assertEquals(1, result.ends);
                }
                assertFalse(
                        client.engine.submit(new GuardedRead(posted, 0).from(listener.peer(), 1, 0, 1).into(into, 0)));
                assertFalse(client.engine.send(listener.peer(), Topic.APPLICATION, Rig.utf8("x")));
                assertEquals(0, client.engine.poller().doWork());
                assertEquals(0, raw.awaitEnd());
            }
        }
    }

    @Test
    void shouldWakeAParkedPoller() throws InterruptedException {
        Side server = rig.side("server");
        Region source = server.register(rig.pattern(64), Access.READABLE);
        client.engine.poller().wakeup();
        client.engine.poller().park(Long.MAX_VALUE);
        Thread poller = Thread.ofPlatform().start(() -> client.engine.poller().park(Long.MAX_VALUE));
        Reading result = client.read(server.peer(), source.id(), 0, 8, into);
        poller.join();
        client.engine.poller().park(1);
        rig.until(result::ended);
        assertEquals(ReadStatus.OK, result.status);
    }
}
