package io.mooncake.bench.cases;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.bench.cli.Child;
import io.mooncake.core.base.Endpoint;
import io.mooncake.testing.FreePorts;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A node whose cluster refuses every connection looks for it without burning processor time. */
@Timeout(120)
class C42_NobodyThereTest {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final long IDLE_S = 6;
    /** It compiles at first, and takes longer for the same where others take the caches. */
    private static final int MOST_TIMES = 5;
    private static final double MOST_SHARE = 5.0 / 60;

    @Test
    void shouldLookForTheOthersWithoutBurningTheProcessor() throws IOException, InterruptedException {
        List<Endpoint> free = FreePorts.of("127.0.0.1", 3);
        try (Child child = Child.start(List.of("-Xmx128m"), ClusterProgram.class,
                List.of("alone", "x", "1", "cluster.discovery=" + free.get(1) + "," + free.get(2),
                        "cluster.bind=" + free.get(0), "sharedMemory=off"))) {
            assertTrue(Objects.toString(child.readLine(LIMIT)).startsWith("alone#"), "it did not start");
            // What is measured is what it takes over a time, so that has to pass.
            double share = 1;
            long beforeNs = child.cpuNs();
            for (int i = 0; i < MOST_TIMES && share >= MOST_SHARE; i++) {
                beforeNs = child.cpuNs();
                pass(IDLE_S);
                share = (child.cpuNs() - beforeNs) / 1e9 / IDLE_S;
            }
            assertTrue(beforeNs > 0, "the system says what it takes");
            assertTrue(share < MOST_SHARE, "it takes " + share + " of a processor");
        }
    }

    private static void pass(long seconds) throws InterruptedException {
        assertFalse(new CountDownLatch(1).await(seconds, TimeUnit.SECONDS));
    }
}
