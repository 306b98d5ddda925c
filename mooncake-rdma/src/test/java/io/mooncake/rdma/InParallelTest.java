package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** Slow calls at the same time. */
final class InParallelTest {
    @Test
    void shouldRunTasksAtTheSameTime() {
        Assumptions.assumeTrue(Runtime.getRuntime().availableProcessors() > 1);
        CountDownLatch both = new CountDownLatch(2);
        AtomicInteger met = new AtomicInteger();
        InParallel.run(2, i -> {
            both.countDown();
            try {
                met.addAndGet(both.await(10, TimeUnit.SECONDS) ? 1 : 0);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        assertEquals(2, met.get());
    }

    @Test
    void shouldThrowWhatATaskThrewWhenAllHaveEnded() {
        AtomicInteger ended = new AtomicInteger();
        IllegalArgumentException thrown = assertThrows(IllegalArgumentException.class, () -> InParallel.run(20, i -> {
            ended.incrementAndGet();
            if (i == 7) {
                throw new IllegalArgumentException("seven");
            }
        }));
        assertEquals("seven", thrown.getMessage());
        assertEquals(20, ended.get());
    }
}
