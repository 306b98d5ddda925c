package io.mooncake.core.block;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.Stream;
import java.lang.foreign.MemorySegment;
import java.time.Duration;

/**
 * The one-shot right to fill a slot: write, then commit or abort, once. Owned by one thread at a time.
 *
 * <p>The id is this writer's until its time to live ends; then another may allocate it, and commit and abort here answer
 * STALE_VERSION. The slot stays this writer's until it is committed, aborted or closed, whatever the time.
 *
 * <p>What one thread does here must have returned before another thread's next call. A write that still runs, through {@link #write} or
 * into {@link #segment()}, while another thread commits, aborts or closes is not kept out: its bytes may land in the block that was
 * committed, or in the next block of the slot that was given back. The same goes for writes into the segment after that.
 */
public interface BlockWriter extends AutoCloseable {
    /** What a commit found. */
    enum Result {
        /** Not committed yet. */
        OPEN,
        /** This writer's bytes are the block now. */
        WRITTEN,
        /** The block was there already with the same content; its reference was returned and the slot given back. */
        ALREADY_WRITTEN,
        /** A higher version was there; its reference was returned and the slot given back. */
        SUPERSEDED,
        /** Given back unwritten. */
        ABORTED
    }

    /**
     * The block being written.
     *
     * @return its id
     */
    BlockId id();

    /**
     * Room for bytes.
     *
     * @return the length that was allocated
     */
    long length();

    /**
     * The slot's memory as it is described to engines.
     *
     * @return memory of {@link #length()} bytes
     */
    Memory memory();

    /**
     * The slot's bytes, writable until commit.
     *
     * @return a segment of {@link #length()} bytes, 64-byte aligned
     * @throws MooncakeException UNSUPPORTED on a tier that the host cannot address, ILLEGAL_STATE after commit or abort
     */
    MemorySegment segment();

    /**
     * Copies bytes into the slot before it returns.
     *
     * @param offset in the block
     * @param source host memory, copied whole
     * @throws MooncakeException OUT_OF_BOUNDS, UNSUPPORTED for a source that this tier cannot read, ILLEGAL_STATE
     */
    void write(long offset, Memory source);

    /**
     * Copies bytes into the slot in the order of a stream; commit waits for it.
     *
     * @param offset in the block
     * @param source memory, copied whole
     * @param stream what the copy comes after
     * @throws MooncakeException as {@link #write(long, Memory)}; UNSUPPORTED on a tier without streams
     */
    void write(long offset, Memory source, Stream stream);

    /**
     * Seals the block with all its bytes.
     *
     * @return where it is: this writer's bytes, or those that were there already
     * @throws MooncakeException ILLEGAL_STATE the second time, STALE_VERSION when the id has gone to another writer (the slot is
     *     given back)
     */
    default BlockRef commit() {
        return commit(length());
    }

    /**
     * Seals a block that is filled up to a length.
     *
     * @param validBytes 1 to {@link #length()}
     * @return where it is
     * @throws MooncakeException as {@link #commit()}; OUT_OF_BOUNDS
     */
    BlockRef commit(long validBytes);

    /**
     * Seals the block and takes a hold on it in the same step, so that a consumer that is told the reference finds it.
     *
     * @param validBytes 1 to {@link #length()}
     * @param ttl until the hold ends by itself, positive
     * @return the hold; its ref is {@link Hold#refs()}'s only one
     * @throws MooncakeException as {@link #commit(long)}
     */
    Hold commitAndHold(long validBytes, Duration ttl);

    /**
     * How the one shot went.
     *
     * @return OPEN until commit or abort
     */
    Result result();

    /**
     * Gives the slot back unwritten.
     *
     * @throws MooncakeException ILLEGAL_STATE after commit or abort, STALE_VERSION when the id has gone to another writer (the
     *     slot is given back all the same)
     */
    void abort();

    /** Aborts if neither committed nor aborted yet; never throws for that. */
    @Override
    void close();
}
