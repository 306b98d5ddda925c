package io.mooncake.core.transfer.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Priority;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.testing.EngineRig.Reading;
import io.mooncake.testing.EngineRig.Side;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Peers that want much beside peers that want little. Counts duty cycles and bytes, no time. */
@Timeout(120)
final class TcpFairnessTest {
    private static final int LARGE = 64 << 20;
    private static final int SMALL = 4096;
    private static final int READS = 1000;
    /** Asked in one duty cycle, answered in the next, taken in the third; the order of nodes in a cycle adds some. */
    private static final int MOST_CYCLES = 8;

    private final Rig rig = new Rig();

    @AfterEach
    void close() {
        rig.close();
    }

    private Side side(String name, int lanes) {
        return rig.side(new NodeId(name, 1 + rig.sides().size()), "c", TcpConfig.defaults().withLanes(lanes));
    }

    private List<Reading> thousandLarge(Side client, Side server, Region source) {
        Region into = client.register(rig.arena().allocate(LARGE), Access.LOCAL_ONLY);
        List<Reading> reads = new ArrayList<>();
        for (int i = 0; i < READS; i++) {
            reads.add(client.read(server.peer(), source.id(), 0, LARGE, into));
        }
        rig.until(() -> reads.stream().mapToLong(read -> read.read.received).sum() > 16 << 20);
        return reads;
    }

