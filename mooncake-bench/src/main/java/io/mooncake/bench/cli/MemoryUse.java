package io.mooncake.bench.cli;

import io.mooncake.core.base.ByteSize;
import java.io.IOException;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.management.JMException;
import javax.management.ObjectName;

/**
 * What a process uses, or several together, after a full garbage collection. Immutable.
 *
 * @param heap bytes of live objects
 * @param direct bytes of the JDK's direct buffers
 * @param nativeMemory bytes that the JVM has committed besides the heap, pools included, as its native memory tracking counts them
 *     ({@code java -XX:NativeMemoryTracking=summary}); {@link #UNKNOWN} where that is off
 * @param resident bytes of the process in physical memory, the heap's unused pages included; {@link #UNKNOWN} where the system does not
 *     say
 */
record MemoryUse(long heap, long direct, long nativeMemory, long resident) {
    /** Not to be had here. */
    static final long UNKNOWN = -1;

    private static final Path STATUS = Path.of("/proc/self/status");
    private static final Pattern COMMITTED = Pattern.compile("(Total:|Java Heap \\().*?committed=(\\d+)");
    private static final long SETTLE_NS = TimeUnit.MILLISECONDS.toNanos(200);
    private static final int SETTLE_AT_MOST = 10;

    /** Collects garbage and looks. */
    static MemoryUse now() {
        System.gc();
        long direct = 0;
        for (BufferPoolMXBean pool : ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class)) {
            direct += pool.getName().equals("direct") ? pool.getMemoryUsed() : 0;
        }
        long heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
        return new MemoryUse(heap, direct, committedBesidesHeap(), settledResident());
    }

    private static long committedBesidesHeap() {
        try {
            Object summary = ManagementFactory.getPlatformMBeanServer()
                    .invoke(new ObjectName("com.sun.management:type=DiagnosticCommand"), "vmNativeMemory",
                            new Object[]{new String[]{"summary", "scale=b"}}, new String[]{String[].class.getName()});
            return committedBesidesHeap(String.valueOf(summary));
        } catch (JMException e) {
            return UNKNOWN; // another JVM than HotSpot: a figure for people, the run does not depend on it
        }
    }

    /** What a summary of native memory tracking says: all less the heap. */
    static long committedBesidesHeap(String summary) {
        long total = UNKNOWN;
        long heap = UNKNOWN;
        for (Matcher matcher = COMMITTED.matcher(summary); matcher.find();) {
            long bytes = Long.parseLong(matcher.group(2));
            if (matcher.group(1).equals("Total:")) {
                total = bytes;
            } else {
                heap = bytes;
            }
        }
        return total == UNKNOWN || heap == UNKNOWN ? UNKNOWN : total - heap;
    }

    /** The collector gives pages back in the background: looks again until that has ended. */
    private static long settledResident() {
        long resident = resident(STATUS);
        for (int i = 0; i < SETTLE_AT_MOST; i++) {
            LockSupport.parkNanos(SETTLE_NS);
            long now = resident(STATUS);
            if (now >= resident) {
                return now;
            }
            resident = now;
        }
        return resident;
    }

    private static long resident(Path status) {
        if (!Files.isReadable(status)) {
            return UNKNOWN;
        }
        try {
            for (String line : Files.readAllLines(status)) {
                if (line.startsWith("VmRSS:")) {
                    return ByteSize.parse("VmRSS", line.substring("VmRSS:".length()));
                }
            }
            return UNKNOWN;
        } catch (IOException e) {
            return UNKNOWN; // as where there is no such file
        }
    }

    /** What two processes use together. */
    MemoryUse plus(MemoryUse other) {
        return new MemoryUse(heap + other.heap, direct + other.direct, sum(nativeMemory, other.nativeMemory),
                sum(resident, other.resident));
    }

    private static long sum(long one, long other) {
        return one == UNKNOWN || other == UNKNOWN ? UNKNOWN : one + other;
    }

    /** For the report; null for what is unknown. */
    Map<String, Object> toMap() {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("heapBytes", heap);
        map.put("directBytes", direct);
        map.put("nativeBytes", nativeMemory == UNKNOWN ? null : nativeMemory);
        map.put("residentBytes", resident == UNKNOWN ? null : resident);
        return map;
    }
}
