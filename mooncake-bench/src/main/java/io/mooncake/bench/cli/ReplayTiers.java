package io.mooncake.bench.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The nodes' tiers below and above their host memory in a replay. Immutable.
 *
 * @param fileBlocks that each node's file keeps
 * @param directory in which each node has one of its own
 * @param vram above host memory; null = none
 * @param restarts whether all processes are killed after each pass but the last, and started again
 */
record ReplayTiers(int fileBlocks, Path directory, @Nullable ReplayVram vram, boolean restarts) {
    private static final int PAGE = 4096;
    /** A file keeps one slot of so many free, and at least one. */
    private static final int SPARE_SHARE = 63;

    /** A node's settings, {@code key=value} each; its directory is there from then on. */
    List<String> settings(int index, long blockSize) {
        Path own = directory.resolve("node-" + index);
        try {
            Files.createDirectories(own);
        } catch (IOException e) {
            throw new BadInputException("cannot make " + own + " for a node's file: " + e, e);
        }
        long slots = fileBlocks + (long) fileBlocks / SPARE_SHARE + 1;
        long stride = Math.max(blockSize, (blockSize + PAGE - 1) / PAGE * PAGE);
        List<String> settings = new ArrayList<>(List.of("file.directory=" + own, "file.size=" + slots * stride));
        settings.addAll(vram == null ? List.of() : vram.settings());
        return settings;
    }

    /** Slots of host memory that stand in for a device's. */
    int hostVramSlots() {
        return vram == null || vram.kind() != ReplayVram.Kind.DRAM ? 0 : vram.slots();
    }

    /** What the JVM of a process with such a node needs. */
    List<String> jvmFlags() {
        return vram == null ? List.of() : vram.jvmFlags();
    }
}
