package io.mooncake.core;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.Tier;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Where a block to be written goes. Immutable.
 *
 * @param tier the tier wanted
 * @param writerTtl how long the id is the writer's alone; null = the node's default
 */
public record Placement(Tier tier, @Nullable Duration writerTtl) {
    /** Host memory, the node's time to live. */
    public static final Placement DRAM = new Placement(Tier.DRAM, null);
    /** Device memory, of a node that has a pool there. */
    public static final Placement VRAM = new Placement(Tier.VRAM, null);

    /**
     * Checks the time.
     *
     * @throws MooncakeException INVALID_ARGUMENT when it is not positive
     */
    public Placement {
        if (writerTtl != null && (writerTtl.isNegative() || writerTtl.isZero())) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT, "writer TTL " + writerTtl + " must be positive");
        }
    }

    /**
     * With another time to live.
     *
     * @param writerTtl how long the id is the writer's alone, positive
     * @return a copy
     */
    public Placement withWriterTtl(Duration writerTtl) {
        return new Placement(tier, writerTtl);
    }
}
