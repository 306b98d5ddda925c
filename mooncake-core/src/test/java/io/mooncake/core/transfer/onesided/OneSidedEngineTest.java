package io.mooncake.core.transfer.onesided;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Route;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.core.transfer.onesided.FaultyFabric.Fault;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.EngineRig.Reading;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is the one-sided machine's own: credits, lanes that break, stall and are made anew, completions that are wrong. */
@Timeout(120)
final class OneSidedEngineTest {
    private static final long BYTES = 4L << 20;

    private final Machines rig = new Machines();

    /** The rig with faults, and with the reader's fabric at hand. */
    private static final class Machines extends SimRig {
        private FabricLimits limits = new FabricLimits(128, 16, 1 << 20);
        private Map<Fault, Double> faults = Map.of();
        private OneSidedConfig config = CONFIG;
        private final List<SimFabric> fabrics = new ArrayList<>();
        private final List<FaultyFabric> faulty = new ArrayList<>();

        @Override
        protected TransferEngine engine(EngineContext context) {
            SimFabric fabric = network.join(context, limits);
            fabrics.add(fabric);
            FaultyFabric withFaults = new FaultyFabric(fabric, 1, faults);
            faulty.add(withFaults);
            return new OneSidedEngine(context, withFaults, config);
        }
    }

    @AfterEach
    void close() {
        rig.close();
    }

    private Region pattern(EngineRig.Side owner, long bytes) {
        return owner.register(rig.pattern(bytes), Access.READABLE);
    }

    @Test
    void c101_shouldNeverPostMoreThanTheCompletionQueueHolds() throws InterruptedException {
        rig.limits = new FabricLimits(16, 16, 1 << 20);
        EngineRig.Side owner = rig.side("owner");
        EngineRig.Side reader = rig.side("reader");
        Region source = pattern(owner, 1 << 16);
        Region into = reader.own(rig.filled(1 << 16, EngineRig.FILL));
        Reading[] readings = new Reading[1000];
        List<Thread> threads = new ArrayList<>();
        AtomicInteger next = new AtomicInteger();
        for (int t = 0; t < 8; t++) {
            threads.add(Thread.ofPlatform().start(() -> {
                for (int i; (i = next.getAndIncrement()) < readings.length;) {
                    readings[i] = reader.read(owner, source, i, 1000 + i, into);
                }
            }));
        }
        for (Thread thread : threads) {
            thread.join();
        }

        for (Reading reading : readings) {
            rig.until(reading::ended);
            assertEquals(ReadStatus.OK, reading.status);
        }

        assertEquals(16, rig.fabrics.get(1).highestPosted(), "all of it is used, and no more");
        assertEquals(0, rig.fabrics.get(1).posted());
    }

    @Test
    void c139_shouldPauseARailThatFailsAndUseItAgainWithItsFirstProbeThatWorks() {
        long bytes = 4 << 14;
        rig.limits = new FabricLimits(128, 16, 1 << 14);
        EngineRig.Side owner = rig.side("owner");
        EngineRig.Side reader = rig.side("reader");
        FaultyFabric rails = rig.faulty.get(1);
        Region source = pattern(owner, bytes);
        MemorySegment to = rig.filled(bytes, EngineRig.FILL);
        Region into = reader.own(to);
        read(owner, reader, source, into, to);
        assertEquals(1, rails.connects(0));
        assertEquals(1, rails.connects(1));

        rails.odds(Map.of(Fault.ERROR, 1.0), rail -> rail == 0);
        OneSidedConfig.Times times = rig.config.times();
        long failedFromNs = rig.nowNs();
        for (int i = 0; i < 1000; i++) {
            read(owner, reader, source, into, to);
            rig.advance(10_000_000);
        }
        long doublings = (long) Long.SIZE - Long.numberOfLeadingZeros(times.maxBackOffNs() / times.backOffNs());
        long most = 1 + doublings + (rig.nowNs() - failedFromNs) / times.maxBackOffNs();
        assertTrue(rails.connects(0) > doublings, "it was probed");
        assertTrue(rails.connects(0) <= 1 + most,
                () -> rails.connects(0) + " connections, at most one a back-off are " + most);
        assertEquals(1, rails.connects(1), "the other one never suffered");

        rails.odds(Map.of(), rail -> false);
        int probes = rails.connects(0);
        rig.advance(times.maxBackOffNs());
        for (int i = 0; i < 100; i++) {
            read(owner, reader, source, into, to);
            rig.advance(10_000_000);
        }
        assertEquals(probes + 1, rails.connects(0), "the first probe stays");
        assertEquals(rig.config.window().lanesPerPeer(),
                reader.count(Counter.LANES_OPENED) - reader.count(Counter.LANES_LOST), "all are in use");
    }

