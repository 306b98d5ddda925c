package io.mooncake.core.transfer.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.testing.EngineRig.Reading;
import io.mooncake.testing.EngineRig.Side;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a server does with frames that no client of ours would send. */
@Timeout(120)
final class TcpWireTest {
    private final Rig rig = new Rig();
    private final Side server = rig.side("server");

    @AfterEach
    void close() {
        rig.close();
    }

    private static void assertEnd(Raw raw, int status, String part) {
        Raw.Frame end = raw.next();
        assertEquals(Frames.END, end.type);
        assertEquals(status, end.status(), end.text());
        assertEquals(77, end.cookie);
        assertTrue(end.text().contains(part), end.text());
    }

    @Test
    void c01_badRangesAreRefusedByTheServerToo() throws IOException {
        Region source = server.register(rig.pattern(4096), Access.READABLE);
        try (Raw raw = Raw.dialed(rig, server)) {
            long[][] ranges = {{Long.MAX_VALUE - 7, 16}, {4090, 7}, {-1, 1}, {0, -1}};
            for (long[] range : ranges) {
                raw.send(Raw.read(server.id, source.id(), range[0], range[1]));
                assertEnd(raw, Frames.OUT_OF_BOUNDS,
                        "region r1 of node " + server.id + ": offset " + range[0] + " + " + range[1]);
            }
            assertEquals(0, server.count(Counter.BYTES_SERVED));
            raw.send(Raw.read(server.id, source.id(), 4090, 6));
            Raw.Frame chunk = raw.next();
            assertEquals(Frames.CHUNK, chunk.type);
            assertEquals(0, chunk.body.getLong(0));
            for (int i = 0; i < 6; i++) {
                assertEquals(Rig.patternAt(4090 + i), chunk.body.get(8 + i));
            }
            assertEquals(0, chunk.body.getLong(14));
        }
        assertEquals(4, server.count(Counter.READS_REFUSED));
    }

    @Test
    void c82_onlyWhatWasGivenCanBeRead() throws IOException {
        MemorySegment unregistered = rig.pattern(64);
        Region source = server.register(rig.pattern(4096), Access.READABLE);
        Region local = server.register(rig.pattern(4096), Access.LOCAL_ONLY);
        Region guarded = server.register(rig.pattern(4096), Access.GUARDED);
        Region gone = server.register(rig.pattern(4096), Access.READABLE);
        try (Raw raw = Raw.dialed(rig, server)) {
            raw.send(Raw.read(server.id, gone.id(), 0, 64));
            assertEquals(Frames.CHUNK, raw.next().type);
            gone.close();
            raw.send(Raw.read(server.id, gone.id(), 0, 64));
            assertEnd(raw, Frames.NO_REGION, "region r" + gone.id());
            raw.send(Raw.read(server.id, (int) unregistered.address(), 0, 64));
            assertEnd(raw, Frames.NO_REGION, "unknown");
            raw.send(Raw.read(server.id, source.id(), unregistered.address(), 64));
            assertEnd(raw, Frames.OUT_OF_BOUNDS, "4096");
            raw.send(Raw.read(server.id, source.id(), 4096 - 32, 64));
            assertEnd(raw, Frames.OUT_OF_BOUNDS, "4064 + 64 > length 4096");
            raw.send(Raw.read(server.id, local.id(), 0, 64));
            assertEnd(raw, Frames.NO_REGION, "region r" + local.id());
            raw.send(Raw.read(server.id, guarded.id(), 0, 64));
            assertEnd(raw, Frames.BAD_GUARD, "is guarded");
            raw.send(Raw.read(server.id, guarded.id(), 1, 0, 64, 3, 42));
            assertEnd(raw, Frames.BAD_GUARD, "no guard at 3");
            raw.send(Raw.read(server.id, guarded.id(), 1, 0, 64, 0, 41));
            assertEnd(raw, Frames.STALE, "");
            raw.send(Raw.read(server.id, source.id(), 2, 0, 64, -1, 0));
            assertEnd(raw, Frames.STALE_KEY, "key epoch 2");
            raw.send(Raw.read(new NodeId("server", 4711), source.id(), 0, 64));
            assertEnd(raw, Frames.STALE_INCARNATION, Long.toHexString(4711));
            assertEquals(64, server.count(Counter.BYTES_SERVED));
        }
    }

