package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.rdma.sim.SimulatedDevice;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.EngineRig.Reading;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

/** Case C06: a region larger than a card's {@code max_mr_size} is published whole, or not at all. */
final class C06_RegionLargerThanTheCardTakesTest {
    private static final long MIB = 1 << 20;
    private static final int ENOMEM = 12;

    /** Twice what parts overlap by. */
    private static final long LARGEST = 2 * MIB;

    private final RdmaRig rig = new RdmaRig();
    private final SimulatedDevice card = smallCardOf("owner");
    private final EngineRig.Side owner = rig.side("owner");
    private final EngineRig.Side reader = rig.side("reader");
    private final int before = card.registered();

    private SimulatedDevice smallCardOf(String node) {
        SimulatedDevice small = rig.host(node).cards().getFirst();
        small.largestRegistration(LARGEST);
        return small;
    }

    private void assertReads(Region source, long offset) {
        MemorySegment to = rig.filled(4096, EngineRig.FILL);
        Region into = reader.own(to);
        Reading reading = reader.read(owner, source, offset, 4096, into);
        rig.until(reading::ended);
        assertEquals(ReadStatus.OK, reading.status, () -> reading.cause().getMessage());
        assertTrue(EngineRig.holdsPattern(to, 0, 4096, offset));
    }

    @Test
    void shouldReadEverywhereInIt() {
        try (rig) {
            Region source = owner.register(rig.pattern(3 * MIB), Access.READABLE);
            assertReads(source, MIB + MIB / 2);
            assertReads(source, MIB - 2048);
            assertReads(source, 3 * MIB - 4096);
            // A MiB apart, since each part overlaps the next one by the longest request.
            assertEquals(before + 3, card.registered());
            source.close();
            assertEquals(before, card.registered(), "each part is given back");
        }
    }

    @Test
    void shouldPublishNothingWhenOnePartIsRefused() {
        try (rig) {
            Region source = owner.register(rig.pattern(3 * MIB), Access.READABLE);
            card.failRegistrations(2, ENOMEM);
            MemorySegment to = rig.filled(4096, EngineRig.FILL);
            Reading reading = reader.read(owner, source, 0, 4096, reader.own(to));
            rig.until(reading::ended);
            assertEquals(ReadStatus.REFUSED, reading.status);
            assertEquals(Kind.OUT_OF_MEMORY, reading.cause().kind());
            assertTrue(EngineRig.isFilled(to, EngineRig.FILL));
            assertEquals(before, card.registered(), "the parts that were there are given back");
        }
    }

    @Test
    void shouldFailTheStartWhenAPartOfAPoolIsRefused() {
        try (rig) {
            SimulatedDevice another = smallCardOf("third");
            another.failRegistrations(2, ENOMEM);
            rig.poolOf("third", rig.pattern(3 * MIB));
            MooncakeException refused = assertThrows(MooncakeException.class, () -> rig.side("third"));
            assertEquals(Kind.OUT_OF_MEMORY, refused.kind());
            assertEquals(0, another.registered());
        }
    }
}
