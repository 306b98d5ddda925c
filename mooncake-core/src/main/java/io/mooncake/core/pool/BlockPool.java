package io.mooncake.core.pool;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.Tier;
import io.mooncake.core.block.Version;
import io.mooncake.core.transfer.UnitChecksums;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The space of one tier: slots cut from one reservation made at start. Any thread; reserve and release are O(1), take no lock and
 * allocate nothing.
 *
 * <p>Every slot is free, used or quarantined: used belongs to whoever reserved it, quarantined memory was given up while work
 * on it is outstanding and is handed to nobody until it is released.
 */
public interface BlockPool extends AutoCloseable {
    /** What {@link #reserve} answers when there is no room. */
    int NONE = -1;

    /**
     * Names the pool in messages.
     *
     * @return for example {@code dram}
     */
    String name();

    /**
     * The class of the memory as seen from its own node.
     *
     * @return the tier
     */
    Tier tier();

    /**
     * The device that the memory is on.
     *
     * @return a device number, or -1 for the host
     */
    int device();

    /**
     * The whole reservation, to be registered as one region.
     *
     * @return its description
     */
    Memory memory();

    /**
     * The slots' guards.
     *
     * @return one entry a slot
     */
    GuardTable guards();

    /**
     * Where the checksums of its blocks stand.
     *
     * @return null when its blocks get none; else each gets them when it is sealed, which costs a pass over its bytes
     */
    default @Nullable UnitChecksums checksums() {
        return null;
    }

    /**
     * How the pool's memory is written and read that the host can't address.
     *
     * @return null for host memory
     */
    default @Nullable StreamOrder streams() {
        return null;
    }

    /**
     * How its slots lie, where each is a range of as many bytes as its block needs: such a pool can be compacted.
     *
     * @return null where every slot has its place for ever
     */
    default @Nullable RangeBook ranges() {
        return null;
    }

    /**
     * How many slots there are.
     *
     * @return more than 0; slots are 0 to that - 1
     */
    int slots();

    /**
     * Where a slot starts in {@link #memory()}.
     *
     * @param slot which
     * @return its stored offset
     */
    long offset(int slot);

    /**
     * A slot's room.
     *
     * @param slot which
     * @return bytes
     */
    long slotBytes(int slot);

    /**
     * The largest slot's room: longer blocks can never be had.
     *
     * @return bytes
     */
    long largestSlotBytes();

    /**
     * Takes a free slot that is long enough, of the smallest class that has one.
     *
     * @param length bytes needed, 1 to {@link #largestSlotBytes()}
     * @return a slot that is the caller's alone, or {@link #NONE}
     * @throws MooncakeException OUT_OF_BOUNDS for a length that no slot has, CLOSED
     */
    int reserve(long length);

    /**
     * Gives a used or quarantined slot back.
     *
     * @param slot which
     * @throws MooncakeException ILLEGAL_STATE when the slot is free already; nothing is changed then
     */
    void release(int slot);

    /**
     * Takes a used slot out of circulation until {@link #release}: its owner gave it up, but something may still write into it.
     *
     * @param slot which
     * @throws MooncakeException ILLEGAL_STATE when the slot is not used; nothing is changed then
     */
    void quarantine(int slot);

    /**
     * Blocks that were here before the process began; their slots are used.
     *
     * @return empty for a pool that forgets
     */
    default List<Stored> stored() {
        return List.of();
    }

    /**
     * Says what a reserved slot is for, to a pool that does not forget; before anything is written there.
     *
     * @param slot which
     * @param id the block
     * @param version which writing of it
     * @param length its bytes
     */
    default void intend(int slot, BlockId id, Version version, long length) {}

    /**
     * A slot's block is evicted: a pool that does not forget must not bring it back, however long its last reader stays.
     *
     * @param slot which
     */
    default void forget(int slot) {}

    /** The node closes: a pool that does not forget keeps what is evicted or released from now on. */
    default void keep() {}

    /**
     * How the slots are shared out at one moment.
     *
     * @return numbers whose sum is the capacity
     */
    Usage usage();

    /**
     * Gives the reservation back to the system.
     *
     * @throws MooncakeException IN_USE, naming the slots, when a slot is used or quarantined; the memory stays then
     */
    @Override
    void close();

    /**
     * A consistent count of slots.
     *
     * @param used somebody's
     * @param quarantined nobody's, still being written
     * @param free nobody's
     */
    record Usage(int used, int quarantined, int free) {
        /**
         * All of them.
         *
         * @return used + quarantined + free
         */
        public int capacity() {
            return used + quarantined + free;
        }
    }
}
