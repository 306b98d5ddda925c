package io.mooncake.core;

import io.mooncake.core.base.PageMap;
import io.mooncake.core.block.Tier;
import io.mooncake.core.transfer.Region;

/** Where a piece's bytes go. Immutable. */
public sealed interface Destination {
    /**
     * One place in registered memory of the caller's.
     *
     * @param region registered with this node
     * @param offset first byte in it
     */
    record At(Region region, long offset) implements Destination {}

    /**
     * Scattered pages of registered memory of the caller's.
     *
     * @param region registered with this node
     * @param pages at least as long as the piece
     */
    record Pages(Region region, PageMap pages) implements Destination {}

    /**
     * This node's own pool of a tier: the whole block becomes a replica there, and in the tiers on the way. In VRAM and DRAM it is to be had by
     * {@code acquire} when the piece is OK; in SLOW, where only what is in this node's memory goes, it is durable then.
     *
     * @param tier of the node
     * @param only whether it leaves the faster tiers then, as soon as nobody has it pinned there
     */
    record Replica(Tier tier, boolean only) implements Destination {}

    /**
     * One place in registered memory.
     *
     * @param region registered with this node
     * @param offset first byte in it
     * @return the destination
     */
    static Destination at(Region region, long offset) {
        return new At(region, offset);
    }

    /**
     * Scattered pages of registered memory.
     *
     * @param region registered with this node
     * @param pages at least as long as the piece
     * @return the destination
     */
    static Destination pages(Region region, PageMap pages) {
        return new Pages(region, pages);
    }

    /**
     * This node's own pool of memory.
     *
     * @return the destination
     */
    static Destination replica() {
        return new Replica(Tier.DRAM, false);
    }

    /**
     * This node's own pool of a tier.
     *
     * @param tier of the node
     * @return the destination
     */
    static Destination replica(Tier tier) {
        return new Replica(tier, false);
    }

    /**
     * This node's own pool of a tier and none above it: the block is there when the piece is OK, and what it has in faster tiers is given up as
     * soon as nobody has it pinned.
     *
     * @param tier of the node
     * @return the destination
     */
    static Destination demoted(Tier tier) {
        return new Replica(tier, true);
    }
}
