package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.rdma.rig.Perftest;
import io.mooncake.rdma.rig.RdmaDevices;
import io.mooncake.testing.EngineRig;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Reads by the engine, from the first device to the last one, against perftest in the same machine, in turn. The bounds that are
 * asserted leave room for a busy host; what was measured is printed. Both nodes' pollers share the test's one thread, and a read without a
 * guard is two READs one after the other: the second proves the first.
 */
@Tag("rdma")
@Tag("full")
@Timeout(900)
class RdmaRatioTest {

    private static final long MIB = 1 << 20;
    private static final long BYTES = 64 * MIB;

    private EngineRig rig;
    private EngineRig.Side reader;
    private EngineRig.Side owner;
    private Region plain;
    private Region guarded;
    private Region into;
    private MemorySegment from;
    private MemorySegment to;
    private Perftest perftest;

    @BeforeEach
    void connect() {
        RdmaDevices.assumeSoftRoce();
        perftest = Perftest.ofThisMachine();
        rig = new DeviceRig(node -> RdmaConfig.defaults()
                .withRegistrar(RdmaConfig.Registrar.POLLER)
                .withDevices(new RdmaConfig.Devices(
                        List.of(node.name().equals("owner") ? perftest.owner().device() : perftest.reader().device()),
                        1,
                        null)));
        owner = rig.side("owner");
        reader = rig.side("reader");
        from = rig.pattern(BYTES);
        plain = owner.register(from, Access.READABLE);
        guarded = owner.register(from, Access.GUARDED);
        to = rig.filled(BYTES, EngineRig.FILL);
        into = reader.own(to);
    }

    @AfterEach
    void close() {
        if (rig != null) {
            rig.close();
        }
    }

    private double read(long bytes, boolean isGuarded) {
        long begunNs = System.nanoTime();
        EngineRig.Reading reading = isGuarded
                ? reader.readGuarded(owner, guarded, bytes, EngineRig.Guards.FIRST, into)
                : reader.read(owner, plain, 0, bytes, into);
        while (!reading.ended()) {
            rig.cycle();
        }
        double seconds = (System.nanoTime() - begunNs) / 1e9;
        assertEquals(ReadStatus.OK, reading.status);
        return seconds;
    }

    private double medianMicros(long bytes, int reads) {
        double[] micros = new double[reads];
        for (int i = 0; i < reads; i++) {
            micros[i] = read(bytes, false) * 1e6;
        }
        return Perftest.median(micros);
    }

    private double bandwidth(boolean isGuarded) {
        return BYTES / (double) MIB / read(BYTES, isGuarded);
    }

    @Test
    void shouldReadLargeBlocksAsFastAsPerftest() throws Exception {
        bandwidth(true);
        assertEquals(-1, from.mismatch(to), "every byte arrived");
        double ratio = Perftest.ratio("engine, 64 MiB, MiB/s against ib_read_bw", () -> bandwidth(false),
                () -> perftest.bandwidth(64));
        double guard = Perftest.ratio("engine, 64 MiB, guarded against unguarded", () -> bandwidth(true),
                () -> bandwidth(false));
        assertTrue(ratio > 0.7, () -> "of perftest's bandwidth: " + ratio);
        assertTrue(guard > 0.8, () -> "of an unguarded read's bandwidth: " + guard);
    }

    @Test
    void shouldReadSmallOnesSoon() throws Exception {
        medianMicros(64, 2_000);
        double small = Perftest.ratio("engine, 64 B latency, us against ib_read_lat", () -> medianMicros(64, 2_000),
                () -> perftest.latency(64, 2_000));
        double large = Perftest.ratio("engine, 1 MiB latency, us against ib_read_lat", () -> medianMicros(MIB, 60),
                () -> perftest.latency((int) MIB, 60));
        assertTrue(small < 15, () -> "64 B, of perftest's latency: " + small);
        assertTrue(large < 1.5, () -> "1 MiB, of perftest's latency: " + large);
    }
}
