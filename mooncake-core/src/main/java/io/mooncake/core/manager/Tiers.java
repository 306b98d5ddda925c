package io.mooncake.core.manager;

import io.mooncake.core.base.Memory;
import io.mooncake.core.block.FreeRanges;
import io.mooncake.core.block.Tier;
import io.mooncake.core.pool.BlockPool;
import io.mooncake.core.pool.RangeBook;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The tiers that a node has, the fastest first, and what room each has at the moment. Blocks go from one to the next: whoever is to be further away goes
 * by way of those between. Any thread; allocates nothing but what it answers with.
 */
public final class Tiers {
    private final Space[] spaces;
    private final Tier[] tiers;
    private final Memory[] memories;

    Tiers(Space[] spaces) {
        this.spaces = spaces;
        Space[] sorted = Arrays.stream(spaces)
                .sorted((a, b) -> a.pool().tier().compareTo(b.pool().tier()))
                .toArray(Space[]::new);
        tiers = new Tier[sorted.length];
        memories = new Memory[sorted.length];
        Arrays.setAll(tiers, i -> sorted[i].pool().tier());
        Arrays.setAll(memories, i -> sorted[i].pool().memory());
    }

    /**
     * Whether there is one.
     *
     * @param tier which
     * @return whether a pool of the node is in it
     */
    public boolean has(Tier tier) {
        return memory(tier) != null;
    }

    /**
     * The memory of a tier.
     *
     * @param tier which
     * @return of its first pool; null when the node has no such tier
     */
    public @Nullable Memory memory(Tier tier) {
        for (int i = 0; i < tiers.length; i++) {
            if (tiers[i] == tier) {
                return memories[i];
            }
        }
        return null;
    }

    /**
     * The next slower tier.
     *
     * @param tier of the node
     * @return null for the slowest
     */
    public @Nullable Tier below(Tier tier) {
        for (Tier other : tiers) {
            if (other.compareTo(tier) > 0) {
                return other;
            }
        }
        return null;
    }

    /**
     * Where a copy comes next on its way from one tier to another.
     *
     * @param from of the node
     * @param to of the node, another
     * @return the neighbour of from
     */
    public Tier step(Tier from, Tier to) {
        Tier next = to;
        for (Tier other : tiers) {
            boolean between = to.compareTo(from) > 0
                    ? other.compareTo(from) > 0 && other.compareTo(next) < 0
                    : other.compareTo(from) < 0 && other.compareTo(next) > 0;
            next = between ? other : next;
        }
        return next;
    }

    // ---- room

    /** How the slots of a tier's pools are shared out: sums, exact when there is one pool. */
    BlockPool.Usage usage(Tier tier) {
        int used = 0;
        int quarantined = 0;
        int free = 0;
        for (Space space : spaces) {
            if (space.pool().tier() == tier) {
                BlockPool.Usage usage = space.pool().usage();
                used += usage.used();
                quarantined += usage.quarantined();
                free += usage.free();
            }
        }
        return new BlockPool.Usage(used, quarantined, free);
    }

    /** How what is free in a tier's pools of ranges lies. */
    FreeRanges freeRanges(Tier tier, boolean needsScratch) {
        long free = 0;
        long longest = 0;
        for (Space space : spaces) {
            RangeBook ranges = space.pool().tier() == tier ? space.pool().ranges() : null;
            free += ranges == null ? 0 : ranges.freeBytes();
            longest = ranges == null ? longest : Math.max(longest, ranges.longestFreeBytes());
        }
        return new FreeRanges(free, longest, needsScratch);
    }

    /** Of the longest block that a tier can have. */
    long largestSlotBytes(Tier tier) {
        long largest = 0;
        for (Space space : spaces) {
            largest = space.pool().tier() == tier ? Math.max(largest, space.pool().largestSlotBytes()) : largest;
        }
        return largest;
    }
}
