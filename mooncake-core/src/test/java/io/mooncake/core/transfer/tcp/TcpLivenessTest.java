package io.mooncake.core.transfer.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
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
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.RejectedExecutionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Peers that fall silent, names that are slow to find, reads that are given up, connections that nobody uses. */
@Timeout(120)
final class TcpLivenessTest {
    private static final int LONG = 32 << 20;

    private final Rig rig = new Rig();
    private final Side server = rig.side("server");
    private final Side client = rig.side("client");
    private final Region source = server.register(rig.pattern(LONG), Access.READABLE);
    private final MemorySegment to = rig.filled(LONG, Rig.FILL);
    private final Region into = client.register(to, Access.LOCAL_ONLY);

    @AfterEach
    void close() {
        rig.close();
    }

    private Reading ok(Peer from, long length) {
        Reading read = client.read(from, source.id(), 0, length, into);
        rig.until(read::ended);
        assertEquals(ReadStatus.OK, read.status, () -> String.valueOf(read.read.cause()));
        return read;
    }

    @Test
    void c20_anAbortedReadEndsInTheNextDutyCycleAndLandsNothingMore() throws IOException {
        try (Relay relay = new Relay(rig, server)) {
            Random random = new Random(17);
            for (int round = 0; round < 50; round++) {
                Reading read = client.read(relay.peer(), source.id(), 0, LONG, into);
                long enough = random.nextLong(LONG / 2) + 1;
                rig.until(() -> read.read.received >= enough);
                read.givenUp = true;
                client.engine.abort(read.read);
                client.engine.poller().doWork();
                assertEquals(ReadStatus.CANCELED, read.status, "round " + round);
                to.fill((byte) 0x77);
                Reading next = client.read(relay.peer(), source.id(), 9, 1000,
                        client.register(rig.filled(1000, Rig.FILL), Access.LOCAL_ONLY));
                rig.until(next::ended);
                assertEquals(ReadStatus.OK, next.status);
                assertTrue(Rig.isFilled(to, (byte) 0x77), "round " + round);
                assertEquals(1, read.ends);
            }
            rig.settle();
            assertTrue(Rig.isFilled(to, (byte) 0x77));
            assertEquals(1, client.count(Counter.LANES_OPENED), "the lane goes on");
        }
    }

    @Test
    void shouldTakeAnAbortOfAReadThatEndedAsAHint() {
        Reading read = ok(server.peer(), 1000);
        client.engine.abort(read.read);
        rig.settle();
        assertEquals(1, read.ends);
    }

    @Test
    void shouldMakeTheLaneAnewWhenCanceledReadsDoNotEnd() throws IOException {
        try (Relay relay = new Relay(rig, server)) {
            Reading read = client.read(relay.peer(), source.id(), 0, LONG, into);
            Reading beside = client.read(relay.peer(), source.id(), 0, LONG,
                    client.register(rig.filled(LONG, Rig.FILL), Access.LOCAL_ONLY));
            rig.until(() -> read.read.received > 1 << 20);
            relay.frozen = true;
            rig.settle();
            read.givenUp = true;
            client.engine.abort(read.read);
            rig.cycle();
            assertEquals(ReadStatus.CANCELED, read.status);
            rig.advance(rig.config(client).times().cancelNs() - 1);
            rig.settle();
            assertEquals(0, client.count(Counter.LANES_LOST));
            rig.advance(1_000_000);
            rig.settle();
            assertEquals(1, client.count(Counter.LANES_LOST));
            assertFalse(beside.ended());
            relay.frozen = false;
            rig.until(beside::ended);
            assertEquals(ReadStatus.OK, beside.status, "on the new lane");
            assertEquals(2, client.count(Counter.LANES_OPENED));
        }
    }

    @Test
    void c79_halfOpenInMidReadAndRightAfterConnect() throws IOException {
        for (boolean connected : new boolean[]{true, false}) {
            try (Relay relay = new Relay(rig, server)) {
                relay.frozen = !connected;
                Reading read = client.read(relay.peer(), source.id(), 0, LONG, into);
                if (connected) {
                    rig.until(() -> read.read.received > 1 << 20);
                    relay.frozen = true;
                }
                rig.settle();
                long limitNs = connected
                        ? rig.config(client).times().stallNs()
                        : rig.config(client).times().handshakeNs();
                rig.advance(limitNs - 1_000_000);
                rig.settle();
                assertFalse(read.ended());
                rig.advance(2_000_000);
                rig.until(read::ended);
                assertEquals(Kind.PEER_UNREACHABLE, read.cause().kind());
                relay.frozen = false;
                rig.advance(CoolDown.MOST_NS);
                ok(relay.peer(), 100_000);
            }
        }
    }

