package io.mooncake.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.cuda.CudaRig.Place;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.EngineRig.Reading;
import io.mooncake.testing.Source;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Reads that are given up at any moment, every way that copies go, also while calls fail: each ends once, no pin is left, and no byte lands after
 * its end. A read that did not bring its bytes has its destination handed on in the very call that ends it, so that a late byte is seen.
 */
class CopyCancelTest {
    private static final int REFILL = 0x77;
    private static final long BYTES = 256 << 10;
    private static final int READS = 4;
    private static final int SEED = 7;
    /** Duty cycles before a cancel, as a power of two: as many are in the first ten as in the last thousand. */
    private static final int MOST_DOUBLINGS = 13;
    private static final int OUT_OF_MEMORY = 2;
    private static final long NEVER = -1;

    /** Where the bytes come from and go to. */
    enum Way {
        DOWN(Place.DEVICE_0, Place.PINNED), DOWN_BY_A_BUFFER(Place.DEVICE_0, Place.HOST), UP(Place.PINNED,
                Place.DEVICE_1), UP_BY_A_BUFFER(Place.HOST, Place.DEVICE_1), ACROSS(Place.DEVICE_0,
                        Place.DEVICE_1), ACROSS_BY_A_BUFFER(Place.DEVICE_0, Place.DEVICE_1);

        private final Place from;
        private final Place to;

        Way(Place from, Place to) {
            this.from = from;
            this.to = to;
        }
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    @Timeout(120)
    void shouldSurviveCancelsAtAnyMoment(Way way) {
        cancels(way, 600, false);
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    @Timeout(120)
    void shouldSurviveCancelsWhileCallsFail(Way way) {
        cancels(way, 600, true);
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    @Tag("full")
    @Timeout(1200)
    void shouldSurvive20000CancelsAtAnyMoment(Way way) {
        cancels(way, 20_000, false);
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    @Tag("full")
    @Timeout(1200)
    void shouldSurvive20000CancelsWhileCallsFail(Way way) {
        cancels(way, 20_000, true);
    }

    private static void cancels(Way way, int count, boolean failing) {
        EmulatedCuda.reset(2);
        EmulatedCuda.delay(20, 4000);
        EmulatedCuda.strict();
        if (way == Way.ACROSS_BY_A_BUFFER) {
            EmulatedCuda.noPeer(0, 1);
        }
        Tally tally = new Tally();
        SplittableRandom random = new SplittableRandom(SEED);
        try (CudaRig rig = new CudaRig(way.from, way.to,
                CudaConfig.defaults().withChunks(16 << 10, 4).withPeerProbe(false))) {
            EngineRig.Side node = rig.side("node");
            Source source = rig.guarded(node, BYTES);
            List<MemorySegment> places = new ArrayList<>();
            List<Region> regions = new ArrayList<>();
            for (int i = 0; i < READS; i++) {
                places.add(rig.filled(BYTES, EngineRig.FILL));
                regions.add(node.own(places.get(i)));
            }
            for (int round = 0; tally.reads < count; round++) {
                List<Reading> readings = new ArrayList<>();
                for (int i = 0; i < READS; i++) {
                    readings.add(begun(node, source, regions.get(i), places.get(i)));
                }
                if (failing) {
                    EmulatedCuda.failCall(random.nextInt(100), OUT_OF_MEMORY);
                }
                for (int i = 0; i < READS; i++) {
                    // One a round has no time at all, whatever the machine is doing.
                    int most = 1 << random.nextInt(MOST_DOUBLINGS);
                    for (int cycles = i == 0 ? 0 : random.nextInt(most); cycles > 0; cycles--) {
                        rig.cycle();
                    }
                    readings.get(i).givenUp = true;
                    node.engine.abort(readings.get(i).read);
                }
                rig.until(() -> readings.stream().allMatch(Reading::ended));
                for (int i = 0; i < READS; i++) {
                    tally.look(readings.get(i), places.get(i), failing, "seed " + SEED + ", round " + round);
                }
                assertEquals(0, node.guards.pinned());
            }
            EmulatedCuda.failCall(NEVER, 0);
        }
        assertTrue(tally.canceled >= count / READS, tally::toString);
        System.out.println(way + (failing ? " while calls fail: " : ": ") + tally);
    }

    private static Reading begun(EngineRig.Side node, Source source, Region into, MemorySegment place) {
        place.fill(EngineRig.FILL);
        Reading reading = node.read(source, 0, BYTES, into);
        reading.onEnd = () -> {
            if (reading.status != ReadStatus.OK) {
                place.fill((byte) REFILL);
            }
        };
        return reading;
    }

    /** What became of the reads. */
    private static final class Tally {
        private int reads;
        private int canceled;
        private int refused;

        void look(Reading reading, MemorySegment place, boolean failing, String when) {
            reads++;
            assertEquals(1, reading.ends, when);
            if (reading.status == ReadStatus.OK) {
                assertTrue(EngineRig.holdsPattern(place, 0, BYTES, 0), when);
                return;
            }
            assertTrue(EngineRig.isFilled(place, (byte) REFILL), "a byte landed after the end: " + when);
            if (reading.status == ReadStatus.CANCELED) {
                canceled++;
            } else {
                assertEquals(ReadStatus.REFUSED, reading.status, when);
                assertTrue(failing, when);
                refused++;
            }
        }

        @Override
        public String toString() {
            return reads + " reads, " + canceled + " canceled in time, " + refused + " refused for a call that failed";
        }
    }
}