    @Test
    void c82_aWriteOpcodeDoesNotExist() throws IOException {
        MemorySegment memory = rig.pattern(4096);
        server.register(memory, Access.READABLE);
        try (Raw raw = Raw.dialed(rig, server)) {
            raw.send(Raw.frame((byte) 33, 1, server.id.incarnation(), new byte[64]));
            assertEquals(0, raw.awaitEnd());
        }
        assertEquals(1, server.count(Counter.PROTOCOL_ERRORS));
        assertEquals(1, server.count(Counter.LANES_LOST));
        assertTrue(Rig.holdsPattern(memory, 0, 4096, 0));
    }

    @Test
    void shouldTellWhatRegionsPeersMayKnow() throws IOException {
        Region source = server.register(rig.pattern(4096), Access.READABLE);
        Region local = server.register(rig.pattern(4096), Access.LOCAL_ONLY);
        try (Raw raw = Raw.dialed(rig, server)) {
            for (int region : new int[]{source.id(), local.id(), -5}) {
                ByteBuffer query = Raw.buffer(Frames.HEADER_BYTES + 4);
                Frames.header(query, Frames.QUERY, 4, 3, server.id.incarnation());
                raw.send(query.putInt(region).flip());
                Raw.Frame answer = raw.next();
                assertEquals(Frames.REGION, answer.type);
                assertEquals(3, answer.cookie);
                assertEquals(region, answer.body.getInt(0));
                assertEquals(region == source.id() ? 1 : 0, answer.body.getInt(4));
                assertEquals(region == source.id() ? 4096 : 0, answer.body.getLong(8));
            }
        }
    }

    @Test
    void c80_bytesThatAreNotTheProtocol() throws IOException {
        Side client = rig.side("client");
        Region source = server.register(rig.pattern(4096), Access.READABLE);
        Region into = client.register(rig.filled(4096, Rig.FILL), Access.LOCAL_ONLY);
        var endpoint = Rig.endpoint(server);
        byte[] clientHello = new byte[200];
        clientHello[0] = 0x16;
        clientHello[1] = 3;
        for (byte[] bytes : List.of("GET / HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.US_ASCII), clientHello)) {
            try (Raw raw = Raw.dial(rig, endpoint)) {
                raw.send(ByteBuffer.wrap(bytes));
                assertEquals(0, raw.awaitEnd(), "closed at once");
            }
        }
        assertEquals(2, server.count(Counter.PROTOCOL_ERRORS));
        Raw.dial(rig, endpoint).close();
        try (Raw silent = Raw.dial(rig, endpoint); Raw partial = Raw.dial(rig, endpoint)) {
            partial.send(Raw.hello("raw", "c", server.id).limit(7));
            rig.settle();
            Reading good = client.read(server.peer(), source.id(), 0, 4096, into);
            rig.until(good::ended);
            assertEquals(ReadStatus.OK, good.status);
            assertFalse(silent.hasEnded() || partial.hasEnded());
            rig.advance(rig.config(server).times().handshakeNs());
            assertEquals(0, silent.awaitEnd());
            assertEquals(0, partial.awaitEnd());
        }
        assertEquals(5, server.count(Counter.HANDSHAKES_REFUSED));
        assertEquals(0, server.count(Counter.LANES_LOST));
    }

    @Test
    void c80_silentConnectionsPushOutTheirOwnOldest() throws IOException {
        Side narrow = rig.side(new NodeId("narrow", 3), "c", TcpConfig.defaults().withLimits(16, 4096, 3));
        List<Raw> strangers = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            strangers.add(Raw.dial(rig, Rig.endpoint(narrow)));
            rig.settle();
            rig.advance(1);
        }
        assertEquals(0, strangers.get(0).awaitEnd());
        assertEquals(0, strangers.get(1).awaitEnd());
        for (Raw stranger : strangers.subList(2, 5)) {
            assertFalse(stranger.hasEnded());
        }
        try (Raw good = Raw.dialed(rig, narrow)) {
            assertFalse(good.hasEnded());
        }
        for (Raw stranger : strangers) {
            stranger.close();
        }
    }

    @Test
    void shouldRefuseAnotherVersionByName() throws IOException {
        try (Raw raw = Raw.dial(rig, Rig.endpoint(server))) {
            ByteBuffer hello = Raw.hello("raw", "c", server.id);
            raw.send(hello.put(Frames.VERSION_AT, (byte) 9));
            Raw.Frame refused = raw.next();
            assertEquals(Frames.REFUSED, refused.type);
            assertEquals(Frames.WHY_VERSION, refused.status());
            assertEquals(server.id.incarnation(), refused.incarnation);
            assertEquals(
                    "node " + server.id + " speaks version 2 of the protocol, not 9: run the same release everywhere",
                    refused.text());
            assertEquals(0, raw.awaitEnd());
        }
    }

