package io.mooncake.bench.cli;

import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.Version;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Which writing each version of each block was made of, as the bench did it: what makes bytes of an old version wrong in a newer one.
 * One thread.
 *
 * <p>It remembers, for each block, the version that each node got last, by writing or by pulling; no node has an older one. So it stops
 * growing when every block of the trace was seen.
 */
final class Ledger {
    private record Entry(Version version, long writing) {}

    private final int nodes;
    private final Map<BlockId, @Nullable Entry[]> entries = new HashMap<>();
    private long writings;

    Ledger(int nodes) {
        this.nodes = nodes;
    }

    /** The number of the next write, of any block. */
    long nextWriting() {
        return ++writings;
    }

    /**
     * A node has committed a write.
     *
     * @param node its index
     * @param id the block
     * @param version as it was committed
     * @param writing what was written
     */
    void written(int node, BlockId id, Version version, long writing) {
        put(node, id, new Entry(version, writing));
    }

    /**
     * A node has pulled a block.
     *
     * @param node its index
     * @param id the block
     * @param version what it got
     */
    void pulled(int node, BlockId id, Version version) {
        Entry entry = find(id, version);
        if (entry != null) {
            put(node, id, entry);
        }
    }

    /**
     * What a version must consist of.
     *
     * @param id the block
     * @param version what a reader found
     * @return the writing, or -1 when the bench never wrote that version
     */
    long writing(BlockId id, Version version) {
        Entry entry = find(id, version);
        return entry == null ? -1 : entry.writing;
    }

    private void put(int node, BlockId id, Entry entry) {
        entries.computeIfAbsent(id, _ -> new @Nullable Entry[nodes])[node] = entry;
    }

    private @Nullable Entry find(BlockId id, Version version) {
        @Nullable Entry[] known = entries.get(id);
        for (int i = 0; known != null && i < known.length; i++) {
            Entry entry = known[i];
            if (entry != null && entry.version.equals(version)) {
                return entry;
            }
        }
        return null;
    }
}