    /** Reads 4 KiB again and again; says how many duty cycles the slowest took. */
    private long slowestSmallRead(Side client, Side server, Region source, int count) {
        Region into = client.register(rig.arena().allocate(SMALL), Access.LOCAL_ONLY);
        long slowest = 0;
        for (int i = 0; i < count; i++) {
            long began = rig.cycles;
            Reading read = client.read(server.peer(), source.id(), 0, SMALL, into);
            rig.until(read::ended);
            assertEquals(ReadStatus.OK, read.status);
            slowest = i < 3 ? 0 : Math.max(slowest, rig.cycles - began);
        }
        return slowest;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 4})
    void shouldServeASmallReadBesideAThousandLargeOnesOfAnotherPeer(int lanes) {
        Side server = side("server", 1);
        Side greedy = side("greedy", lanes);
        Side modest = side("modest", 1);
        Region source = server.register(rig.arena().allocate(LARGE), Access.READABLE);
        List<Reading> large = thousandLarge(greedy, server, source);
        slowestSmallRead(modest, server, source, 3);
        long before = server.count(Counter.BYTES_SERVED);
        long began = rig.cycles;
        long slowest = slowestSmallRead(modest, server, source, 200);
        long served = server.count(Counter.BYTES_SERVED) - before;
        assertTrue(slowest <= MOST_CYCLES, "duty cycles of the slowest: " + slowest);
        long most = (rig.cycles - began) * TcpPoller.CONTENDED_BYTES + lanes * (2L << 20) + 203L * SMALL;
        assertTrue(served <= most,
                served + " bytes served in " + (rig.cycles - began) + " duty cycles, at most " + most);
        assertTrue(served > 1 << 20, "the greedy one goes on too: " + served);
        large.forEach(read -> read.givenUp = true);
    }

    @Test
    void shouldLandASmallReadBesideAThousandLargeOnesFromAnotherPeer() {
        Side client = side("client", 1);
        Side greedy = side("greedy", 1);
        Side modest = side("modest", 1);
        Region much = greedy.register(rig.arena().allocate(LARGE), Access.READABLE);
        Region little = modest.register(rig.arena().allocate(SMALL), Access.READABLE);
        List<Reading> large = thousandLarge(client, greedy, much);
        slowestSmallRead(client, modest, little, 3);
        long before = large.stream().mapToLong(read -> read.read.received).sum();
        long began = rig.cycles;
        long slowest = slowestSmallRead(client, modest, little, 200);
        long landed = large.stream().mapToLong(read -> read.read.received).sum() - before;
        assertTrue(slowest <= MOST_CYCLES, "duty cycles of the slowest: " + slowest);
        assertTrue(landed <= (rig.cycles - began) * TcpPoller.CONTENDED_BYTES, "landed " + landed);
        assertTrue(landed > 1 << 20, "the greedy one goes on too: " + landed);
        large.forEach(read -> read.givenUp = true);
    }

    @Test
    void shouldFindAPeerThatWasSilentForLongWithinOneBudget() {
        Side server = side("server", 1);
        Side greedy = side("greedy", 4);
        Side modest = side("modest", 1);
        Region source = server.register(rig.arena().allocate(LARGE), Access.READABLE);
        slowestSmallRead(modest, server, source, 3);
        List<Reading> large = thousandLarge(greedy, server, source);
        for (int i = 0; i < 2000; i++) {
            rig.cycle();
        }
        long before = server.count(Counter.BYTES_SERVED);
        slowestSmallRead(modest, server, source, 1);
        long served = server.count(Counter.BYTES_SERVED) - before;
        long most = 4L * TcpPoller.CYCLE_BYTES + (4 << 20);
        assertTrue(served <= most, served + " bytes were served first, at most " + most);
        large.forEach(read -> read.givenUp = true);
    }

    @Test
    void shouldSendLoadsBeforeBackgroundReads() {
        Side server = side("server", 1);
        Side client = side("client", 1);
        Region source = server.register(rig.arena().allocate(LARGE), Access.READABLE);
        Region into = client.register(rig.arena().allocate(LARGE), Access.LOCAL_ONLY);
        List<String> order = new ArrayList<>();
        List<Reading> all = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            Reading background = new Reading();
            background.onEnd = () -> order.add("background");
            background.read.from(server.peer(), source.id(), 0, LARGE)
                    .withPriority(Priority.BACKGROUND)
                    .into(into, 0)
                    .by(Long.MAX_VALUE);
            all.add(client.submit(background));
        }
        rig.until(() -> all.getFirst().read.received > 8 << 20);
        Reading load = client.read(server.peer(), source.id(), 0, LARGE, into);
        load.onEnd = () -> order.add("load");
        all.add(load);
        long background = all.subList(0, 8).stream().mapToLong(read -> read.read.received).sum();
        rig.until(load::ended);
        long meanwhile = all.subList(0, 8).stream().mapToLong(read -> read.read.received).sum() - background;
        assertTrue(meanwhile <= 2 * (PeerLanes.NEAR_WINDOW_BYTES + Ranges.RANGE_BYTES),
                "background reads had what was asked for before, and when no range of the load waited: " + meanwhile);
        assertEquals(List.of("load"), order);
        rig.until(() -> all.stream().allMatch(Reading::ended));
        all.forEach(read -> assertEquals(ReadStatus.OK, read.status));
    }

    @Test
    void c89_aPeerThatDoesNotReadHoldsUpNobodyElse() throws IOException {
        Side server = side("server", 1);
        Side client = side("client", 1);
        Region source = server.register(rig.pattern(LARGE), Access.GUARDED);
        Region plain = server.register(rig.pattern(1 << 20), Access.READABLE);
        try (Raw raw = Raw.dialed(rig, server)) {
            for (int i = 0; i < 256; i++) {
                raw.send(Raw.read(server.id, source.id(), 1, 0, 4 << 20, 0, 42));
            }
            rig.settle();
            long served = server.count(Counter.BYTES_SERVED);
            Region into = client.register(rig.arena().allocate(1 << 20), Access.LOCAL_ONLY);
            for (int i = 0; i < 20; i++) {
                Reading read = client.read(server.peer(), plain.id(), 0, 1 << 20, into);
                rig.until(read::ended);
                assertEquals(ReadStatus.OK, read.status);
            }
            assertEquals(served + (20 << 20), server.count(Counter.BYTES_SERVED), "nothing is queued for it");
            assertEquals(1, server.guards.pinned(), "one chunk");
            rig.advance(rig.config(server).times().stallNs());
            rig.until(() -> server.guards.pinned() == 0);
            assertEquals(0, source.uses());
        }
    }
}
