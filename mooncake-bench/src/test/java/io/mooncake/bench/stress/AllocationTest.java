package io.mooncake.bench.stress;

import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Transfer;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;

/** A transfer that is submitted again, and polled when it is done, allocates nothing. */
class AllocationTest {
    private static final int WARM_UP = 50_000;
    private static final int CYCLES = 100_000;

    private final Lone lone = new Lone();
    private final Transfer transfer = lone.submitted(1);

    @Test
    void submittingAgainAndPollingAllocateNothing() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        cycle(WARM_UP);
        long before = threads.getCurrentThreadAllocatedBytes();
        cycle(CYCLES);
        long bytes = threads.getCurrentThreadAllocatedBytes() - before;
        assertTrue(bytes < CYCLES / 2, () -> bytes + " bytes in " + CYCLES + " cycles");
    }

    private void cycle(int times) {
        for (int i = 0; i < times; i++) {
            transfer.end(0, Outcome.OK, null);
            assertSame(transfer, lone.queue.poll());
            transfer.submit();
        }
    }
}
