package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class MemoryUseTest {
    @Test
    void shouldTakeTheHeapFromWhatTheJvmHasCommitted() {
        String summary = """
                Native Memory Tracking:

                Total: reserved=7790412, committed=1000
                       malloc: 12 #1

                -                 Java Heap (reserved=6172672, committed=300)
                                            (mmap: reserved=6172672, committed=300, at peak)
                -                     Class (reserved=1048813, committed=50)
                """;
        assertEquals(700, MemoryUse.committedBesidesHeap(summary));
        assertEquals(MemoryUse.UNKNOWN, MemoryUse.committedBesidesHeap("Native memory tracking is not enabled"));
    }

    @Test
    void shouldLeaveOutWhatIsUnknown() {
        MemoryUse unknown = new MemoryUse(5, 6, MemoryUse.UNKNOWN, MemoryUse.UNKNOWN);
        assertNull(unknown.toMap().get("nativeBytes"));
        assertNull(unknown.toMap().get("residentBytes"));
    }

    @Test
    void shouldSeeThisProcess() {
        assertTrue(MemoryUse.now().heap() > 0);
    }
}
