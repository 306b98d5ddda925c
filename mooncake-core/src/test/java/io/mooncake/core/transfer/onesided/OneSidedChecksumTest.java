package io.mooncake.core.transfer.onesided;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.PageMap;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.core.transfer.UnitChecksums;
import io.mooncake.core.transfer.onesided.FaultyFabric.Fault;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.EngineRig.Guards;
import io.mooncake.testing.EngineRig.Reading;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Blocks with checksums that are read one-sidedly: compared where they have landed. */
@Timeout(120)
final class OneSidedChecksumTest {
    private static final int MIB = 1 << 20;
    private static final long LENGTH = 5 * MIB + 12_345;
    /** Where the block stands in its region, and in the tables. */
    private static final long AT = 4096;
    private static final int SLOT = 3;
    private static final int SLOTS = 16;
    private static final long GUARD = Guards.FIRST;

    private Map<Fault, Double> faults = Map.of();
    private final SimRig rig = new SimRig() {
        @Override
        protected TransferEngine engine(EngineContext context) {
            SimFabric fabric = network.join(context, new FabricLimits(128, 16, 1 << 20));
            return new OneSidedEngine(context, new FaultyFabric(fabric, 1, faults), CONFIG);
        }
    };
    private final EngineRig.Side owner = rig.side("owner");
    private final MemorySegment pool = rig.pattern(AT + LENGTH);
    private final Region source = owner.register(pool, Access.GUARDED);
    private final MemorySegment table = rig.arena().allocate(UnitChecksums.bytes(SLOTS, LENGTH), 64);
    private final UnitChecksums sums = new UnitChecksums(table, SLOTS);
    private EngineRig.Side reader;
    private final MemorySegment to = rig.filled(8L * MIB, EngineRig.FILL);
    private Region into;

    OneSidedChecksumTest() {
        sums.seal(SLOT, AT, pool.asSlice(AT));
        owner.guards.checksums(sums);
        reader = rig.side("reader");
        into = reader.own(to);
    }

    @AfterEach
    void close() {
        rig.close();
    }

    private Reading ask(long from, long length) {
        Reading reading = new Reading();
        reading.read.from(owner.peer(), source.id(), AT + from, length)
                .atBlockOffset(from)
                .guardedBy(SLOT * 64, GUARD)
                .into(into, 0)
                .by(rig.nowNs() + 1000 * EngineRig.SECOND_NS);
        return reading;
    }

    private Reading ended(Reading reading) {
        reader.submit(reading);
        rig.until(reading::ended);
        return reading;
    }

    private void flip(long at) {
        pool.set(ValueLayout.JAVA_BYTE, AT + at, (byte) (pool.get(ValueLayout.JAVA_BYTE, AT + at) ^ 8));
    }

    private static void assertVerified(long bytes, Reading reading) {
        assertEquals(ReadStatus.OK, reading.status);
        assertEquals(bytes, reading.read.verified);
    }

    /** A block on a device must not become WRITTEN without the comparison that was asked for; an engine's own pages are no block. */
    @Test
    void shouldKeepOutOfADevicesPoolWhatNobodyCanCompareThere() {
        rig.network.reachDevices(memory -> to);
        Memory device = new Memory.DeviceMemory(0, 1L << 40, 8L * MIB);
        into = reader.regions.register(device, Access.GUARDED);
        Reading replica = ended(ask(0, LENGTH));
        assertEquals(ReadStatus.REFUSED, replica.status);
        assertEquals(Kind.UNSUPPORTED, replica.cause().kind());
        assertTrue(EngineRig.isFilled(to, EngineRig.FILL), "nothing was posted");
        into = reader.regions.register(device, Access.LOCAL_ONLY);
        assertVerified(0, ended(ask(0, LENGTH)));
    }

