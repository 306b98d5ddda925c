package io.mooncake.rdma;

import io.mooncake.core.base.ByteSize;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * How much memory this process may lock, which is what registering does. Who has CAP_IPC_LOCK (root) has no limit.
 *
 * @param limitBytes the soft limit; Long.MAX_VALUE for none
 */
record MemoryLock(long limitBytes) {
    private static final Path LIMITS = Path.of("/proc/self/limits");
    private static final Path STATUS = Path.of("/proc/self/status");
    private static final String NAME = "Max locked memory";
    private static final int CAP_IPC_LOCK = 14;
    static final String REMEDY = "raise it (ulimit -l unlimited, LimitMEMLOCK=infinity in the service's unit, "
            + "--ulimit memlock=-1 for a container), or register less";

    /** What holds for this process; no limit where the kernel does not tell. */
    static MemoryLock read() {
        try {
            return parse(Files.readAllLines(LIMITS), Files.readAllLines(STATUS));
        } catch (IOException unreadable) {
            return new MemoryLock(Long.MAX_VALUE);
        }
    }

    static MemoryLock parse(List<String> limits, List<String> status) {
        for (String line : status) {
            if (line.startsWith("CapEff:")
                    && (Long.parseUnsignedLong(line.substring(7).strip(), 16) >>> CAP_IPC_LOCK & 1) != 0) {
                return new MemoryLock(Long.MAX_VALUE);
            }
        }
        for (String line : limits) {
            if (line.startsWith(NAME)) {
                String soft = line.substring(NAME.length()).strip().split("\\s+", 2)[0];
                return new MemoryLock(soft.equals("unlimited") ? Long.MAX_VALUE : Long.parseLong(soft));
            }
        }
        return new MemoryLock(Long.MAX_VALUE);
    }

    /** Refuses beforehand what registering would refuse, in words that say what to do. */
    void check(long bytes) {
        if (bytes > limitBytes) {
            throw new MooncakeException(Kind.CONFIG_ERROR,
                    "the node's regions have " + ByteSize.format(bytes) + ", and this process may lock "
                            + ByteSize.format(limitBytes) + " of memory: " + REMEDY);
        }
    }

    /** For the message of a registration that failed; empty where no limit can be the cause. */
    static String hint() {
        MemoryLock lock = read();
        return lock.limitBytes == Long.MAX_VALUE
                ? ""
                : " (this process may lock " + ByteSize.format(lock.limitBytes) + ")";
    }
}
