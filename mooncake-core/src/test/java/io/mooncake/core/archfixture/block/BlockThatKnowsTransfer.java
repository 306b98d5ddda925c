package io.mooncake.core.archfixture.block;

import io.mooncake.core.archfixture.transfer.Chunk;
import org.jspecify.annotations.NullMarked;
import org.jspecify.annotations.Nullable;

/** Breaks: block does not know transfer. */
@NullMarked
public final class BlockThatKnowsTransfer implements AutoCloseable {

    /** The offence. */
    public @Nullable Chunk chunk;

    @Override
    public void close() {}
}
