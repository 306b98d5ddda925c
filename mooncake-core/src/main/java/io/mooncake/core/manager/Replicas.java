package io.mooncake.core.manager;

import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.NextUse;
import io.mooncake.core.block.Tier;
import org.jspecify.annotations.Nullable;

/**
 * Copies in host memory of blocks that other nodes have, too, and how long they stay. The conductor's. A copy is named by any reference to its
 * version, of whichever node.
 */
public final class Replicas {
    private final SlotTable table;
    private final Evictor evictor;

    Replicas(SlotTable table, Evictor evictor) {
        this.table = table;
        this.evictor = evictor;
    }

    private @Nullable Entry entry(BlockRef ref) {
        Entry top = table.blocks.named(ref);
        return top == null ? null : top.in(Tier.DRAM);
    }

    /**
     * When a copy was used last.
     *
     * @param ref of its version
     * @param otherwise what it is of one that is not here
     * @return on the node's clock
     */
    public long lastUse(BlockRef ref, long otherwise) {
        Entry entry = entry(ref);
        return entry == null ? otherwise : table.words.lastUse(entry.slot);
    }

    /**
     * Lets a copy go before all others when room is needed, or no more so. What was foretold of its use otherwise stands.
     *
     * @param ref of its version
     * @param cold whether nobody uses it
     */
    public void setCold(BlockRef ref, boolean cold) {
        Entry entry = entry(ref);
        if (entry != null && table.words.foretoldInstead(entry.slot, cold ? NextUse.UNKNOWN : NextUse.NEVER,
                cold ? NextUse.NEVER : NextUse.UNKNOWN)) {
            evictor.changed(entry.slot);
        }
    }

    /**
     * Evicts a copy now, as if a policy said so.
     *
     * @param ref of its version
     * @return false when it is not here, or in use
     */
    public boolean letGo(BlockRef ref) {
        Entry entry = entry(ref);
        return entry != null && evictor.isFree(entry.slot) && evictor.evictNow(entry);
    }
}
