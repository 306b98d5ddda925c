package io.mooncake.rdma.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.rdma.rig.Perftest;
import io.mooncake.rdma.rig.RdmaDevices;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * READs by the facade against perftest in the same machine, in turn; the figure is the median of each round's ratio. The bounds that
 * are asserted leave room for a busy host; what was measured is printed.
 */
@Tag("rdma")
@Tag("full")
@Timeout(900)
class PerftestRatioTest {

    private static final int MIB = 1 << 20;
    private static final long BYTES = 64L * MIB;
    private static final int WINDOW = 16;
    private static final int CHAIN = 8;
    private static final int DEPTH = 64;

    private final WorkRequestRing ring = new WorkRequestRing(CHAIN);
    private DeviceEnd reader;
    private DeviceEnd owner;
    private Perftest perftest;

    @BeforeEach
    void connect() {
        RdmaDevices.assumeSoftRoce();
        List<Device> devices = Device.list(new NativeProvider());
        reader = new DeviceEnd(devices.getFirst(), BYTES, DEPTH, Access.LOCAL_WRITE);
        owner = new DeviceEnd(devices.getLast(), BYTES, DEPTH, Access.REMOTE_READ);
        for (long at = 0; at < BYTES; at += Long.BYTES) {
            owner.memory.set(ValueLayout.JAVA_LONG, at, LoopBack.pattern(at));
        }
        reader.connect(owner);
        owner.connect(reader);
        perftest = Perftest.ofThisMachine();
    }

    @AfterEach
    void close() {
        if (reader != null) {
            reader.close();
            owner.close();
        }
        ring.close();
    }

    private void fill(long cookie, long offset, int bytes, boolean signaled) {
        ring.read(cookie, signaled)
                .remote(owner.region.address() + offset, owner.region.remoteKey())
                .local(reader.region.address() + offset, bytes, reader.region.localKey());
    }

    private void post() {
        int filled = ring.filled();
        assertEquals(filled, reader.queuePair.post(ring));
    }

    /** Reads all of the memory in chunks of 1 MiB, chains of 8 with one completion each, 16 chunks outstanding; MiB/s. */
    private double bandwidth() {
        int chunks = (int) (BYTES / MIB);
        int posted = 0;
        int ended = 0;
        long begunNs = System.nanoTime();
        while (ended < chunks) {
            while (posted < chunks && posted - ended <= WINDOW - CHAIN) {
                for (int i = 0; i < CHAIN; i++, posted++) {
                    fill(posted, (long) posted * MIB, MIB, i == CHAIN - 1);
                }
                post();
            }
            int taken = reader.queue.poll(CompletionQueue.BATCH);
            for (int i = 0; i < taken; i++) {
                assertTrue(reader.queue.completion(i).isSuccess(), reader.queue.completion(i)::toString);
                ended += CHAIN;
            }
        }
        return chunks / ((System.nanoTime() - begunNs) / 1e9);
    }

    /** READs that wait for one another; median microseconds in all, and of the part before posting. */
    private double[] latency(int bytes, int iterations) {
        double[] all = new double[iterations];
        double[] own = new double[iterations];
        for (int i = 0; i < iterations; i++) {
            long begunNs = System.nanoTime();
            fill(i, 0, bytes, true);
            long filledNs = System.nanoTime();
            post();
            // Without a pause, as perftest does: the emulator makes much of that instruction.
            int taken;
            do {
                taken = reader.queue.poll(1);
            } while (taken == 0);
            all[i] = (System.nanoTime() - begunNs) / 1e3;
            own[i] = (filledNs - begunNs) / 1e3;
            assertEquals(i, reader.queue.completion(0).cookie());
            assertTrue(reader.queue.completion(0).isSuccess());
        }
        return new double[]{Perftest.median(all), Perftest.median(own)};
    }

    @Test
    void shouldReadAsFastAsPerftest() throws Exception {
        reader.memory.fill((byte) 0);
        bandwidth();
        assertEquals(-1, owner.memory.mismatch(reader.memory), "every byte arrived");
        double ratio = Perftest.ratio("64 MiB in READs of 1 MiB, MiB/s", this::bandwidth, () -> perftest.bandwidth(64));
        assertTrue(ratio > 0.8, () -> "of perftest's bandwidth: " + ratio);
    }

    @Test
    void shouldAnswerAsSoonAsPerftest() throws Exception {
        latency(64, 3_000);
        List<Double> own = new ArrayList<>();
        double small = Perftest.ratio("64 B latency, us", () -> {
            double[] medians = latency(64, 2_000);
            own.add(medians[1]);
            return medians[0];
        }, () -> perftest.latency(64, 2_000));
        System.out.printf(Locale.ROOT, "[ratio] of that filling a request and looking at the clock: median %.1f us%n",
                Perftest.median(own.stream().mapToDouble(Double::doubleValue).toArray()));
        double large = Perftest.ratio("1 MiB latency, us", () -> latency(MIB, 60)[0], () -> perftest.latency(MIB, 60));
        assertTrue(small < 3, () -> "64 B, of perftest's latency: " + small);
        assertTrue(large < 1.3, () -> "1 MiB, of perftest's latency: " + large);
    }
}
