package io.mooncake.core.archfixture.schedule;

import io.mooncake.core.archfixture.block.BlockThatKnowsTransfer;
import io.mooncake.core.archfixture.transfer.Chunk;
import org.jspecify.annotations.NullMarked;

/** Breaks: schedule does not know transfer, takes only values, and reads no clock. */
@NullMarked
public final class ScheduleThatReadsTheClock {

    private ScheduleThatReadsTheClock() {}

    static long now(BlockThatKnowsTransfer block, Chunk chunk) {
        return System.nanoTime() + block.hashCode() + chunk.hashCode();
    }
}