    @Test
    void shouldCompareTheUnitsThatARangeCoversWhole() {
        assertVerified(LENGTH, ended(ask(0, LENGTH)));
        assertTrue(EngineRig.holdsPattern(to, 0, LENGTH, AT));
        assertVerified(MIB, ended(ask(100, 2 * MIB)));
        assertVerified(MIB + 12_345, ended(ask(3 * MIB + 1, LENGTH - 3 * MIB - 1)));
        assertVerified(0, ended(ask(100, MIB)));
        assertVerified(0, ended(ask(0, MIB - 1)));
        assertVerified(0, ended(ask(0, 0)));
        assertVerified(12_345, ended(ask(5 * MIB, 12_345)));
    }

    @Test
    void shouldCompareWhatIsScattered() {
        Reading scattered = ask(0, 4 * MIB);
        scattered.read.into(into, new PageMap(0, MIB / 2, MIB / 2, new int[]{7, 1, 0, 2, 5, 4, 3, 6}));
        assertVerified(4 * MIB, ended(scattered));
    }

    @Test
    void shouldTellDamageWhereItIsRead() {
        flip(2 * MIB + 77);
        assertEquals(ReadStatus.CHECKSUM, ended(ask(0, LENGTH)).status);
        assertEquals(ReadStatus.CHECKSUM, ended(ask(2 * MIB, MIB)).status);
        assertVerified(2 * MIB, ended(ask(0, 2 * MIB)));
        flip(2 * MIB + 77);
        assertVerified(LENGTH, ended(ask(0, LENGTH)));
        flip(LENGTH - 1);
        assertEquals(ReadStatus.CHECKSUM, ended(ask(5 * MIB, 12_345)).status);
    }

    /** The slot's next block has other sums: who asks for the former one is late, not wrong. */
    @Test
    void shouldTellAnEvictedBlockFromADamagedOne() {
        assertVerified(LENGTH, ended(ask(0, LENGTH)));
        owner.guards.set(SLOT, GUARD + 2);
        pool.asSlice(AT).fill((byte) 1);
        sums.seal(SLOT, AT, pool.asSlice(AT, 3 * MIB));
        assertEquals(ReadStatus.STALE, ended(ask(0, LENGTH)).status);
    }

    @Test
    void shouldCompareNothingOfABlockWithoutSums() {
        sums.clear(SLOT);
        flip(5);
        assertVerified(0, ended(ask(0, LENGTH)));
    }

    /** Whatever breaks: sums that did not arrive are fetched again as bytes are, and no sound block is called damaged. */
    @Test
    void shouldCompareTheSameWhenLanesBreak() {
        faults = Map.of(Fault.ERROR, 0.03, Fault.PARTIAL, 0.03, Fault.DUPLICATE, 0.1, Fault.REORDER, 0.3);
        reader = rig.side("unlucky");
        into = reader.own(to);
        for (int i = 0; i < 50; i++) {
            to.fill(EngineRig.FILL);
            Reading reading = ended(ask(0, LENGTH));
            if (reading.status != ReadStatus.UNREACHABLE) {
                assertVerified(LENGTH, reading);
                assertTrue(EngineRig.holdsPattern(to, 0, LENGTH, AT));
            }
            rig.advance(EngineRig.SECOND_NS);
        }
    }

    /** Each has a place for the sums as long as it goes on; what was given up gives its place back. */
    @Test
    void shouldServeMoreReadsThanThereArePlaces() {
        for (int round = 0; round < 3; round++) {
            List<Reading> readings = new ArrayList<>();
            for (int i = 0; i < 3 * Verification.PLACES; i++) {
                Reading reading = ask(5 * MIB, 12_345);
                reading.givenUp = false;
                readings.add(reader.submit(reading));
                if (i % 3 == 0) {
                    rig.cycle();
                    reading.givenUp = true;
                    reader.engine.abort(reading.read);
                }
            }
            for (Reading reading : readings) {
                rig.until(reading::ended);
                assertTrue(reading.status == ReadStatus.CANCELED || reading.read.verified == 12_345);
            }
        }
    }
}