    private void read(EngineRig.Side owner, EngineRig.Side reader, Region source, Region into, MemorySegment to) {
        to.fill(EngineRig.FILL);
        Reading reading = reader.read(owner, source, 0, to.byteSize(), into);
        rig.until(reading::ended);
        assertEquals(ReadStatus.OK, reading.status);
        assertEquals(1, reading.ends);
        assertTrue(EngineRig.holdsPattern(to, 0, to.byteSize(), 0));
    }

    @Test
    void shouldSayForSomeTimeThatAPeerCouldNotBeReached() {
        EngineRig.Side owner = rig.side("owner");
        EngineRig.Side reader = rig.side("reader");
        Region source = pattern(owner, 64);
        Region into = reader.own(rig.filled(64, EngineRig.FILL));
        assertEquals(Route.Health.READY, reader.engine.route(owner.peer(), source.id()).health());
        rig.freeze(owner);
        Reading unreachable = reader.read(owner, source, 0, 64, into);
        rig.until(unreachable::ended);
        assertEquals(ReadStatus.UNREACHABLE, unreachable.status);
        assertEquals(Route.Health.FAILING, reader.engine.route(owner.peer(), source.id()).health());
        assertEquals(Route.Health.READY, reader.engine.route(reader.peer(), source.id()).health());

        rig.thaw(owner);
        rig.advance(rig.config.times().maxBackOffNs());
        assertEquals(Route.Health.READY, reader.engine.route(owner.peer(), source.id()).health());
        Reading again = reader.read(owner, source, 0, 64, into);
        rig.until(again::ended);
        assertEquals(ReadStatus.OK, again.status);
    }

    @Test
    void shouldPostAgainWhatABrokenLaneDidNotProve() {
        EngineRig.Side owner = rig.side("owner");
        EngineRig.Side reader = rig.side("reader");
        Region source = pattern(owner, BYTES);
        MemorySegment to = rig.filled(BYTES, EngineRig.FILL);
        Region into = reader.own(to);
        for (int round = 0; round < 8; round++) {
            to.fill(EngineRig.FILL);
            Reading reading = reader.read(owner, source, 0, BYTES, into);
            rig.until(() -> rig.fabrics.get(1).posted() > 0);
            for (int i = 0; i < round; i++) {
                rig.cycle();
            }
            rig.network.breakSomeLane();
            rig.until(reading::ended);
            assertEquals(ReadStatus.OK, reading.status);
            assertEquals(1, reading.ends);
            assertTrue(EngineRig.holdsPattern(to, 0, BYTES, 0), "round " + round);
        }
        assertTrue(reader.count(Counter.LANES_LOST) >= 8);
    }

    @Test
    void shouldBreakLanesThatStandStillAndGoOnWithOthers() {
        EngineRig.Side owner = rig.side("owner");
        EngineRig.Side reader = rig.side("reader");
        rig.network.timing(new SimTiming(50_000, 10_000, 10_000, 4, 60 * EngineRig.SECOND_NS, 20_000, 50));
        Region source = pattern(owner, BYTES);
        MemorySegment to = rig.filled(BYTES, EngineRig.FILL);
        Reading reading = reader.read(owner, source, 0, BYTES, reader.own(to));
        rig.until(() -> rig.fabrics.get(1).posted() > 0);
        long beganNs = rig.nowNs();
        rig.freeze(owner);
        rig.until(() -> reader.count(Counter.LANES_LOST) > 0);
        rig.thaw(owner);
        rig.until(reading::ended);
        assertEquals(ReadStatus.OK, reading.status);
        assertTrue(rig.nowNs() - beganNs >= SimRig.CONFIG.times().stallNs());
        assertTrue(EngineRig.holdsPattern(to, 0, BYTES, 0));
    }

    @Test
    void shouldEndWhatWasGivenUpWithinItsBoundWhenTheBrokenLaneFlushesNothing() {
        OneSidedConfig.Times times = new OneSidedConfig.Times(3_000_000, 60 * EngineRig.SECOND_NS, 60_000, 150_000,
                50_000, 400_000);
        rig.config = SimRig.CONFIG.withTimes(times);
        EngineRig.Side owner = rig.side("owner");
        EngineRig.Side reader = rig.side("reader");
        long never = 60 * EngineRig.SECOND_NS;
        rig.network.timing(new SimTiming(50_000, 10_000, 10_000, 4, never, never, 0));
        Region source = pattern(owner, BYTES);
        Reading reading = reader.read(owner, source, 0, BYTES, reader.own(rig.filled(BYTES, EngineRig.FILL)));
        rig.until(() -> rig.fabrics.get(1).posted() > 0);
        rig.freeze(owner);

        long givenUpNs = rig.nowNs();
        reading.givenUp = true;
        reader.engine.abort(reading.read);
        rig.until(reading::ended);

        assertEquals(ReadStatus.CANCELED, reading.status);
        long tookNs = rig.nowNs() - givenUpNs;
        // Each of the steps is seen in the next duty cycle, which is 20 us later.
        assertTrue(tookNs <= times.silentEndBoundNs() + 100_000, tookNs + " ns");
    }

