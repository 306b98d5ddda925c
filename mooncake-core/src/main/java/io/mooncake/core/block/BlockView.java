package io.mooncake.core.block;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.Stream;
import java.lang.foreign.MemorySegment;

/**
 * The pinned address of a written block: its bytes stay as they are until {@link #close()}, whatever is evicted. Reusable: one
 * view object takes one block after another without allocating. Used by one thread at a time; its segment by any.
 *
 * <p>Every method but close throws ILLEGAL_STATE while the view holds no block.
 */
public interface BlockView extends AutoCloseable {
    /**
     * The block.
     *
     * @return its reference
     */
    BlockRef ref();

    /**
     * Where the block is.
     *
     * @return its tier on this node
     */
    Tier tier();

    /**
     * The device that has the address.
     *
     * @return a device number, or -1 for the host
     */
    int device();

    /**
     * The first byte's address on the device or host.
     *
     * @return an address
     */
    long address();

    /**
     * Valid bytes.
     *
     * @return at least 1
     */
    long length();

    /**
     * The bytes, read-only.
     *
     * @return a native segment of {@link #length()} bytes, readable from any thread, 64-byte aligned, not to be used after close
     * @throws MooncakeException UNSUPPORTED when the host cannot address the tier
     */
    MemorySegment segment();

    /**
     * Whether the view holds a block.
     *
     * @return false before acquire and after close
     */
    boolean isOpen();

    /** Unpins. Closing an empty view does nothing; two threads that close it at the same time unpin once. */
    @Override
    void close();

    /**
     * Unpins when everything queued on the stream so far is done.
     *
     * @param stream the stream whose kernels read the block
     * @throws MooncakeException UNSUPPORTED on a tier without streams
     */
    void closeAfter(Stream stream);
}
