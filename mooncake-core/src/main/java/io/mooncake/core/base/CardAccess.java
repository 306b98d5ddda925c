package io.mooncake.core.base;

import org.jspecify.annotations.Nullable;

/**
 * How network cards get at memory of a device: said by whoever knows the device, to engines that know cards, which need not know of each other.
 * Any thread.
 */
public interface CardAccess {
    /**
     * Opens a descriptor of the memory, for one registration with a card.
     *
     * @return the caller's, to be closed when the registration is made; null where cards are told the device's addresses as they are
     * @throws MooncakeException UNSUPPORTED with the reason, where there is none after all
     */
    @Nullable
    DmaBuf open();

    /**
     * Has the device see what cards wrote into the memory before this call. To be called when all of it has arrived, and before anybody is told so. May
     * block for some microseconds.
     *
     * @throws MooncakeException DEVICE_LOST
     */
    void makeVisible();

    /** A dma-buf of the kernel that stands for memory of a device. A registration made of it keeps the memory, also when this is closed. */
    interface DmaBuf extends AutoCloseable {
        /**
         * Its file descriptor.
         *
         * @return open until {@link #close}
         */
        int fd();

        /**
         * Which of the device's bytes is the first one in it. It may begin before the memory that it was opened for.
         *
         * @return the address on the device
         */
        long start();

        /** Gives the descriptor back. The second time does nothing. */
        @Override
        void close();
    }
}
