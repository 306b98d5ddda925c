package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.rdma.rig.Perftest;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.EngineRig.Reading;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * What the engine itself takes of a small read, from submit to its end, with all duty cycles in between: over simulated cards that do
 * everything at once, so that nothing else takes time. An upper bound: the owner's engine runs in the same thread.
 */
@Timeout(120)
final class OwnShareTest {
    private static final int BYTES = 64;
    private static final int WARM_UP = 30_000;
    private static final int READS = 10_000;
    private static final double MOST_MICROS = 15;

    @Test
    void shouldTakeFewMicrosecondsOfASmallRead() {
        try (RdmaRig rig = new RdmaRig()) {
            rig.host("owner").useFloor();
            rig.host("reader").useFloor();
            EngineRig.Side owner = rig.side("owner");
            EngineRig.Side reader = rig.side("reader");
            Region source = owner.register(rig.pattern(4096), Access.READABLE);
            Region into = reader.own(rig.filled(4096, EngineRig.FILL));
            Reading reading = new Reading();
            reading.read.from(owner.peer(), source.id(), 0, BYTES).into(into, 0).by(Long.MAX_VALUE);
            double[] micros = new double[READS];
            for (int i = -WARM_UP; i < READS; i++) {
                long begunNs = System.nanoTime();
                reader.submit(reading);
                while (!reading.ended()) {
                    rig.cycle();
                }
                micros[Math.floorMod(i, READS)] = (System.nanoTime() - begunNs) / 1e3;
                assertEquals(ReadStatus.OK, reading.status);
            }
            double median = Perftest.median(micros);
            System.out.printf(Locale.ROOT, "[share] a read of %d B over cards that take no time: median %.2f us%n",
                    BYTES,
                    median);
            assertTrue(median < MOST_MICROS, () -> "a small read takes " + median + " us of the engine's own");
        }
    }
}