    @Test
    void shouldCloseOnIllegalHandshakes() throws IOException {
        ByteBuffer badName = Raw.hello("no/name", "c", server.id);
        ByteBuffer badLengths = Raw.hello("raw", "c", server.id);
        badLengths.put(Frames.HEADER_BYTES + 8 + Frames.NONCE_BYTES, (byte) 200);
        ByteBuffer noHello = Raw.read(server.id, 1, 0, 1);
        int errors = 0;
        for (ByteBuffer bytes : List.of(badName, badLengths, noHello)) {
            try (Raw raw = Raw.dial(rig, Rig.endpoint(server))) {
                raw.send(bytes);
                assertEquals(0, raw.awaitEnd());
                assertEquals(++errors, server.count(Counter.PROTOCOL_ERRORS));
            }
        }
        try (Raw raw = Raw.dialed(rig, server)) {
            raw.send(Raw.hello("raw", "c", server.id));
            assertEquals(0, raw.awaitEnd(), "a second handshake");
        }
    }

    @Test
    void shouldTakeFramesInAnyPortions() throws IOException {
        Region source = server.register(rig.pattern(4096), Access.READABLE);
        ByteBuffer all = Raw.buffer(1000).put(Raw.hello("raw", "c", server.id));
        all.put(Raw.read(server.id, source.id(), 5, 10)).put(Raw.read(server.id, source.id(), 6, 11)).flip();
        try (Raw raw = Raw.dial(rig, Rig.endpoint(server))) {
            while (all.hasRemaining()) {
                raw.send(all.slice(all.position(), 1));
                all.get();
                rig.cycle();
            }
            assertEquals(Frames.WELCOME, raw.next().type);
            assertEquals(24 + 10, raw.next().body.capacity());
            assertEquals(24 + 11, raw.next().body.capacity());
            all.rewind();
        }
        try (Raw raw = Raw.dial(rig, Rig.endpoint(server))) {
            raw.send(all.rewind());
            assertEquals(Frames.WELCOME, raw.next().type);
            assertEquals(24 + 10, raw.next().body.capacity());
            assertEquals(24 + 11, raw.next().body.capacity());
        }
    }

    @Test
    void shouldCloseOnMoreRequestsThanALaneMayHave() throws IOException {
        Region source = server.register(rig.pattern(8 << 20), Access.READABLE);
        try (Raw raw = Raw.dialed(rig, server)) {
            ByteBuffer many = Raw.buffer(400 * 72);
            for (int i = 0; i < 400; i++) {
                many.put(Raw.read(server.id, source.id(), 0, 8 << 20));
            }
            raw.send(many.flip());
            rig.until(() -> server.count(Counter.PROTOCOL_ERRORS) == 1);
        }
        assertEquals(0, source.uses());
    }

    @Test
    void shouldCloseALaneWhosePeerDoesNotReadAndEndItsPin() throws IOException {
        Region source = server.register(rig.pattern(64 << 20), Access.GUARDED);
        try (Raw raw = Raw.dialed(rig, server)) {
            raw.send(Raw.read(server.id, source.id(), 1, 0, 64 << 20, 0, 42));
            rig.until(() -> server.guards.pinned() == 1);
            rig.settle();
            assertEquals(1, server.guards.pinned(), "the socket is full");
            assertEquals(1, source.uses());
            rig.advance(rig.config(server).times().stallNs() - 1);
            rig.settle();
            assertEquals(1, server.guards.pinned());
            rig.advance(rig.config(server).times().stallNs());
            rig.until(() -> server.guards.pinned() == 0);
            assertEquals(0, source.uses());
            assertEquals(1, server.count(Counter.LANES_LOST));
        }
    }

    @Test
    void shouldEndAReadThatItsClientCanceled() throws IOException {
        Region source = server.register(rig.pattern(64 << 20), Access.READABLE);
        try (Raw raw = Raw.dialed(rig, server)) {
            raw.send(Raw.read(server.id, source.id(), 0, 64 << 20));
            raw.send(Raw.frame(Frames.CANCEL, 77, server.id.incarnation(), new byte[0]));
            raw.send(Raw.frame(Frames.CANCEL, 78, server.id.incarnation(), new byte[0]));
            Raw.Frame frame = raw.next();
            int chunks = 0;
            for (; frame.type == Frames.CHUNK; frame = raw.next()) {
                chunks++;
            }
            assertEquals(Frames.END, frame.type);
            assertEquals(Frames.CANCELED, frame.status());
            assertTrue(chunks < 64, "chunks: " + chunks);
        }
    }
}
