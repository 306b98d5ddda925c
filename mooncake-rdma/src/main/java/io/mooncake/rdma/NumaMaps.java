package io.mooncake.rdma;

import io.mooncake.core.base.Memory;
import io.mooncake.rdma.verbs.Device;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * On which NUMA node memory lies, by what the kernel says of this process ({@code man 5 numa_maps}). Only what was touched lies anywhere.
 *
 * @param lines of {@code /proc/self/numa_maps}; none where the kernel has no such file
 */
record NumaMaps(List<String> lines) {
    private static final Path FILE = Path.of("/proc/self/numa_maps");
    private static final String PAGE = "kernelpagesize_kB=";

    /** As of now. */
    static NumaMaps read() {
        try {
            return new NumaMaps(Files.readAllLines(FILE));
        } catch (IOException unreadable) {
            return new NumaMaps(List.of());
        }
    }

    /**
     * The node that has more than half of some memory.
     *
     * @return {@link Device#NO_NUMA_NODE} where no node has, or nothing is known
     */
    int nodeOf(List<Memory> memories) {
        TreeMap<Long, String> mappings = new TreeMap<>();
        for (String line : lines) {
            int end = line.indexOf(' ');
            if (end > 0) {
                mappings.put(Long.parseUnsignedLong(line, 0, end, 16), line);
            }
        }
        Map<Integer, Long> kibibytes = new HashMap<>();
        for (Memory memory : memories) {
            // A mapping begins where its line says, and ends before the next one; the first may begin before the memory.
            Long first = mappings.floorKey(memory.address());
            long from = first == null ? memory.address() : first;
            mappings.subMap(from, memory.address() + memory.length()).values().forEach(line -> add(line, kibibytes));
        }
        long all = kibibytes.values().stream().mapToLong(Long::longValue).sum();
        return kibibytes.entrySet()
                .stream()
                .filter(node -> 2 * node.getValue() > all)
                .mapToInt(Map.Entry::getKey)
                .findAny()
                .orElse(Device.NO_NUMA_NODE);
    }

    /** A line is {@code address policy name=value ...}, of which {@code N0=17} says that node 0 has 17 pages. */
    private static void add(String line, Map<Integer, Long> kibibytes) {
        String[] words = line.split(" ", -1);
        long page = 4;
        for (String word : words) {
            if (word.startsWith(PAGE)) {
                page = Long.parseLong(word.substring(PAGE.length()));
            }
        }
        for (String word : words) {
            if (word.matches("N\\d+=\\d+")) {
                int equals = word.indexOf('=');
                kibibytes.merge(Integer.parseInt(word, 1, equals, 10),
                        page * Long.parseLong(word.substring(equals + 1)), Long::sum);
            }
        }
    }
}
