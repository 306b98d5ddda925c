package io.mooncake.bench.stress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.mooncake.rdma.PostedReads;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;

/** Posting RDMA READs and polling their completions allocates nothing. */
final class PostedReadsTest {
    private static final int BATCH = 16;
    private static final int ROUNDS = 20_000;

    @Test
    void shouldAllocateNothingForARead() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        try (PostedReads reads = new PostedReads(BATCH)) {
            for (int i = 0; i < ROUNDS; i++) {
                reads.round(BATCH);
            }
            long before = threads.getCurrentThreadAllocatedBytes();
            for (int i = 0; i < ROUNDS; i++) {
                reads.round(BATCH);
            }
            double bytes = (double) (threads.getCurrentThreadAllocatedBytes() - before) / ROUNDS / BATCH;
            assertTrue(bytes < 0.5, bytes + " bytes a READ");
            assertEquals(2L * ROUNDS * BATCH + BATCH, reads.round(BATCH));
        }
    }
}
