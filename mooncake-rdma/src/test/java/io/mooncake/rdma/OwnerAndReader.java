package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.rdma.sim.SimulatedDevice;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.EngineRig.Reading;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.AfterEach;

/** Two nodes over simulated cards, one of which reads from the other. When it is closed nothing may be left on the cards. */
abstract class OwnerAndReader {
    static final byte FILL = EngineRig.FILL;

    RdmaRig rig = new RdmaRig();
    EngineRig.Side owner = rig.side("owner");
    EngineRig.Side reader = rig.side("reader");

    @AfterEach
    void close() {
        rig.close();
    }

    /** Both anew, in another rig. */
    final void restart(RdmaRig newRig) {
        rig.close();
        rig = newRig;
        owner = rig.side("owner");
        reader = rig.side("reader");
    }

    final SimulatedDevice card(EngineRig.Side side) {
        return rig.host(side.id.name()).cards().getFirst();
    }

    final Reading ended(Reading reading) {
        rig.until(reading::ended);
        assertEquals(1, reading.ends);
        return reading;
    }

    /** A read that must bring every byte. */
    final void assertReads(Region source) {
        MemorySegment to = rig.filled(source.length(), FILL);
        Region into = reader.own(to);
        Reading reading = ended(reader.read(owner, source, 0, source.length(), into));
        assertEquals(ReadStatus.OK, reading.status, () -> reading.cause().getMessage());
        assertTrue(EngineRig.holdsPattern(to, 0, to.byteSize(), 0));
        into.close();
    }
}