    @Test
    void c79_anIdleConnectionIsProbedAndDroppedWhenNobodyAnswers() throws IOException {
        try (Relay relay = new Relay(rig, server)) {
            ok(relay.peer(), 100);
            for (int i = 0; i < 10; i++) {
                rig.advance(rig.config(client).times().keepAliveNs());
                rig.settle();
            }
            assertEquals(0, client.count(Counter.LANES_LOST) + server.count(Counter.LANES_LOST), "it is there");
            relay.frozen = true;
            rig.advance(rig.config(client).times().keepAliveNs());
            rig.settle();
            rig.advance(rig.config(client).times().stallNs());
            rig.settle();
            assertEquals(1, client.count(Counter.LANES_LOST));
            rig.advance(rig.config(server).times().silenceNs());
            rig.settle();
            assertEquals(1, server.count(Counter.LANES_LOST), "nor does the server keep it");
            relay.frozen = false;
            ok(relay.peer(), 100);
        }
    }

    @Test
    void c88_aConnectionIsUsedAgainOnlyAfterAWholeExchange() {
        Region guarded = server.register(rig.pattern(LONG), Access.GUARDED);
        for (int round = 0; round < 200; round++) {
            server.guards.changeAtPin(server.guards.pins() + 1, 43);
            Reading stale = new Reading();
            stale.read.from(server.peer(), guarded.id(), 0, 3 << 20).guardedBy(0, 42).into(into, 0).by(Long.MAX_VALUE);
            rig.until(client.submit(stale)::ended);
            assertEquals(ReadStatus.STALE, stale.status);
            server.guards.changeAtPin(Integer.MAX_VALUE, 43);
            Reading canceled = client.read(server.peer(), source.id(), 0, 3 << 20, into);
            rig.until(() -> canceled.read.received > 0);
            canceled.givenUp = true;
            client.engine.abort(canceled.read);
            MemorySegment right = rig.filled(5000, Rig.FILL);
            Region third = client.register(right, Access.LOCAL_ONLY);
            Reading read = client.read(server.peer(), source.id(), round, 5000, third);
            rig.until(read::ended);
            assertEquals(ReadStatus.OK, read.status);
            assertTrue(Rig.holdsPattern(right, 0, 5000, round), "round " + round);
            third.close();
        }
        assertEquals(1, client.count(Counter.LANES_OPENED));
    }

    @Test
    void c91_thousandsOfReadsOverOneConnectionWhichEndsWhenNobodyUsesIt() {
        for (int i = 0; i < 2000; i++) {
            ok(server.peer(), 4096);
        }
        List<Reading> reads = new ArrayList<>();
        for (int i = 0; i < 2000; i++) {
            reads.add(client.read(server.peer(), source.id(), i, 4096, into));
            rig.until(() -> reads.stream().filter(read -> !read.ended()).count() < 64);
            reads.removeIf(read -> read.status == ReadStatus.OK);
        }
        rig.until(() -> reads.stream().allMatch(Reading::ended));
        reads.forEach(read -> assertEquals(ReadStatus.OK, read.status));
        assertEquals(1, client.count(Counter.LANES_OPENED));
        assertEquals(0, client.count(Counter.LANES_LOST));
        for (long left = rig.config(client).times().idleNs(); left > 0; left -= rig.config(client)
                .times()
                .keepAliveNs()) {
            rig.advance(rig.config(client).times().keepAliveNs());
            rig.settle();
        }
        rig.until(() -> client.count(Counter.LANES_LOST) == 1 && server.count(Counter.LANES_LOST) == 1);
        ok(server.peer(), 100);
        assertEquals(2, client.count(Counter.LANES_OPENED));
    }

    @Test
    void c92_bothConnectAtTheSameMoment() {
        for (int pair = 0; pair < 50; pair++) {
            Side a = rig.side(new NodeId("a", 100 + pair), "c", TcpConfig.defaults());
            Side b = rig.side(new NodeId("b", 100 + pair), "c", TcpConfig.defaults());
            Region ofA = a.register(rig.pattern(1000), Access.READABLE);
            Region ofB = b.register(rig.pattern(1000), Access.READABLE);
            Reading one = a.read(b.peer(), ofB.id(), 0, 1000, a.register(rig.filled(1000, Rig.FILL),
                    Access.LOCAL_ONLY));
            Reading two = b.read(a.peer(), ofA.id(), 0, 1000, b.register(rig.filled(1000, Rig.FILL),
                    Access.LOCAL_ONLY));
            rig.until(() -> one.ended() && two.ended());
            assertEquals(ReadStatus.OK, one.status);
            assertEquals(ReadStatus.OK, two.status);
            for (Side side : List.of(a, b)) {
                assertEquals(2, side.count(Counter.LANES_OPENED), "its own and the other's");
                assertEquals(0, side.count(Counter.LANES_LOST) + side.count(Counter.HANDSHAKES_REFUSED));
            }
        }
    }

