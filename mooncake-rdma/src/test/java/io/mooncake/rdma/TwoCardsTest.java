package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.rdma.sim.SimulatedDevice;
import io.mooncake.testing.EngineRig;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What is registered with several cards is given back by all of them. */
class TwoCardsTest {

    private static final long BYTES = 1 << 20;

    @Test
    void shouldForgetARegionOnEveryCardWhenItIsClosed() {
        try (RdmaRig rig = new RdmaRig()) {
            SimulatedDevice second = rig.host("owner").addDevice("sim1", 0x0A4D_0101);
            EngineRig.Side owner = rig.side(new NodeId("owner", 1000));
            EngineRig.Side reader = rig.side(new NodeId("reader", 1000));
            Region source = owner.register(rig.pattern(BYTES), Access.READABLE);
            MemorySegment to = rig.filled(BYTES, EngineRig.FILL);
            Region into = reader.own(to);
            // Over the one card, then over the other, which is another registration.
            read(rig, reader, owner, source, into);
            rig.host("owner").cards().getFirst().portDown();
            rig.settle();
            read(rig, reader, owner, source, into);
            assertEquals(1, second.registered());
            assertEquals(2, source.uses(), "once a card");
            source.close();
            assertEquals(0, source.uses());
            assertEquals(0, second.registered());
        }
    }

    @Test
    void shouldUseTheCardBesideThePoolAndTheOtherWhenThatIsLost() {
        try (RdmaRig rig = new RdmaRig()) {
            MemorySegment pool = rig.pattern(8 * BYTES);
            int node = NumaMaps.read().nodeOf(List.of(Memory.of(pool)));
            assumeTrue(node >= 0, "the kernel does not say where memory lies");
            rig.host("reader").cards().getFirst().numaNode("" + (node + 1));
            rig.host("reader").addDevice("sim1", 0x0A4D_0051).numaNode("" + node);
            rig.poolOf("reader", pool);
            EngineRig.Side owner = rig.side(new NodeId("owner", 1000));
            EngineRig.Side reader = rig.side(new NodeId("reader", 1000));
            SimulatedDevice far = rig.host("reader").cards().getFirst();
            SimulatedDevice beside = rig.host("reader").cards().getLast();
            int farBefore = far.registered();
            Region source = owner.register(rig.pattern(BYTES), Access.READABLE);
            Region into = reader.own(rig.filled(BYTES, EngineRig.FILL));
            read(rig, reader, owner, source, into);
            assertEquals(farBefore, far.registered(), "nothing was to land by it");
            beside.portDown();
            rig.settle();
            read(rig, reader, owner, source, into);
            assertTrue(far.registered() > farBefore);
        }
    }

    private static void read(RdmaRig rig, EngineRig.Side reader, EngineRig.Side owner, Region source, Region into) {
        EngineRig.Reading reading = reader.read(owner, source, 0, BYTES, into);
        rig.until(reading::ended);
        assertEquals(ReadStatus.OK, reading.status);
    }
}
