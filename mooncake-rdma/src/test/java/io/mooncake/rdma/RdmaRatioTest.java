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
import java.util.ArrayList;
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
    private static final int WARM_UP = 40_000;

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
        to = rig.filled(2 * BYTES, EngineRig.FILL);
        into = reader.own(to);
        // Until the code is compiled, which takes long where the processor is emulated.
        medianMicros(64, WARM_UP);
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
        await(reading);
        return (System.nanoTime() - begunNs) / 1e9;
    }

    private void await(EngineRig.Reading reading) {
        while (!reading.ended()) {
            rig.cycle();
        }
        assertEquals(ReadStatus.OK, reading.status);
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

    /** MiB/s of so many reads in all, each into its own part of the destination, so many of them in flight all the time, as perftest keeps its own. */
    private double streamed(long bytes, int reads, int inFlight) {
        long begunNs = System.nanoTime();
        List<EngineRig.Reading> seats = new ArrayList<>();
        for (int i = 0; i < reads; i++) {
            if (i < inFlight) {
                seats.add(new EngineRig.Reading());
            } else {
                // They end in the order in which they were asked for.
                await(seats.get(i % inFlight));
                seats.set(i % inFlight, new EngineRig.Reading());
            }
            EngineRig.Reading reading = seats.get(i % inFlight);
            reading.read.from(owner.peer(), plain.id(), 0, bytes)
                    .into(into, i % inFlight * bytes)
                    .by(rig.nowNs() + 60 * EngineRig.SECOND_NS);
            reader.submit(reading);
        }
        seats.forEach(this::await);
        return bytes * reads / (double) MIB / ((System.nanoTime() - begunNs) / 1e9);
    }

    @Test
    void shouldReadLargeBlocksAsFastAsPerftest() throws Exception {
        bandwidth(true);
        assertEquals(-1, from.mismatch(to.asSlice(0, BYTES)), "every byte arrived");
        streamed(BYTES, 2, 2);
        assertEquals(-1, from.mismatch(to.asSlice(BYTES)), "every byte arrived, of the second, too");
        double ratio = Perftest.ratio("engine, 64 MiB, two in flight, MiB/s against ib_read_bw",
                () -> streamed(BYTES, 4, 2), () -> perftest.bandwidth(256));
        double guard = Perftest.ratio("engine, 64 MiB, guarded against unguarded", () -> bandwidth(true),
                () -> bandwidth(false));
        assertTrue(ratio > 0.7, () -> "of perftest's bandwidth: " + ratio);
        assertTrue(guard > 0.8, () -> "of an unguarded read's bandwidth: " + guard);
    }

    @Test
    void shouldReadManyOfOneMebibyteAsFastAsPerftest() throws Exception {
        streamed(MIB, 64, 16);
        double ratio = Perftest.ratio("engine, 1 MiB, 16 in flight, MiB/s against ib_read_bw",
                () -> streamed(MIB, 256, 16), () -> perftest.bandwidth(256));
        assertTrue(ratio > 0.7, () -> "of perftest's bandwidth: " + ratio);
    }

    @Test
    void shouldReadSmallOnesSoon() throws Exception {
        double small = Perftest.ratio("engine, 64 B latency, us against ib_read_lat", () -> medianMicros(64, 2_000),
                () -> perftest.latency(64, 2_000));
        double large = Perftest.ratio("engine, 1 MiB latency, us against ib_read_lat", () -> medianMicros(MIB, 60),
                () -> perftest.latency((int) MIB, 60));
        assertTrue(small < 15, () -> "64 B, of perftest's latency: " + small);
        assertTrue(large < 1.5, () -> "1 MiB, of perftest's latency: " + large);
    }
}
