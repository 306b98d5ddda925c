package io.mooncake.bench.cli;

import com.sun.management.OperatingSystemMXBean;
import io.mooncake.core.base.ByteSize;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/**
 * How much memory is free. Immutable.
 *
 * <p>That is the smaller of the kernel's MemAvailable and what is left under the control groups' limits, of version 2 or 1, of the
 * process's own group and of every group above it. Inactive page cache does not count as used: the kernel takes it back first. Where
 * there is no Linux, it is what the JVM says.
 *
 * @param bytes free
 * @param source what said so
 */
record FreeMemory(long bytes, String source) {
    /** Where a version of control groups keeps its numbers. */
    private record Group(String limit, String usage, String reclaimable) {}

    private static final Group V2 = new Group("memory.max", "memory.current", "inactive_file");
    private static final Group V1 = new Group("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file");
    private static final long NONE = Long.MAX_VALUE;

    /**
     * Reads it from the system.
     *
     * @param root {@code /}, or a tree that looks like it
     * @return the smallest of what was found
     * @throws IOException when the system does not say
     */
    static FreeMemory read(Path root) throws IOException {
        Path meminfo = root.resolve("proc/meminfo");
        if (!Files.exists(meminfo)) {
            OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
            return new FreeMemory(system.getFreeMemorySize(), "as the JVM sees it, without " + meminfo);
        }
        long available = field(meminfo, "MemAvailable:", -1);
        if (available < 0) {
            throw new IOException(meminfo + " has no MemAvailable");
        }
        FreeMemory free = new FreeMemory(available * 1024, "MemAvailable");
        Path groups = root.resolve("proc/self/cgroup");
        for (String line : Files.exists(groups) ? Files.readAllLines(groups) : List.<String>of()) {
            String[] parts = line.split(":", 3); // number : controllers : path
            if (parts.length == 3 && parts[0].equals("0") && parts[1].isEmpty()) {
                free = smallest(free, V2, root.resolve("sys/fs/cgroup"), parts[2]);
            } else if (parts.length == 3 && Arrays.asList(parts[1].split(",")).contains("memory")) {
                free = smallest(free, V1, root.resolve("sys/fs/cgroup/memory"), parts[2]);
            }
        }
        return free;
    }

    /**
     * Refuses a run that does not fit.
     *
     * @param needed bytes that it takes
     * @param options what to lower
     * @throws BadInputException with the arithmetic
     */
    void check(long needed, String options) {
        long allowed = bytes / 100 * ReplayOptions.MEMORY_SHARE;
        if (needed > allowed) {
            throw new BadInputException("about " + ByteSize.rounded((double) needed) + " are needed, more than "
                    + ReplayOptions.MEMORY_SHARE + " % of the " + ByteSize.rounded((double) bytes) + " free (" + source
                    + ") = " + ByteSize.rounded((double) allowed) + ": lower " + options);
        }
    }

    private static FreeMemory smallest(FreeMemory soFar, Group files, Path mount, String path) throws IOException {
        FreeMemory smallest = soFar;
        // In a container the path may be the host's, of which only the mount itself is there.
        Path group = mount.resolve(path.replaceFirst("^/+", "")).normalize();
        for (; group != null && group.startsWith(mount); group = group.getParent()) {
            long limit = number(group.resolve(files.limit), NONE);
            long usage = number(group.resolve(files.usage), NONE);
            if (limit != NONE && usage != NONE) {
                long used = Math.max(0, usage - field(group.resolve("memory.stat"), files.reclaimable, 0));
                long left = Math.max(0, limit - used);
                if (left < smallest.bytes) {
                    smallest = new FreeMemory(left, "the cgroup's limit less its usage");
                }
            }
        }
        return smallest;
    }

    private static long number(Path file, long otherwise) throws IOException {
        if (!Files.isReadable(file)) {
            return otherwise;
        }
        String text = Files.readString(file).strip();
        return text.matches("\\d{1,18}") ? Long.parseLong(text) : otherwise; // "max", and what passes any memory
    }

    private static long field(Path file, String name, long otherwise) throws IOException {
        if (!Files.isReadable(file)) {
            return otherwise;
        }
        for (String line : Files.readAllLines(file)) {
            String[] words = line.strip().split("\\s+", 3);
            if (words.length >= 2 && words[0].equals(name) && words[1].matches("\\d{1,18}")) {
                return Long.parseLong(words[1]);
            }
        }
        return otherwise;
    }
}
