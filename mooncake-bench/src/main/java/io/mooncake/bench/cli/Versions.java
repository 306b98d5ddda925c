package io.mooncake.bench.cli;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Compares what processes read with what processes wrote: which writing each version of each block is made of. Both are reported in any
 * order, since a block can be read before its writer's request has ended; so it remembers all versions. One thread.
 */
final class Versions {
    private final Map<BlockVersion, Long> written = new HashMap<>();
    private final List<Read> early = new ArrayList<>();
    private final ReplayStats stats;

    /**
     * A version of a block of the trace.
     *
     * @param hashId the block
     * @param counter of the version
     * @param writer of the version
     */
    record BlockVersion(long hashId, long counter, long writer) {}

    private record Read(BlockVersion version, long writing, String by) {}

    Versions(ReplayStats stats) {
        this.stats = stats;
    }

    /**
     * A version was committed.
     *
     * @param version which
     * @param writing what it consists of
     */
    void written(BlockVersion version, long writing) {
        Long before = written.put(version, writing);
        if (before != null) {
            stats.verificationError("block trace/" + version.hashId + " was written twice as " + version);
        }
    }

    /**
     * A version was read, and is to the byte one writing of its block.
     *
     * @param version which
     * @param writing which one
     * @param by who read it
     */
    void read(BlockVersion version, long writing, String by) {
        Long known = written.get(version);
        if (known == null) {
            early.add(new Read(version, writing, by));
        } else if (known != writing) {
            stats.verificationError("block trace/" + version.hashId + ", read by " + by + ": " + version
                    + " was made of writing " + known + ", and has the bytes of " + writing);
        }
    }

    /** Everything was reported: what has been read must have been written. */
    void settle() {
        List<Read> unsettled = List.copyOf(early);
        early.clear();
        unsettled.forEach(read -> read(read.version, read.writing, read.by));
        early.forEach(read -> stats.verificationError("block trace/" + read.version.hashId + ", read by " + read.by
                + ": nobody wrote " + read.version));
        early.clear();
    }
}
