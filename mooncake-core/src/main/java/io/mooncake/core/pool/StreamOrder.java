package io.mooncake.core.pool;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.Stream;

/**
 * What a pool in a device's memory has in the place of loads and stores: copies, in the order of the device's streams. Any thread, also a
 * virtual one.
 *
 * <p>Whatever a call is to come after must be in its stream before the call, and the order is made when the call returns: the caller may queue what
 * changes the source, or reads what was written, right after it.
 */
public interface StreamOrder {
    /**
     * Copies into the pool's memory before it returns.
     *
     * @param offset in {@link BlockPool#memory()}, of a slot that is the caller's
     * @param source host memory
     * @throws MooncakeException UNSUPPORTED for device memory, whose order nobody has said; DEVICE_LOST
     */
    void write(long offset, Memory source);

    /**
     * Copies into the pool's memory, after what a stream has by now and before what it gets from now on.
     *
     * @param offset in {@link BlockPool#memory()}, of a slot that is the caller's
     * @param source memory of the device, or host memory that is pinned
     * @param stream of the pool's device
     * @return until it has ended the slot is not given to anybody else, and its bytes count for nothing
     * @throws MooncakeException UNSUPPORTED for another source, CONFIG_ERROR for a stream of another device, DEVICE_LOST
     */
    Work write(long offset, Memory source, Stream stream);

    /**
     * Marks what a stream has by now.
     *
     * @param stream of the pool's device
     * @return ends when the stream has come so far
     * @throws MooncakeException CONFIG_ERROR for a stream of another device, DEVICE_LOST
     */
    Work mark(Stream stream);

    /**
     * Whether another device reads the pool's memory in place, by the same addresses.
     *
     * @param device which
     * @return false where that is not known
     */
    default boolean isAddressableOn(int device) {
        return false;
    }

    /** Something that a device does. One thread at a time; not asked again once it has ended. */
    interface Work {
        /**
         * Whether nothing of it runs any more.
         *
         * @return true also when it failed, or the device is lost; never blocks
         */
        boolean hasEnded();

        /**
         * Waits for it.
         *
         * @throws MooncakeException DEVICE_LOST or CONFIG_ERROR when it failed; nothing of it runs then either
         */
        void await();
    }
}
