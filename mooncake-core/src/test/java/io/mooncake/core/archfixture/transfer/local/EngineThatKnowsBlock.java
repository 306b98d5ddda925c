package io.mooncake.core.archfixture.transfer.local;

import io.mooncake.core.archfixture.block.BlockThatKnowsTransfer;
import org.jspecify.annotations.NullMarked;

/** Breaks: a hidden engine sees transfer and base only. */
@NullMarked
record EngineThatKnowsBlock(BlockThatKnowsTransfer block) {}
