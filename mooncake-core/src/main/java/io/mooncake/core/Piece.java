package io.mooncake.core;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Tier;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One part of a transfer: a range of one block, and where it goes. Immutable.
 *
 * @param id the block
 * @param ref where to read it and which version; null = any version, wherever it is
 * @param atLeast without a reference: the lowest counter of a version that will do; 0 = any
 * @param offset first byte in the block
 * @param length bytes, or {@link #WHOLE}
 * @param destination where they go
 * @param stage when it is needed, a layer for example: 0 first; see {@code Transfer.stage()}
 */
public record Piece(BlockId id, @Nullable BlockRef ref, long atLeast, long offset, long length,
        Destination destination, int stage) {
    /** A length: everything from the offset to the end of the block's valid bytes. */
    public static final long WHOLE = -1;

    /**
     * Checks the numbers.
     *
     * @throws MooncakeException OUT_OF_BOUNDS for negative numbers, INVALID_ARGUMENT for a part of a block as a replica, or for a
     *     reference to another block
     */
    public Piece {
        Objects.requireNonNull(id, "block id of a piece");
        Objects.requireNonNull(destination, "destination of a piece");
        if (offset < 0 || length < WHOLE || stage < 0 || atLeast < 0) {
            throw new MooncakeException(Kind.OUT_OF_BOUNDS,
                    "piece of block " + id + ": offset " + offset + ", length " + length + ", stage " + stage
                            + " and the lowest version " + atLeast + " must not be negative");
        }
        if (ref != null && !ref.id().equals(id)) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT,
                    "piece of block " + id + ": the reference is to block " + ref.id() + "; use its id");
        }
        if (ref != null && atLeast > 0) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT, "piece of block " + id + ": its reference names version "
                    + ref.version() + " exactly; say either that, or at least version " + atLeast);
        }
        if (destination instanceof Destination.Replica && (offset != 0 || length != WHOLE)) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT,
                    "piece of block " + id + ": a replica is a whole block; use offset 0 and Piece.WHOLE");
        }
    }

    /**
     * Of any version, or of exactly the one that a reference names.
     *
     * @param id the block
     * @param ref where to read it and which version; null = any version, wherever it is
     * @param offset first byte in the block
     * @param length bytes, or {@link #WHOLE}
     * @param destination where they go
     * @param stage when it is needed
     */
    public Piece(BlockId id, @Nullable BlockRef ref, long offset, long length, Destination destination, int stage) {
        this(id, ref, 0, offset, length, destination, stage);
    }

    /**
     * A range of a block, any version, wherever it is.
     *
     * @param id the block
     * @param offset first byte in the block
     * @param length bytes, or {@link #WHOLE}
     * @param destination where they go
     * @return the piece
     */
    public static Piece of(BlockId id, long offset, long length, Destination destination) {
        return new Piece(id, null, offset, length, destination, 0);
    }

    /**
     * A range of exactly the version that a reference names, from where it says or from any other holder known.
     *
     * @param ref the block
     * @param offset first byte in the block
     * @param length bytes, or {@link #WHOLE}
     * @param destination where they go
     * @return the piece
     */
    public static Piece of(BlockRef ref, long offset, long length, Destination destination) {
        return new Piece(ref.id(), ref, offset, length, destination, 0);
    }

    /**
     * A whole block into this node's own pool.
     *
     * @param id the block
     * @return the piece
     */
    public static Piece replica(BlockId id) {
        return new Piece(id, null, 0, WHOLE, Destination.replica(), 0);
    }

    /**
     * The same piece, but only of a version that is not older; where only older ones are known it is ABSENT.
     *
     * @param counter the lowest counter of a version that will do
     * @return a copy
     */
    public Piece withAtLeast(long counter) {
        return new Piece(id, ref, counter, offset, length, destination, stage);
    }

    /**
     * A whole block into this node's own pool of a tier, up or down, by way of the tiers between.
     *
     * @param id the block
     * @param tier of the node
     * @return the piece
     */
    public static Piece replica(BlockId id, Tier tier) {
        return new Piece(id, null, 0, 0, WHOLE, Destination.replica(tier), 0);
    }

    /**
     * A whole block out of the faster tiers of this node into a slower one.
     *
     * @param id the block
     * @param tier of the node
     * @return the piece
     */
    public static Piece demoted(BlockId id, Tier tier) {
        return new Piece(id, null, 0, WHOLE, Destination.demoted(tier), 0);
    }

    /**
     * The same piece in a stage.
     *
     * @param stage 0 and up
     * @return a copy
     */
    public Piece withStage(int stage) {
        return new Piece(id, ref, atLeast, offset, length, destination, stage);
    }
}
