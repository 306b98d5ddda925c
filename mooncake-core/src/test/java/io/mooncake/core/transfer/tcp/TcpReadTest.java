package io.mooncake.core.transfer.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Memory.DeviceMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.base.PageMap;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Topic;
import io.mooncake.testing.EngineRig.Reading;
import io.mooncake.testing.EngineRig.Side;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Reads between two TCP engines: what the contract of every engine does not say. */
@Timeout(120)
final class TcpReadTest {
    private final Rig rig = new Rig();
    private final Side server = rig.side("server");
    private final Side client = rig.side("client");

    @AfterEach
    void close() {
        rig.close();
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 7, 4096, 16383, 32768, 32769, 65536, 100_003, 1 << 20, (1 << 20) + 1, 5_000_011})
    void shouldBringEveryByteOfAnySize(long length) {
        Region source = server.register(rig.pattern(length + 100), Access.READABLE);
        MemorySegment to = rig.filled(length + 64, Rig.FILL);

        Reading result = client.read(server.peer(), source.id(), 77, length,
                client.register(to, Access.LOCAL_ONLY));
        rig.until(result::ended);

        assertEquals(ReadStatus.OK, result.status);
        assertEquals(1, result.ends);
        assertEquals(length, result.read.received);
        assertTrue(Rig.holdsPattern(to, 0, length, 77));
        assertTrue(Rig.isFilled(to.asSlice(length), Rig.FILL));
        assertEquals(length, server.count(Counter.BYTES_SERVED));
        assertEquals((length - 1) / Ranges.RANGE_BYTES + 1, server.count(Counter.READS_SERVED), "ranges");
        assertEquals(0, source.uses());
    }

    @Test
    void shouldProveEveryChunkOfAGuardedRead() {
        Region source = server.register(rig.pattern(3 << 20), Access.GUARDED);
        MemorySegment to = rig.filled(3 << 20, Rig.FILL);
        Reading result = new Reading();
        result.read.from(server.peer(), source.id(), 0, 3 << 20)
                .guardedBy(64, 42)
                .into(client.register(to, Access.LOCAL_ONLY), 0)
                .by(rig.nowNs() + Rig.SECOND_NS);

        rig.until(client.submit(result)::ended);

        assertEquals(ReadStatus.OK, result.status);
        assertEquals(3, server.guards.pins());
        assertEquals(0, server.guards.pinned());
        assertTrue(Rig.holdsPattern(to, 0, 3 << 20, 0));
    }

    @Test
    void shouldScatterSmallPages() {
        Region source = server.register(rig.pattern(1 << 20), Access.READABLE);
        MemorySegment to = rig.filled(2 << 20, Rig.FILL);
        int[] order = new int[1024];
        for (int i = 0; i < order.length; i++) {
            order[i] = order.length - 1 - i;
        }
        Reading result = new Reading();
        result.read.from(server.peer(), source.id(), 0, 1 << 20)
                .into(client.register(to, Access.LOCAL_ONLY), new PageMap(0, 1024, 2048, order))
                .by(rig.nowNs() + Rig.SECOND_NS);

        rig.until(client.submit(result)::ended);

        assertEquals(ReadStatus.OK, result.status);
        for (int i = 0; i < order.length; i++) {
            assertTrue(Rig.holdsPattern(to, order[i] * 2048L, 1024, i * 1024L), "page " + i);
            assertTrue(Rig.isFilled(to.asSlice(order[i] * 2048L + 1024, 1024), Rig.FILL));
        }
    }

    @Test
    void shouldRefuseAPageMapThatIsTooSmallOrReachesOutOfTheDestination() {
        Region source = server.register(rig.pattern(100), Access.READABLE);
        Region to = client.register(rig.filled(100, Rig.FILL), Access.LOCAL_ONLY);
        Reading small = new Reading();
        small.read.from(server.peer(), source.id(), 0, 100)
                .into(to, new PageMap(0, 33, 33, new int[]{0, 1, 2}))
                .by(Long.MAX_VALUE);
        Reading outside = new Reading();
        outside.read.from(server.peer(), source.id(), 0, 100)
                .into(to, new PageMap(0, 50, 51, new int[]{0, 1}))
                .by(Long.MAX_VALUE);

        client.submit(small);
        client.submit(outside);
        rig.until(() -> small.ended() && outside.ended());

        assertEquals(ReadStatus.REFUSED, small.status);
        assertEquals(Kind.OUT_OF_BOUNDS, small.cause().kind());
        assertEquals(ReadStatus.REFUSED, outside.status);
    }

    @Test
    void shouldKeepManyReadsApart() {
        int reads = 1500;
        Region source = server.register(rig.pattern(1 << 20), Access.READABLE);
        List<Reading> results = new ArrayList<>();
        List<MemorySegment> targets = new ArrayList<>();
        for (int i = 0; i < reads; i++) {
            long length = i % 10 == 0 ? 200_000 + i : 1 + i * 3;
            MemorySegment to = rig.filled(length, Rig.FILL);
            targets.add(to);
            results.add(
                    client.read(server.peer(), source.id(), i * 17L, length, client.register(to, Access.LOCAL_ONLY)));
        }

        rig.until(() -> results.stream().allMatch(Reading::ended));

        for (int i = 0; i < reads; i++) {
            assertEquals(ReadStatus.OK, results.get(i).status);
            assertEquals(1, results.get(i).ends);
            assertTrue(Rig.holdsPattern(targets.get(i), 0, targets.get(i).byteSize(), i * 17L), "read " + i);
        }
        assertEquals(1, client.count(Counter.LANES_OPENED));
        assertEquals(0, client.count(Counter.STALE_COMPLETIONS));
    }

    @Test
    void shouldGiveEveryReadOfALaneItsTurn() {
        Region source = server.register(rig.pattern(16 << 20), Access.READABLE);
        Region to = client.register(rig.filled(16 << 20, Rig.FILL), Access.LOCAL_ONLY);
        List<String> order = new ArrayList<>();
        Reading large = client.read(server.peer(), source.id(), 0, 16 << 20, to);
        large.onEnd = () -> order.add("large");
        Reading small = client.read(server.peer(), source.id(), 0, 2 << 20,
                client.register(rig.filled(2 << 20, Rig.FILL),
                        Access.LOCAL_ONLY));
        small.onEnd = () -> order.add("small");

        rig.until(() -> large.ended() && small.ended());

        assertEquals(List.of("small", "large"), order);
    }

    @Test
    void shouldReadInBothDirectionsAtOnce() {
        Region here = client.register(rig.pattern(3 << 20), Access.READABLE);
        Region there = server.register(rig.pattern(3 << 20), Access.READABLE);
        MemorySegment toClient = rig.filled(3 << 20, Rig.FILL);
        MemorySegment toServer = rig.filled(3 << 20, Rig.FILL);
        Reading one = client.read(server.peer(), there.id(), 0, 3 << 20,
                client.register(toClient, Access.LOCAL_ONLY));
        Reading two = server.read(client.peer(), here.id(), 0, 3 << 20,
                server.register(toServer, Access.LOCAL_ONLY));

        rig.until(() -> one.ended() && two.ended());

        assertTrue(Rig.holdsPattern(toClient, 0, 3 << 20, 0));
        assertTrue(Rig.holdsPattern(toServer, 0, 3 << 20, 0));
    }

    @Test
    void c04_zeroLengthProvesOnly() {
        Region plain = server.register(rig.pattern(4096), Access.READABLE);
        Region guarded = server.register(rig.pattern(4096), Access.GUARDED);
        MemorySegment to = rig.filled(64, Rig.FILL);
        Region into = client.register(to, Access.LOCAL_ONLY);
        Reading inside = client.read(server.peer(), plain.id(), 100, 0, into);
        Reading atEnd = client.read(server.peer(), plain.id(), 4096, 0, into);
        Reading beyond = client.read(server.peer(), plain.id(), 4097, 0, into);
        Reading proven = new Reading();
        proven.read.from(server.peer(), guarded.id(), 0, 0).guardedBy(0, 42).into(into, 0).by(Long.MAX_VALUE);
        client.submit(proven);
        Reading stale = new Reading();
        stale.read.from(server.peer(), guarded.id(), 0, 0).guardedBy(0, 41).into(into, 0).by(Long.MAX_VALUE);
        client.submit(stale);

        rig.until(() -> inside.ended() && atEnd.ended() && beyond.ended() && proven.ended() && stale.ended());

        assertEquals(ReadStatus.OK, inside.status);
        assertEquals(0, inside.read.received);
        assertEquals(ReadStatus.OK, atEnd.status);
        assertEquals(ReadStatus.REFUSED, beyond.status);
        assertEquals(Kind.OUT_OF_BOUNDS, beyond.cause().kind());
        assertEquals(ReadStatus.OK, proven.status);
        assertEquals(ReadStatus.STALE, stale.status);
        assertEquals(0, server.guards.pinned());
        assertTrue(Rig.isFilled(to, Rig.FILL));
    }

    @Test
    void c05_readAcrossTheSeamOfTwoRegionsIsOutOfBounds() {
        MemorySegment both = rig.pattern(2 << 20);
        Region first = server.register(both.asSlice(0, 1 << 20), Access.READABLE);
        server.register(both.asSlice(1 << 20), Access.READABLE);
        MemorySegment to = rig.filled(4096, Rig.FILL);

        Reading result = client.read(server.peer(), first.id(), (1 << 20) - 2048, 4096,
                client.register(to, Access.LOCAL_ONLY));
        rig.until(result::ended);

        assertEquals(ReadStatus.REFUSED, result.status);
        assertEquals(Kind.OUT_OF_BOUNDS, result.cause().kind());
        assertEquals(0, result.read.received);
        assertTrue(Rig.isFilled(to, Rig.FILL));
    }

    @Test
    void c01_badRangesAreRefusedByTheClient() {
        Region source = server.register(rig.pattern(4096), Access.READABLE);
        MemorySegment to = rig.filled(64, Rig.FILL);
        Region into = client.register(to, Access.LOCAL_ONLY);
        long[][] ranges = {{Long.MAX_VALUE - 7, 16}, {4090, 7}, {-1, 1}, {0, -1}};
        for (long[] range : ranges) {
            Reading bad = client.read(server.peer(), source.id(), range[0], range[1], into);
            rig.until(bad::ended);
            assertEquals(ReadStatus.REFUSED, bad.status);
            assertEquals(Kind.OUT_OF_BOUNDS, bad.cause().kind());
        }
        assertTrue(Rig.isFilled(to, Rig.FILL));
        assertEquals(0, server.count(Counter.BYTES_SERVED));
        Reading good = client.read(server.peer(), source.id(), 4090, 6, into);
        rig.until(good::ended);
        assertEquals(ReadStatus.OK, good.status);
        assertTrue(Rig.holdsPattern(to, 0, 6, 4090));
        Reading tooLarge = new Reading();
        tooLarge.read.from(server.peer(), source.id(), 0, 16).into(into, Long.MAX_VALUE - 3).by(Long.MAX_VALUE);
        rig.until(client.submit(tooLarge)::ended);
        assertEquals(ReadStatus.REFUSED, tooLarge.status);
    }

    @Test
    void shouldRefuseRegionsThatPeersMayNotReadAndGuardsThatDoNotFit() {
        Region hidden = server.register(rig.pattern(64), Access.LOCAL_ONLY);
        Region plain = server.register(rig.pattern(64), Access.READABLE);
        Region guarded = server.register(rig.pattern(64), Access.GUARDED);
        Region into = client.register(rig.filled(64, Rig.FILL), Access.LOCAL_ONLY);
        Reading unknown = client.read(server.peer(), 99, 0, 1, into);
        Reading local = client.read(server.peer(), hidden.id(), 0, 1, into);
        Reading without = client.read(server.peer(), guarded.id(), 0, 1, into);
        Reading with = new Reading();
        with.read.from(server.peer(), plain.id(), 0, 1).guardedBy(0, 42).into(into, 0).by(Long.MAX_VALUE);
        client.submit(with);
        Reading elsewhere = new Reading();
        elsewhere.read.from(server.peer(), guarded.id(), 0, 1).guardedBy(1, 42).into(into, 0).by(Long.MAX_VALUE);
        client.submit(elsewhere);

        rig.until(() -> unknown.ended() && local.ended() && without.ended() && with.ended() && elsewhere.ended());

        assertEquals(Kind.UNAUTHORIZED, unknown.cause().kind());
        assertEquals(Kind.UNAUTHORIZED, local.cause().kind());
        assertEquals(Kind.INVALID_ARGUMENT, without.cause().kind());
        assertEquals(Kind.INVALID_ARGUMENT, with.cause().kind());
        assertEquals(Kind.INVALID_ARGUMENT, elsewhere.cause().kind());
        assertEquals(0, server.count(Counter.BYTES_SERVED));
    }

    @Test
    void shouldEndStaleWhenTheGuardIsAnotherFromTheStart() {
        Region source = server.register(rig.pattern(64), Access.GUARDED);
        MemorySegment to = rig.filled(64, Rig.FILL);
        Reading result = new Reading();
        result.read.from(server.peer(), source.id(), 0, 64)
                .guardedBy(0, 41)
                .into(client.register(to, Access.LOCAL_ONLY), 0)
                .by(Long.MAX_VALUE);

        rig.until(client.submit(result)::ended);

        assertEquals(ReadStatus.STALE, result.status);
        assertTrue(Rig.isFilled(to, Rig.FILL));
        assertEquals(1, server.count(Counter.READS_STALE));
        assertEquals(0, server.guards.pinned());
    }

    @ParameterizedTest
    @ValueSource(ints = {1000, 1 << 20})
    void shouldEndStaleWhenTheGuardChangesInMidRead(int chunkBytes) {
        Side small = rig.side(new NodeId("small", 7), "c",
                TcpConfig.defaults().withLimits(16, chunkBytes, 4));
        Region source = small.register(rig.pattern(5L * chunkBytes), Access.GUARDED);
        small.guards.changeAtPin(2, 43);
        Reading result = new Reading();
        Region into = client.register(rig.filled(5L * chunkBytes, Rig.FILL), Access.LOCAL_ONLY);
        result.read.from(small.peer(), source.id(), 0, 5L * chunkBytes)
                .guardedBy(0, 42)
                .into(into, 0)
                .by(Long.MAX_VALUE);

        rig.until(client.submit(result)::ended);
        rig.settle();

        assertEquals(ReadStatus.STALE, result.status);
        // The ranges that were asked for before the third one's end were served too.
        assertTrue(small.guards.pins() >= 3, "pins: " + small.guards.pins());
        assertEquals(0, small.guards.pinned());
        small.guards.changeAtPin(Integer.MAX_VALUE, 43);
        result.read.from(small.peer(), source.id(), 0, 5L * chunkBytes)
                .guardedBy(0, 42)
                .into(into, 0)
                .by(Long.MAX_VALUE);
        rig.until(client.submit(result)::ended);
        assertEquals(ReadStatus.OK, result.status, "the lane goes on");
    }

    @Test
    void shouldCarryMessagesInOrder() {
        List<String> sent = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            String text = i % 50 == 0 ? "m".repeat(EngineContext.MAX_MESSAGE_BYTES) : "message " + i;
            sent.add("client:" + text);
            assertTrue(client.engine.send(server.peer(), Topic.APPLICATION, Rig.utf8(text)));
        }
        rig.until(() -> server.messages.size() == 300);
        assertEquals(sent, server.messages);
        assertEquals(300, client.count(Counter.MESSAGES_SENT));
        assertEquals(300, server.count(Counter.MESSAGES_RECEIVED));
    }

    @Test
    void shouldRefuseLongMessagesAndTakeEmptyOnes() {
        MooncakeException longer = assertThrows(MooncakeException.class,
                () -> client.engine.send(server.peer(), Topic.APPLICATION,
                        Rig.utf8("m".repeat(EngineContext.MAX_MESSAGE_BYTES + 1))));
        assertEquals(Kind.OUT_OF_BOUNDS, longer.kind());
        assertTrue(client.engine.send(server.peer(), Topic.APPLICATION, Rig.utf8("")));
        rig.until(() -> server.messages.equals(List.of("client:")));
        assertFalse(client.engine.send(new Peer(server.id, Map.of()), Topic.APPLICATION, Rig.utf8("x")),
                "no way there");
    }

    @Test
    void shouldPushBackWhenTheQueueIsFull() {
        Side few = rig.side(new NodeId("few", 8), "c", TcpConfig.defaults().withLimits(4, 1000, 4));
        Region source = server.register(rig.pattern(64), Access.READABLE);
        Region into = few.register(rig.filled(64, Rig.FILL), Access.LOCAL_ONLY);
        List<Reading> results = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            results.add(few.read(server.peer(), source.id(), 0, 1, into));
        }
        Reading fifth = new Reading();
        fifth.read.from(server.peer(), source.id(), 0, 1).into(into, 0).by(Long.MAX_VALUE);
        assertFalse(few.engine.submit(fifth.read));
        assertFalse(few.engine.send(server.peer(), Topic.APPLICATION, Rig.utf8("x")));

        rig.until(() -> results.stream().allMatch(Reading::ended));

        assertEquals(0, fifth.ends);
        assertTrue(few.engine.submit(fifth.read));
        rig.until(fifth::ended);
        assertEquals(ReadStatus.OK, fifth.status);
    }

    @Test
    void shouldRefuseADestinationThatItCannotWrite() {
        Region source = server.register(rig.pattern(64), Access.READABLE);
        Region readOnly = client.register(rig.filled(64, Rig.FILL).asReadOnly(), Access.LOCAL_ONLY);
        Region device = client.regions.register(new DeviceMemory(0, 4096, 64), Access.LOCAL_ONLY);
        Reading one = client.read(server.peer(), source.id(), 0, 8, readOnly);
        Reading two = client.read(server.peer(), source.id(), 0, 8, device);
        rig.until(() -> one.ended() && two.ended());
        assertEquals(Kind.UNSUPPORTED, one.cause().kind());
        assertEquals(Kind.UNSUPPORTED, two.cause().kind());
    }
}
