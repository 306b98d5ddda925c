package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.onesided.OneSidedConfig;
import io.mooncake.rdma.sim.SimulatedTiming;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.EngineRig.Reading;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Reads that were given up while the card has work of theirs: how long their memory stays theirs, and what that costs. */
@Timeout(120)
final class GivenUpReadTest {
    private static final byte FILL = EngineRig.FILL;
    private static final byte REFILL = 0x77;
    private static final long BYTES = 24L << 20;

    private final RdmaRig rig = new RdmaRig();
    private final EngineRig.Side owner = rig.side("owner");
    private final EngineRig.Side reader = rig.side("reader");
    private final OneSidedConfig.Times times = RdmaTransferEngine.machine(rig.config).times();
    private final MemorySegment to = rig.filled(BYTES, FILL);
    private final Region source = owner.register(rig.pattern(BYTES), Access.READABLE);
    private final Region into = reader.own(to);

    @BeforeEach
    void connect() {
        assertReads();
    }

    @AfterEach
    void close() {
        rig.close();
    }

    private void assertReads() {
        to.fill(FILL);
        Reading reading = reader.read(owner, source, 0, BYTES, into);
        rig.until(reading::ended);
        assertEquals(ReadStatus.OK, reading.status);
        assertTrue(EngineRig.holdsPattern(to, 0, BYTES, 0));
    }

    /** Submits a read, gives it up when its first bytes are there, and says how long it took to end. */
    private long giveUp() {
        to.fill(FILL);
        Reading reading = reader.read(owner, source, 0, BYTES, into);
        reading.onEnd = () -> to.fill(REFILL);
        rig.until(() -> !EngineRig.isFilled(to.asSlice(0, 4096), FILL));
        reading.givenUp = true;
        reader.engine.abort(reading.read);
        long begunNs = rig.nowNs();
        rig.until(reading::ended);
        assertEquals(1, reading.ends);
        assertEquals(ReadStatus.CANCELED, reading.status);
        return rig.nowNs() - begunNs;
    }

    private void assertNothingLandsAnyMore() {
        rig.advance(10 * EngineRig.SECOND_NS);
        rig.settle();
        assertTrue(EngineRig.isFilled(to, REFILL), "a byte landed after the end");
    }

    /** What is on the wire takes six times the bound, and comes: no lane is torn down for it. */
    @Test
    void shouldLetASlowPeerBringWhatIsOutstanding() {
        rig.network.pace(20_000_000);
        long lost = reader.count(Counter.LANES_LOST);
        long tookNs = giveUp();
        assertTrue(tookNs > 2 * times.drainNs(), () -> "only " + tookNs + " ns were outstanding");
        assertEquals(lost, reader.count(Counter.LANES_LOST));
        assertNothingLandsAnyMore();
        assertReads();
        assertEquals(lost, reader.count(Counter.LANES_LOST));
    }

    /** However slow: memory that was given up is not the read's for ever. */
    @Test
    void shouldNotWaitForeverForAPeerThatBringsAChunkNowAndThen() {
        RdmaConfig config = RdmaRig.config().withWindow(new RdmaConfig.Window(4, 1 << 20, 16 << 20, 16, 128));
        try (RdmaRig slow = new RdmaRig(9, config)) {
            slow.network.pace(times.drainNs() * 4 / 5);
            EngineRig.Side from = slow.side("owner");
            EngineRig.Side here = slow.side("reader");
            long bytes = 64L << 20;
            MemorySegment memory = slow.filled(bytes, FILL);
            Reading reading = here.read(from, from.register(slow.filled(bytes, REFILL), Access.READABLE), 0, bytes,
                    here.own(memory));
            slow.until(() -> !EngineRig.isFilled(memory.asSlice(0, 4096), FILL));
            reading.givenUp = true;
            here.engine.abort(reading.read);
            long begunNs = slow.nowNs();
            slow.until(reading::ended);
            long tookNs = slow.nowNs() - begunNs;
            assertTrue(tookNs <= times.endBoundNs() + 1_000_000, () -> tookNs + " ns late");
            assertTrue(tookNs > times.stallNs(), () -> "the lanes were broken after " + tookNs + " ns");
        }
    }

    /** Requests that do not complete in time: the lane is broken, then destroyed, and only then the memory is given back. */
    @ParameterizedTest
    @ValueSource(longs = {20_000, 3_000_000_000L})
    void shouldBreakTheLanesOfAPeerThatBringsNothingAnyMore(long flushNs) {
        rig.network.timing(new SimulatedTiming(10_000, 1_000_000_000, 3_000_000_000L, 4, flushNs, 50));
        long lost = reader.count(Counter.LANES_LOST);
        long tookNs = giveUp();
        assertTrue(tookNs <= times.silentEndBoundNs() + 1_000_000, () -> tookNs + " ns late");
        assertTrue(reader.count(Counter.LANES_LOST) > lost);
        assertNothingLandsAnyMore();
        rig.network.timing(SimulatedTiming.defaults());
        assertReads();
    }
}
