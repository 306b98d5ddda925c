package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.rdma.rig.RdmaDevices;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.EngineRig.Reading;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Case C101: however much is asked for at once, no more is outstanding than the queues hold. */
@Timeout(300)
final class C101_CompletionQueueTest {
    private static final int READS = 1000;
    private static final int THREADS = 8;
    private static final int BYTES = 4096;
    private static final int DEPTH = 16;

    private static RdmaConfig config() {
        return RdmaConfig.defaults()
                .withRegistrar(RdmaConfig.Registrar.POLLER)
                .withWindow(new RdmaConfig.Window(4, 1 << 20, 4 << 20, DEPTH, DEPTH));
    }

    private static void readFromManyThreads(EngineRig rig) throws InterruptedException {
        EngineRig.Side owner = rig.side("owner");
        EngineRig.Side reader = rig.side("reader");
        Region source = owner.register(rig.pattern(BYTES), Access.READABLE);
        MemorySegment to = rig.filled((long) READS * BYTES, EngineRig.FILL);
        Region into = reader.own(to);
        List<Reading> readings = new ArrayList<>();
        for (int i = 0; i < READS; i++) {
            Reading reading = new Reading();
            reading.read.from(owner.peer(), source.id(), 0, BYTES)
                    .into(into, (long) i * BYTES)
                    .by(rig.nowNs() + 1000 * EngineRig.SECOND_NS);
            readings.add(reading);
        }
        CountDownLatch go = new CountDownLatch(1);
        AtomicInteger next = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            threads.add(Thread.ofPlatform().start(() -> {
                try {
                    go.await();
                } catch (InterruptedException e) {
                    return;
                }
                for (int j; (j = next.getAndIncrement()) < READS;) {
                    GuardedRead read = readings.get(j).read;
                    while (!reader.engine.submit(read)) {
                        Thread.onSpinWait();
                    }
                }
            }));
        }
        go.countDown();
        rig.until(() -> readings.stream().allMatch(Reading::ended));
        for (Thread thread : threads) {
            thread.join();
        }
        for (int i = 0; i < READS; i++) {
            assertEquals(ReadStatus.OK, readings.get(i).status);
            assertTrue(EngineRig.holdsPattern(to, (long) i * BYTES, BYTES, 0), "read " + i);
        }
        assertEquals(0, reader.count(Counter.LANES_LOST), "nothing was refused and no queue overflowed");
    }

    @Test
    void shouldNeverHaveMoreOutstandingThanTheQueueHolds() throws InterruptedException {
        try (RdmaRig rig = new RdmaRig(1, config())) {
            readFromManyThreads(rig);
            // An overflow of the simulated queue fails the test itself.
            assertTrue(rig.host("reader").cards().getFirst().highestOccupancyPercent() <= 100);
        }
    }

    @Test
    @Tag("rdma")
    void shouldNeverHaveMoreOutstandingThanADevicesQueueHolds() throws InterruptedException {
        RdmaDevices.assume();
        try (DeviceRig rig = new DeviceRig(config())) {
            readFromManyThreads(rig);
        }
    }
}
