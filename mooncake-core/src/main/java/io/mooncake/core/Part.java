package io.mooncake.core;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.manager.ReplicaWriter;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.ReadStatus;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One piece of a {@link Pull} on its way: the attempt that is going on, and what earlier ones tried. Owned by whoever has the piece: the
 * submitting thread, then an engine, then perhaps the conductor, never two at a time.
 */
final class Part {
    final Pull pull;
    final Piece piece;
    final GuardedRead read;
    final List<BlockRef> tried = new ArrayList<>(2);

    @Nullable
    BlockRef source;
    @Nullable
    ReplicaWriter replica;
    /** Why the conductor has it: a replica waits for a slot, else a read ended and something is left to do. */
    boolean awaitsSlot;
    ReadStatus status = ReadStatus.OK;
    /** What the last attempt met; before the first one: that nobody has the block. */
    Outcome failure = Outcome.ABSENT;
    @Nullable
    MooncakeException cause;

    /** The conductor's intrusive list. */
    @Nullable
    Part next;

    Part(Pull pull, Piece piece, int index) {
        this.pull = pull;
        this.piece = piece;
        read = new GuardedRead(pull, index);
    }

    int index() {
        return read.index();
    }

    void reset() {
        tried.clear();
        source = null;
        replica = null;
        awaitsSlot = false;
        failure = Outcome.ABSENT;
        cause = null;
    }
}
