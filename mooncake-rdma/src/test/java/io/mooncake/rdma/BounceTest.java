package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.rdma.sim.SimulatedDevice;
import io.mooncake.rdma.sim.SimulatedTiming;
import io.mooncake.rdma.verbs.WorkStatus;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.EngineRig.Reading;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Destinations that the card does not know: short reads bounce, long ones have them registered, within a bound. */
@Timeout(120)
final class BounceTest {
    private static final byte FILL = EngineRig.FILL;
    private static final long MIB = 1 << 20;

    private RdmaRig rig = new RdmaRig();
    private EngineRig.Side owner = rig.side("owner");
    private EngineRig.Side reader = rig.side("reader");
    private Region source = owner.register(rig.pattern(8 * MIB), Access.READABLE);

    @AfterEach
    void close() {
        rig.close();
    }

    private SimulatedDevice card() {
        return rig.host("reader").cards().getFirst();
    }

    private void assertReads(long offset, MemorySegment to, Region into) {
        to.fill(FILL);
        Reading reading = reader.read(owner, source, offset, to.byteSize(), into);
        rig.until(reading::ended);
        assertEquals(ReadStatus.OK, reading.status);
        assertTrue(EngineRig.holdsPattern(to, 0, to.byteSize(), offset));
    }

    @Test
    void shouldRegisterNothingForShortReadsUntilThatIsWorthIt() {
        MemorySegment warm = rig.filled(64, FILL);
        assertReads(0, warm, reader.own(warm));
        int before = card().registered();
        for (int i = 0; i < 50; i++) {
            MemorySegment to = rig.filled(1 + i * 1000L, FILL);
            Region into = reader.own(to);
            assertReads(i * 77L, to, into);
            into.close();
        }
        assertEquals(before, card().registered());
        MemorySegment often = rig.filled(DestinationPath.MOST_BOUNCED_BYTES, FILL);
        Region into = reader.own(often);
        for (long bytes = 0; bytes < DestinationPath.WORTH_REGISTERING_BYTES; bytes += often.byteSize()) {
            assertReads(bytes, often, into);
            assertEquals(before, card().registered());
        }
        assertReads(5, often, into);
        assertEquals(before + 1, card().registered());
    }

    @Test
    void shouldServeMoreShortReadsThanTheRingHasPlaces() {
        assertManyShortReads();
    }

