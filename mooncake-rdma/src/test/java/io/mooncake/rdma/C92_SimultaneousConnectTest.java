package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.rdma.rig.RdmaDevices;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.EngineRig.Reading;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Case C92: two nodes that first read from each other at the same moment. Neither's lanes are in the way of the other's. */
@Timeout(300)
final class C92_SimultaneousConnectTest {
    private static final int BYTES = 65_536;
    private static final int PAIRS = 500;
    private static final int DEVICE_PAIRS = 20;
    private static final int LANES = 2;

    private static RdmaConfig config() {
        return RdmaConfig.defaults()
                .withRegistrar(RdmaConfig.Registrar.POLLER)
                .withWindow(new RdmaConfig.Window(LANES, 1 << 20, 4 << 20, 16, 64));
    }

    private static void readFromEachOther(EngineRig rig, int pair) {
        EngineRig.Side one = rig.side("one" + pair);
        EngineRig.Side other = rig.side("other" + pair);
        Region ofOne = one.register(rig.pattern(BYTES), Access.READABLE);
        Region ofOther = other.register(rig.pattern(BYTES), Access.READABLE);
        MemorySegment toOne = rig.filled(BYTES, EngineRig.FILL);
        MemorySegment toOther = rig.filled(BYTES, EngineRig.FILL);
        long begunNs = rig.nowNs();
        Reading reading = one.read(other, ofOther, 0, BYTES, one.own(toOne));
        Reading back = other.read(one, ofOne, 0, BYTES, other.own(toOther));
        rig.until(() -> reading.ended() && back.ended());
        long tookMs = (rig.nowNs() - begunNs) / 1_000_000;
        assertEquals(ReadStatus.OK, reading.status, () -> "pair " + pair + ": " + reading.cause().getMessage());
        assertEquals(ReadStatus.OK, back.status, () -> "pair " + pair + ": " + back.cause().getMessage());
        assertEquals(-1, toOne.mismatch(toOther));
        assertTrue(EngineRig.holdsPattern(toOne, 0, BYTES, 0));
        assertTrue(tookMs <= 2_000, () -> "pair " + pair + " took " + tookMs + " ms");
        for (EngineRig.Side side : new EngineRig.Side[]{one, other}) {
            assertEquals(0, side.count(Counter.LANES_LOST), "no ready one was reset");
            assertTrue(side.count(Counter.LANES_OPENED) <= LANES);
        }
    }

    @Test
    void shouldConnectBothWaysAtOnce() {
        for (int pair = 0; pair < PAIRS; pair++) {
            try (RdmaRig rig = new RdmaRig(pair, config())) {
                readFromEachOther(rig, pair);
            }
        }
    }

    @Test
    @Tag("rdma")
    void shouldConnectBothWaysAtOnceOverADevice() {
        RdmaDevices.assume();
        for (int pair = 0; pair < DEVICE_PAIRS; pair++) {
            try (DeviceRig rig = new DeviceRig(config())) {
                readFromEachOther(rig, pair);
            }
        }
    }
}
