package io.mooncake.bench.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * The nodes' file tiers in a replay. Immutable.
 *
 * @param fileBlocks that each node's file keeps
 * @param directory in which each node has one of its own
 * @param restarts whether all processes are killed after each pass but the last, and started again
 */
record ReplayTiers(int fileBlocks, Path directory, boolean restarts) {
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
        return List.of("file.directory=" + own, "file.size=" + slots * stride);
    }
}
