package io.mooncake.bench.cli;

import io.mooncake.core.base.ByteSize;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What a process that is to be killed does. Immutable.
 *
 * @param directory of its file tier
 * @param blocks how many it writes, again and again
 * @param blockBytes of the longest
 * @param writers threads that write
 */
record CrashSettings(Path directory, int blocks, long blockBytes, int writers) {
    private static final int ARGS = 4;
    private static final int MAX_BLOCKS = 10_000;
    private static final int PAGE = 4096;

    /**
     * Checks the numbers.
     *
     * @throws BadInputException naming option, value and bounds
     */
    CrashSettings {
        ReplayOptions.within("--writers", writers, 1, 64);
        ReplayOptions.within("--blocks", blocks, writers, MAX_BLOCKS);
        if (blockBytes < Content.MIN_BYTES || blockBytes > 1L << 30) {
            throw new BadInputException("--block-size = " + ByteSize.format(blockBytes) + " must be "
                    + Content.MIN_BYTES + "B to 1GiB");
        }
    }

    /** Fewer than it writes, so that some go down by themselves. */
    long memorySlots() {
        return 2L * writers + 2;
    }

    /** So many slots that no block leaves unless it is replaced or evicted: a quarter to spare, and some for those on their way. */
    long fileBytes() {
        return (blocks + blocks / 4 + 2L * writers + 2) * ((blockBytes + PAGE - 1) / PAGE * PAGE);
    }

    /** For the command line of the process. */
    List<String> toArgs() {
        return List.of(directory.toString(), Integer.toString(blocks), Long.toString(blockBytes),
                Integer.toString(writers));
    }

    /** What {@link #toArgs} wrote, whatever follows it. */
    static CrashSettings ofArgs(List<String> args) {
        List<String> own = args.subList(0, ARGS);
        return new CrashSettings(Path.of(own.get(0)), Integer.parseInt(own.get(1)), Long.parseLong(own.get(2)),
                Integer.parseInt(own.get(3)));
    }

    /** For the report. */
    Map<String, Object> toMap() {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("blocks", blocks);
        map.put("blockBytes", blockBytes);
        map.put("writers", writers);
        map.put("memorySlots", memorySlots());
        map.put("fileBytes", fileBytes());
        return map;
    }
}
