package io.mooncake.core.transfer.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.testing.EngineRig.Reading;
import io.mooncake.testing.EngineRig.Side;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Several connections to a peer: how reads are spread over them, and what happens when they are lost. */
@Timeout(120)
final class TcpLanesTest {
    private static final int LONG = 40 << 20;

    private final Rig rig = new Rig();

    @AfterEach
    void close() {
        rig.close();
    }

    private Side client(int lanes) {
        return rig.side(new NodeId("client", 7), "c", TcpConfig.defaults().withLanes(lanes));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4, 16})
    void shouldSpreadALargeReadOverItsLanes(int lanes) {
        Side server = rig.side("server");
        Side client = client(lanes);
        Region source = server.register(rig.pattern(LONG), Access.GUARDED);
        MemorySegment to = rig.filled(LONG, Rig.FILL);
        Region into = client.register(to, Access.LOCAL_ONLY);
        for (int round = 0; round < 3; round++) {
            to.fill(Rig.FILL);
            Reading read = new Reading();
            read.read.from(server.peer(), source.id(), 0, LONG).guardedBy(0, 42).into(into, 0).by(Long.MAX_VALUE);
            rig.until(client.submit(read)::ended);
            assertEquals(ReadStatus.OK, read.status);
            assertEquals(LONG, read.read.received);
            assertEquals(1, read.ends);
            assertTrue(Rig.holdsPattern(to, 0, LONG, 0));
        }
        assertEquals(lanes, client.count(Counter.LANES_OPENED));
        assertEquals(0, server.guards.pinned());
        assertEquals(0, client.count(Counter.STALE_COMPLETIONS) + client.count(Counter.RANGES_RESENT));
    }

    @Test
    void shouldGoOnWithFewerLanesWhenThePeerMovesToThisHost() {
        Side server = rig.side("server");
        Side client = client(0);
        Region source = server.register(rig.pattern(LONG), Access.READABLE);
        Region into = client.register(rig.filled(LONG, Rig.FILL), Access.LOCAL_ONLY);
        // Connects to this host and does not look like it.
        Peer far = new Peer(server.id, Map.of("tcp", "0.0.0.0:" + Rig.endpoint(server).port()));
        // Where it is turns out with the first read; the second one wants more lanes.
        for (Peer at : List.of(far, far, server.peer(), far)) {
            Reading read = client.read(at, source.id(), 0, LONG, into);
            rig.until(read::ended);
            assertEquals(ReadStatus.OK, read.status);
        }
        assertEquals(4, client.count(Counter.LANES_OPENED));
    }

    @Test
    void shouldMakeOneLaneForSmallReadsAndOneToThisHostUnlessToldOtherwise() {
        Side server = rig.side("server");
        Side four = client(4);
        Side plain = rig.side("plain");
        Region source = server.register(rig.pattern(LONG), Access.READABLE);
        List<Reading> reads = new ArrayList<>();
        Region into = four.register(rig.filled(Ranges.SMALL_BYTES, Rig.FILL), Access.LOCAL_ONLY);
        for (int i = 0; i < 500; i++) {
            reads.add(four.read(server.peer(), source.id(), i, Ranges.SMALL_BYTES, into));
        }
        reads.add(plain.read(server.peer(), source.id(), 0, LONG,
                plain.register(rig.filled(LONG, Rig.FILL), Access.LOCAL_ONLY)));
        rig.until(() -> reads.stream().allMatch(Reading::ended));
        reads.forEach(read -> assertEquals(ReadStatus.OK, read.status));
        assertEquals(1, four.count(Counter.LANES_OPENED));
        assertEquals(1, plain.count(Counter.LANES_OPENED));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4})
    void shouldAskAgainOnAnotherLaneForWhatALostOneOwed(int lanes) throws IOException {
        Side server = rig.side("server");
        Side client = client(lanes);
        Region source = server.register(rig.pattern(LONG), Access.GUARDED);
        MemorySegment to = rig.filled(LONG, Rig.FILL);
        try (Relay relay = new Relay(rig, server)) {
            Reading read = new Reading();
            read.read.from(relay.peer(), source.id(), 0, LONG)
                    .guardedBy(0, 42)
                    .into(client.register(to, Access.LOCAL_ONLY), 0)
                    .by(Long.MAX_VALUE);
            client.submit(read);
            for (int cut = 1; cut <= 3; cut++) {
                long enough = cut * (8L << 20);
                rig.until(() -> read.read.received > enough && relay.open() == lanes);
                relay.cut(0);
            }
            rig.until(read::ended);
            assertEquals(ReadStatus.OK, read.status);
            assertEquals(LONG, read.read.received);
            assertEquals(1, read.ends);
            assertTrue(Rig.holdsPattern(to, 0, LONG, 0));
            assertEquals(3, client.count(Counter.LANES_LOST));
            assertTrue(client.count(Counter.RANGES_RESENT) >= 3);
            rig.settle();
            assertEquals(0, server.guards.pinned());
        }
    }

    @Test
    void shouldGiveUpAReadThatLosesLaneAfterLane() throws IOException {
        Side server = rig.side("server");
        Side client = client(1);
        Region source = server.register(rig.pattern(LONG), Access.READABLE);
        try (Relay relay = new Relay(rig, server)) {
            relay.cutAfter = 3 << 20;
            Reading read = client.read(relay.peer(), source.id(), 0, LONG,
                    client.register(rig.filled(LONG, Rig.FILL), Access.LOCAL_ONLY));
            rig.until(read::ended);
            assertEquals(ReadStatus.UNREACHABLE, read.status);
            assertTrue(String.valueOf(read.cause().getMessage()).contains("4 connections were lost"),
                    read.cause().getMessage());
            assertEquals(4, relay.accepted);
            relay.cutAfter = Long.MAX_VALUE;
            Reading next = client.read(relay.peer(), source.id(), 0, LONG,
                    client.register(rig.filled(LONG, Rig.FILL), Access.LOCAL_ONLY));
            rig.until(next::ended);
            assertEquals(ReadStatus.OK, next.status);
        }
    }

    @Test
    void shouldEndAtTheDeadlineAlsoWhileItsRangesAreOnSeveralLanes() throws IOException {
        Side server = rig.side("server");
        Side client = client(4);
        Region source = server.register(rig.pattern(LONG), Access.READABLE);
        MemorySegment to = rig.filled(LONG, Rig.FILL);
        try (Relay relay = new Relay(rig, server)) {
            Reading read = new Reading();
            read.read.from(relay.peer(), source.id(), 0, LONG)
                    .into(client.register(to, Access.LOCAL_ONLY), 0)
                    .by(rig.nowNs() + Rig.SECOND_NS);
            client.submit(read);
            rig.until(() -> read.read.received > 12 << 20 && relay.open() == 4);
            relay.frozen = true;
            rig.advance(Rig.SECOND_NS);
            rig.cycle();
            assertEquals(ReadStatus.TIMED_OUT, read.status);
            to.fill((byte) 0x77);
            relay.frozen = false;
            Reading next = client.read(relay.peer(), source.id(), 5, 100_000,
                    client.register(rig.filled(100_000, Rig.FILL), Access.LOCAL_ONLY));
            rig.until(next::ended);
            rig.settle();
            assertEquals(ReadStatus.OK, next.status);
            assertTrue(Rig.isFilled(to, (byte) 0x77), "what came late went nowhere");
        }
    }

    @Test
    void shouldLeaveAPeerAloneThatRefusesAndTryItAgainLater() throws IOException {
        Side client = client(1);
        Region into = client.register(rig.filled(64, Rig.FILL), Access.LOCAL_ONLY);
        Peer gone;
        try (Raw.Listener listener = new Raw.Listener(rig)) {
            gone = listener.peer();
        }
        Reading first = client.read(gone, 1, 0, 8, into);
        rig.until(first::ended);
        assertEquals(1, client.count(Counter.HANDSHAKES_REFUSED));
        for (int i = 0; i < 1000; i++) {
            Reading next = client.read(gone, 1, 0, 8, into);
            rig.cycle();
            assertEquals(ReadStatus.UNREACHABLE, next.status, "at once");
            String message = String.valueOf(next.cause().getMessage());
            assertTrue(message.contains("refused; suspected, left alone for"), message);
        }
        assertEquals(1, client.count(Counter.HANDSHAKES_REFUSED), "no connection was tried");
        rig.advance(CoolDown.FIRST_NS);
        Reading probe = client.read(gone, 1, 0, 8, into);
        rig.until(probe::ended);
        assertEquals(2, client.count(Counter.HANDSHAKES_REFUSED));
    }

    @Test
    void shouldFailFastForAnotherLifeAndFindTheNewOne() {
        Side server = rig.side("server");
        Side client = client(1);
        Region source = server.register(rig.pattern(64), Access.READABLE);
        Region into = client.register(rig.filled(64, Rig.FILL), Access.LOCAL_ONLY);
        Peer earlier = new Peer(new NodeId("server", 17), server.peer().addresses());
        for (int i = 0; i < 10; i++) {
            Reading stale = client.read(earlier, 1, 0, 8, into);
            rig.until(stale::ended);
            assertEquals(Kind.STALE_INCARNATION, stale.cause().kind());
        }
        assertEquals(1, server.count(Counter.HANDSHAKES_REFUSED));
        Reading read = client.read(server.peer(), source.id(), 0, 64, into);
        rig.until(read::ended);
        assertEquals(ReadStatus.OK, read.status);
    }

    @Test
    void shouldNotLetOneSlowPeerFillTheQueue() throws IOException {
        Side server = rig.side("server");
        Side client = rig.side(new NodeId("client", 7), "c",
                TcpConfig.defaults().withLimits(100, 1 << 20, 8).withPeerQueue(60));
        Region source = server.register(rig.pattern(64), Access.READABLE);
        Region into = client.register(rig.filled(64, Rig.FILL), Access.LOCAL_ONLY);
        try (Raw.Listener slow = new Raw.Listener(rig)) {
            List<Reading> reads = new ArrayList<>();
            for (int i = 0; i < 70; i++) {
                reads.add(client.read(slow.peer(), 1, 0, 8, into));
            }
            rig.cycle();
            for (int i = 0; i < 70; i++) {
                assertEquals(i >= 60, reads.get(i).ended());
            }
            assertEquals(ReadStatus.UNREACHABLE, reads.get(69).status);
            assertEquals(Kind.BACK_PRESSURE, reads.get(69).cause().kind());
            Reading other = client.read(server.peer(), source.id(), 0, 64, into);
            rig.until(other::ended);
            assertEquals(ReadStatus.OK, other.status);
            assertFalse(reads.getFirst().ended());
        }
    }
}
