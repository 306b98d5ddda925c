package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What the kernel says of the memory that may be locked. */
final class MemoryLockTest {
    private static final List<String> LIMITS = List.of(
            "Limit                     Soft Limit           Hard Limit  Units",
            "Max processes             95884                95884                processes",
            "Max locked memory         8388608              unlimited            bytes");
    private static final List<String> USER = List.of("Name:\tjava", "CapEff:\t0000000000000000");
    private static final List<String> ROOT = List.of("Name:\tjava", "CapEff:\t000001ffffffffff");

    @Test
    void shouldTakeTheSoftLimitOfAUser() {
        assertEquals(8 << 20, MemoryLock.parse(LIMITS, USER).limitBytes());
    }

    @Test
    void shouldHaveNoLimitForWhomTheKernelHasNone() {
        assertEquals(Long.MAX_VALUE, MemoryLock.parse(LIMITS, ROOT).limitBytes());
        assertEquals(Long.MAX_VALUE, MemoryLock
                .parse(List.of("Max locked memory         unlimited            unlimited            bytes"), USER)
                .limitBytes());
        assertEquals(Long.MAX_VALUE, MemoryLock.parse(List.of(), List.of()).limitBytes());
    }

    @Test
    void shouldSayBeforehandWhatToDo() {
        MemoryLock lock = new MemoryLock(8 << 20);
        assertDoesNotThrow(() -> lock.check(8 << 20));
        MooncakeException refused = assertThrows(MooncakeException.class, () -> lock.check((8 << 20) + 1));
        assertEquals(Kind.CONFIG_ERROR, refused.kind());
        assertTrue(refused.getMessage().contains("ulimit -l"), refused.getMessage());
    }
}
