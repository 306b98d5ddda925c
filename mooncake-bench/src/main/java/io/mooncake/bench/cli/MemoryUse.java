package io.mooncake.bench.cli;

import io.mooncake.core.base.ByteSize;
import java.io.IOException;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What the process uses, after a full garbage collection. Immutable.
 *
 * @param heap bytes of live objects
 * @param direct bytes of the JDK's direct buffers
 * @param committed bytes of memory that the heap occupies
 * @param resident bytes of the process in physical memory: pools, heap, code, everything; 0 where the system does not say
 */
record MemoryUse(long heap, long direct, long committed, long resident) {
    private static final Path STATUS = Path.of("/proc/self/status");

    /** Collects garbage and looks. */
    static MemoryUse now() {
        System.gc();
        long direct = 0;
        for (BufferPoolMXBean pool : ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class)) {
            direct += pool.getName().equals("direct") ? pool.getMemoryUsed() : 0;
        }
        MemoryUsage heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
        return new MemoryUse(heap.getUsed(), direct, heap.getCommitted(), readResident());
    }

    /** Bytes in physical memory that are not the heap's: pools, buffers, code, stacks; 0 where the system does not say. */
    long nativeMemory() {
        return Math.max(0, resident - committed);
    }

    private static long readResident() {
        if (!Files.isReadable(STATUS)) {
            return 0;
        }
        try {
            for (String line : Files.readAllLines(STATUS)) {
                if (line.startsWith("VmRSS:")) {
                    return ByteSize.parse("VmRSS", line.substring("VmRSS:".length()));
                }
            }
            return 0;
        } catch (IOException e) {
            return 0; // as where there is no such file: it is a figure for people, the run does not depend on it
        }
    }

    /** For the report. */
    Map<String, Object> toMap() {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("heapBytes", heap);
        map.put("heapCommittedBytes", committed);
        map.put("directBytes", direct);
        map.put("nativeBytes", nativeMemory());
        map.put("residentBytes", resident);
        return map;
    }
}