    private void assertManyShortReads() {
        List<MemorySegment> places = new ArrayList<>();
        List<Reading> readings = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            MemorySegment to = rig.filled(DestinationPath.MOST_BOUNCED_BYTES, FILL);
            places.add(to);
            readings.add(reader.read(owner, source, i * 1000L, to.byteSize(), reader.own(to)));
        }
        for (int i = 0; i < readings.size(); i++) {
            rig.until(readings.get(i)::ended);
            assertEquals(ReadStatus.OK, readings.get(i).status);
            assertTrue(EngineRig.holdsPattern(places.get(i), 0, places.get(i).byteSize(), i * 1000L));
        }
    }

    /** Lanes break, reads are given up, cards take nothing: no place is lost or used twice, and nothing lands after a read's end. */
    @Test
    void shouldLoseNoPlaceAndLandNothingLateWhateverGoesWrong() {
        Random random = new Random(3);
        rig.network.timing(SimulatedTiming.defaults().withCompleteNs(30_000));
        List<MemorySegment> ended = new ArrayList<>();
        for (int i = 0; i < 600; i++) {
            MemorySegment to = rig.filled(1 + random.nextInt((int) DestinationPath.MOST_BOUNCED_BYTES), FILL);
            Reading reading = reader.read(owner, source, i, to.byteSize(), reader.own(to));
            int at = i;
            reading.onEnd = () -> {
                if (reading.status == ReadStatus.OK) {
                    assertTrue(EngineRig.holdsPattern(to, 0, to.byteSize(), at));
                }
                to.fill((byte) 0x77);
                ended.add(to);
            };
            switch (random.nextInt(6)) {
                case 0 -> card().failNext(WorkStatus.REM_OP_ERR.ordinal());
                case 1 -> card().refusePosts(1);
                case 2 -> {
                    reading.givenUp = true;
                    reader.engine.abort(reading.read);
                }
                default -> rig.cycle();
            }
        }
        rig.until(() -> ended.size() == 600);
        card().failNext(0);
        card().refusePosts(0);
        rig.settle();
        ended.forEach(to -> assertTrue(EngineRig.isFilled(to, (byte) 0x77), "a byte landed after the end"));
        rig.advance(3 * EngineRig.SECOND_NS);
        rig.settle();
        int before = card().registered();
        assertManyShortReads();
        assertEquals(before, card().registered());
    }

    private void restartWithRoomForThreeMib() {
        rig.close();
        RdmaConfig.Limits limits = RdmaConfig.defaults().limits();
        rig = new RdmaRig(4, RdmaRig.config()
                .withLimits(new RdmaConfig.Limits(limits.reads(), limits.peers(), limits.served(),
                        new RdmaConfig.Memory(1L << 30, 0, 3 * MIB))));
        owner = rig.side("owner");
        reader = rig.side("reader");
        source = owner.register(rig.pattern(8 * MIB), Access.READABLE);
    }

    /** However many others want its room: the card would break the lane. */
    @Test
    void shouldNotGiveUpWhatIsBeingReadInto() {
        restartWithRoomForThreeMib();
        rig.network.pace(500_000);
        List<Region> regions = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            regions.add(reader.own(rig.filled(MIB, FILL)));
        }
        for (int round = 0; round < 3; round++) {
            List<Reading> readings = new ArrayList<>();
            for (Region into : regions) {
                readings.add(reader.read(owner, source, 0, MIB, into));
            }
            readings.forEach(reading -> rig.until(reading::ended));
            assertTrue(readings.stream().allMatch(reading -> reading.status == ReadStatus.OK));
        }
        assertEquals(0, reader.count(Counter.LANES_LOST));
    }

    @Test
    void shouldKeepWhatIsRegisteredOnTheFlyWithinItsBound() {
        restartWithRoomForThreeMib();
        List<MemorySegment> places = new ArrayList<>();
        List<Region> regions = new ArrayList<>();
        int least = card().registered();
        for (int i = 0; i < 10; i++) {
            places.add(rig.filled(MIB, FILL));
            regions.add(reader.own(places.getLast()));
        }
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < 10; i++) {
                assertReads(i * 1000L, places.get(i), regions.get(i));
                rig.settle();
                // Three of these, or two and where proofs land.
                assertTrue(card().registered() <= least + 4, card().registered() + " are registered");
            }
        }
        // One that is longer than the bound is read into all the same.
        MemorySegment large = rig.filled(6 * MIB, FILL);
        assertReads(0, large, reader.own(large));
        assertReads(0, places.getFirst(), regions.getFirst());
    }

    /** Whoever frees memory that is read into has its read end, and nobody else's. */
    @Test
    void shouldEndTheReadsWhoseDestinationsWereFreed() {
        MemorySegment warm = rig.filled(64, FILL);
        assertReads(0, warm, reader.own(warm));
        int before = card().registered();
        long lost = reader.count(Counter.LANES_LOST);
        for (int i = 0; i < 100; i++) {
            Region into;
            Reading freed;
            try (Arena arena = Arena.ofShared()) {
                into = reader.own(arena.allocate(4096));
                freed = reader.read(owner, source, 0, 4096, into);
                rig.cycle();
            }
            Reading other = reader.read(owner, source, 0, 64, reader.own(warm));
            rig.until(() -> freed.ended() && other.ended());
            assertEquals(ReadStatus.REFUSED, freed.status);
            assertTrue(freed.cause().getMessage().contains("was freed before its region was closed"));
            assertEquals(ReadStatus.OK, other.status);
            into.close();
        }
        assertEquals(lost, reader.count(Counter.LANES_LOST));
        assertManyShortReads();
        assertEquals(before, card().registered(), "no place is lost");
    }
}
