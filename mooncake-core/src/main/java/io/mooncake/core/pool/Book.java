package io.mooncake.core.pool;

/**
 * Who has what of a pool, whatever it is made of: as {@link BlockPool} says of slots. {@link SlotBook} where every slot has its place for
 * ever, {@link RangeBook} where blocks take as much as they need. Any thread.
 */
public sealed interface Book permits SlotBook, RangeBook {
    /**
     * All of the memory.
     *
     * @return bytes, more than 0
     */
    long bytes();

    /**
     * {@link BlockPool#slots}.
     *
     * @return more than 0
     */
    int slots();

    /**
     * {@link BlockPool#offset}.
     *
     * @param slot which
     * @return bytes
     */
    long offset(int slot);

    /**
     * {@link BlockPool#slotBytes}.
     *
     * @param slot which
     * @return bytes
     */
    long slotBytes(int slot);

    /**
     * {@link BlockPool#largestSlotBytes}.
     *
     * @return bytes
     */
    long largestSlotBytes();

    /**
     * {@link BlockPool#reserve}.
     *
     * @param length bytes needed
     * @return a slot, or {@link BlockPool#NONE}
     */
    int reserve(long length);

    /**
     * {@link BlockPool#release}.
     *
     * @param slot which
     */
    void release(int slot);

    /**
     * {@link BlockPool#quarantine}.
     *
     * @param slot which
     */
    void quarantine(int slot);

    /**
     * {@link BlockPool#usage}.
     *
     * @return a consistent count
     */
    BlockPool.Usage usage();

    /** Nobody can reserve from now on; throws IN_USE, naming the slots, when a slot is somebody's. */
    void close();
}