    @Test
    void shouldLookUpNamesBesideThePoller() {
        ArrayDeque<Runnable> lookups = new ArrayDeque<>();
        rig.lookups = lookups::add;
        InetAddress loopback = InetAddress.getLoopbackAddress();
        rig.names = host -> {
            if (host.equals("nowhere")) {
                throw new UnknownHostException("no such name");
            }
            return loopback;
        };
        Side asking = rig.side(new NodeId("asking", 9), "c", TcpConfig.defaults());
        Region there = asking.register(rig.filled(64, Rig.FILL), Access.LOCAL_ONLY);
        Peer named = new Peer(server.id, Map.of("tcp", "slow.example:" + Rig.endpoint(server).port()));
        Peer unknown = new Peer(new NodeId("x", 1), Map.of("tcp", "nowhere:1"));
        Reading slow = asking.read(named, source.id(), 0, 64, there);
        Reading never = asking.read(unknown, source.id(), 0, 64, there);
        rig.settle();
        assertEquals(2, lookups.size());
        assertFalse(slow.ended() || never.ended());
        lookups.removeLast().run();
        rig.until(never::ended);
        assertTrue(String.valueOf(never.cause().getMessage()).contains("host nowhere has no address"));
        lookups.remove().run();
        rig.until(slow::ended);
        assertEquals(ReadStatus.OK, slow.status);
        assertEquals(0, lookups.size());
    }

    @Test
    void shouldNotWaitForANameForEver() {
        ArrayDeque<Runnable> lookups = new ArrayDeque<>();
        rig.lookups = lookups::add;
        InetAddress loopback = InetAddress.getLoopbackAddress();
        rig.names = host -> loopback;
        Side asking = rig.side(new NodeId("asking", 9), "c", TcpConfig.defaults());
        Region there = asking.register(rig.filled(64, Rig.FILL), Access.LOCAL_ONLY);
        Peer named = new Peer(server.id, Map.of("tcp", "slow.example:" + Rig.endpoint(server).port()));
        Reading slow = asking.read(named, source.id(), 0, 64, there);
        rig.settle();
        rig.advance(rig.config(asking).times().connectNs());
        rig.until(slow::ended);
        assertEquals(ReadStatus.UNREACHABLE, slow.status);
        assertTrue(String.valueOf(slow.cause().getMessage()).contains("was not looked up within 5000 ms"));
        rig.advance(CoolDown.MOST_NS);
        Reading again = asking.read(named, source.id(), 0, 64, there);
        rig.settle();
        lookups.remove().run();
        rig.settle();
        assertFalse(again.ended(), "the answer of the first question is not that of the second");
        lookups.remove().run();
        rig.until(again::ended);
        assertEquals(ReadStatus.OK, again.status);
    }

    @Test
    void shouldFailWhenNobodyLooksNamesUp() {
        rig.lookups = lookup -> {
            throw new RejectedExecutionException("shut down");
        };
        Side asking = rig.side(new NodeId("asking", 9), "c", TcpConfig.defaults());
        Reading read = asking.read(new Peer(server.id, Map.of("tcp", "some.example:1")), source.id(), 0, 64,
                asking.register(rig.filled(64, Rig.FILL), Access.LOCAL_ONLY));
        rig.until(read::ended);
        assertTrue(String.valueOf(read.cause().getMessage()).contains("shut down"));
    }

    @Test
    void c125_aThousandBadHandshakesAreAFewLines() {
        List<String> lines = new ArrayList<>();
        LimitedLog log = new LimitedLog(server.id, () -> rig.nowNs(), (line, why) -> lines.add(line));
        for (int i = 0; i < 1000; i++) {
            log.warn("connection " + i + " refused", null);
            rig.advance(5_000_000);
        }
        assertTrue(lines.size() <= 6, () -> "lines: " + lines.size());
        assertTrue(lines.getLast().contains("(199 more warnings since the last one)"), lines.getLast());
        assertNotEquals(lines.getFirst(), lines.getLast());
    }
}
