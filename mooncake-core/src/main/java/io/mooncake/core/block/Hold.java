package io.mooncake.core.block;

import java.util.List;

/**
 * A promise, without an address, that blocks of this node stay for a while: for a consumer that has not pulled yet. Ends once: by
 * {@link #close()}, by its time to live, or, where the consumer is named, when that has them or is dead. Any thread.
 */
public interface Hold extends AutoCloseable {
    /**
     * What is held, in the order asked for.
     *
     * @return references
     */
    List<BlockRef> refs();

    /**
     * Whether the promise still stands.
     *
     * @return false after its end
     */
    boolean isOpen();

    /** Ends the promise. The second time does nothing. */
    @Override
    void close();
}
