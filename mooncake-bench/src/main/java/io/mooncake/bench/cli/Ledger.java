package io.mooncake.bench.cli;

import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.Version;
import java.util.HashMap;
import java.util.Map;

/**
 * Which writing each version of each block was made of, as the bench did it: what makes bytes of an old version wrong in a newer one.
 * One thread.
 *
 * <p>It remembers, for each block, the version that each node got last, by writing or by pulling; no node has an older one. So it stops
 * growing when every block of the trace was seen.
 *
 * <pre>
 *   a block's row, for each node    counter | writer | writing        writing 0 = that node never got the block
 * </pre>
 */
final class Ledger {
    /** Not a writing: the bench never wrote that version. */
    static final long UNKNOWN = 0;

    private static final int FIELDS = 3;
    private static final int WRITER = 1;
    private static final int WRITING = 2;

    private final int nodes;
    private final Map<BlockId, long[]> rows = new HashMap<>();
    private long writings;

    Ledger(int nodes) {
        this.nodes = nodes;
    }

    /** The number of the next write, of any block: 1 and up. */
    long nextWriting() {
        return ++writings;
    }

    /**
     * A node has got a version, by writing or by pulling it.
     *
     * @param node its index
     * @param id the block
     * @param version as it was committed
     * @param writing what it consists of
     */
    void has(int node, BlockId id, Version version, long writing) {
        long[] row = rows.computeIfAbsent(id, _ -> new long[nodes * FIELDS]);
        int at = node * FIELDS;
        row[at] = version.counter();
        row[at + WRITER] = version.writer();
        row[at + WRITING] = writing;
    }

    /**
     * What a version must consist of.
     *
     * @param id the block
     * @param version what a reader found
     * @return the writing, or {@link #UNKNOWN}
     */
    long writing(BlockId id, Version version) {
        long[] row = rows.get(id);
        for (int at = 0; row != null && at < row.length; at += FIELDS) {
            if (row[at] == version.counter() && row[at + WRITER] == version.writer()) {
                return row[at + WRITING];
            }
        }
        return UNKNOWN;
    }
}