    @Test
    void shouldGiveUpAChunkThatFailsAgainAndAgain() {
        EngineRig.Side owner = rig.side("owner");
        rig.faults = Map.of(Fault.ERROR, 1.0);
        EngineRig.Side reader = rig.side("reader");
        Region source = pattern(owner, 4096);

        Reading reading = reader.read(owner, source, 0, 4096, reader.own(rig.filled(4096, EngineRig.FILL)));
        rig.until(reading::ended);

        assertEquals(ReadStatus.UNREACHABLE, reading.status);
        assertEquals(Kind.PEER_UNREACHABLE, reading.cause().kind());
        assertEquals(SimRig.CONFIG.tries() + 1, reader.count(Counter.LANES_LOST),
                "one lane a try, one after the other");
    }

    @Test
    void shouldFailAtOnceWhileAPeerThatRefusedCoolsDownAndTryAgainAfterIt() {
        EngineRig.Side owner = rig.side("owner");
        EngineRig.Side reader = rig.side("reader");
        Region source = pattern(owner, 4096);
        Region into = reader.own(rig.filled(4096, EngineRig.FILL));
        List<String> connects = new ArrayList<>();
        rig.network.crash(owner.id);
        rig.network.traceTo(line -> {
            if (line.contains("connects")) {
                connects.add(line);
            }
        });
        int lanes = SimRig.CONFIG.window().lanesPerPeer();
        Reading first = reader.read(owner, source, 0, 8, into);
        rig.until(first::ended);
        assertEquals(ReadStatus.UNREACHABLE, first.status);
        assertEquals(lanes, connects.size());

        Reading second = reader.read(owner, source, 0, 8, into);
        rig.cycle();
        assertEquals(ReadStatus.UNREACHABLE, second.status);
        assertEquals(lanes, connects.size(), "no lane is tried while it cools down");

        rig.advance(SimRig.CONFIG.times().maxBackOffNs());
        Reading third = reader.read(owner, source, 0, 8, into);
        rig.until(third::ended);
        assertEquals(2 * lanes, connects.size());
    }

    @Test
    void shouldCountAndDropCompletionsThatComeTwice() {
        EngineRig.Side owner = rig.side("owner");
        rig.faults = Map.of(Fault.DUPLICATE, 1.0, Fault.REORDER, 0.5);
        EngineRig.Side reader = rig.side("reader");
        Region source = pattern(owner, BYTES);
        MemorySegment to = rig.filled(BYTES, EngineRig.FILL);
        Reading reading = reader.read(owner, source, 0, BYTES, reader.own(to));
        rig.until(reading::ended);
        rig.settle();
        assertEquals(ReadStatus.OK, reading.status);
        assertEquals(1, reading.ends);
        assertTrue(EngineRig.holdsPattern(to, 0, BYTES, 0));
        assertTrue(reader.count(Counter.STALE_COMPLETIONS) >= 4);
    }

    @Test
    void shouldServePeersInTurn() {
        EngineRig.Side busy = rig.side("busy");
        EngineRig.Side calm = rig.side("calm");
        EngineRig.Side reader = rig.side("reader");
        Region large = pattern(busy, BYTES);
        Region small = pattern(calm, 4096);
        Region into = reader.own(rig.filled(BYTES, EngineRig.FILL));
        Region apart = reader.own(rig.filled(4096, EngineRig.FILL));
        List<Reading> flood = new ArrayList<>();
        for (int i = 0; i < 30; i++) {
            flood.add(reader.read(busy, large, 0, BYTES, into));
        }
        Reading one = reader.read(calm, small, 0, 4096, apart);
        rig.until(one::ended);
        assertEquals(ReadStatus.OK, one.status);
        long done = flood.stream().filter(Reading::ended).count();
        assertTrue(done <= 2, () -> done + " of the large reads ended before the small one");
        flood.forEach(reading -> rig.until(reading::ended));
    }

    @Test
    void shouldTellCookiesApart() {
        long cookie = Cookies.of(3, 70_000, Cookies.PROOF);
        assertEquals(70_000, Cookies.slot(cookie));
        assertEquals(Cookies.PROOF, Cookies.op(cookie));
        assertNotEquals(cookie, Cookies.of(4, 70_000, Cookies.PROOF));
        assertEquals(Cookies.MAX_SLOTS - 1, Cookies.slot(Cookies.of(1L << 39, Cookies.MAX_SLOTS - 1, Cookies.CHUNK)));
    }

    @Test
    void shouldFreeTheCreditsOfADestroyedLaneOnlyWhenTheQueueWasSeenEmpty() {
        Credits credits = new Credits(2);
        credits.onPosted();
        credits.onPosted();
        assertThrows(IllegalStateException.class, credits::onPosted);
        credits.onDestroyed(1);
        assertTrue(credits.isEmpty());
        credits.onDrained();
        assertEquals(1, credits.taken());
        credits.onCompleted();
        assertEquals(0, credits.taken());
    }
}
