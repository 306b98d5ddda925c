package io.mooncake.core.archfixture.transfer;

import io.mooncake.core.archfixture.block.BlockThatKnowsTransfer;
import org.jspecify.annotations.NullMarked;

/** Breaks: transfer does not know block. */
@NullMarked
public record Chunk(BlockThatKnowsTransfer block) {}
