package io.mooncake.core.manager;

import io.mooncake.core.base.Memory;
import io.mooncake.core.block.Tier;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The tiers that a node has, the fastest first. Blocks go from one to the next: whoever is to be further away goes by way of those between. Immutable;
 * any thread; allocates nothing.
 */
public final class Tiers {
    private final Tier[] tiers;
    private final Memory[] memories;

    Tiers(Space[] spaces) {
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
}
