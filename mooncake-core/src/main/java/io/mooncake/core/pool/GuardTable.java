package io.mooncake.core.pool;

import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockState;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The guards of a pool's slots, in host memory that peers may read: what proves that bytes read are those of one block.
 *
 * <pre>
 *   0   guard      8   generation:60 | state:4, native byte order
 *   8   reserved  56   keeps entries on their own cache lines
 * </pre>
 *
 * <p>A guard changes at every transition of its slot and never repeats in the life of the process: the generation rises with
 * every allocation, each state is passed once a generation, and a table opened later starts above all generations used before. So
 * "the same now as when the owner announced it" means that no transition lies between.
 *
 * <p>A slot's guard is written only by whoever the control word names as its owner; anybody may read it. The order on the writing CPU:
 *
 * <pre>
 *   writer    guard := ALLOCATED (opaque), full fence, bytes, release fence, guard := WRITTEN
 *   evictor   guard := EVICTED, full fence, pins seen zero, guard := FREE
 *   reader    bytes, load-load fence, guard
 * </pre>
 *
 * <p>The first full fence keeps the new bytes behind the guard that says they are unproven: a reader that saw one of them sees at
 * least ALLOCATED in the guard it loads after. On x86 the fence orders the guard's store before the stores of the bytes only for the
 * compiler (stores are not reordered with stores there), on weaker machines also for the CPU. The evictor's fence is a real one everywhere: its
 * store must be visible before it loads the pins, else a reader could count up unseen (store-load order).
 */
public final class GuardTable {
    /** Bytes from one guard to the next. */
    public static final int STRIDE = BlockRef.GUARD_STRIDE;

    private static final int STATE_BITS = 4;
    private static final VarHandle GUARD = ValueLayout.JAVA_LONG.varHandle();
    /** Above every generation that a closed or open table of this process has used. */
    private static final AtomicLong FLOOR = new AtomicLong(1);

    private final MemorySegment memory;

    /**
     * A table in which every slot is FREE.
     *
     * @param memory zero filled, {@value #STRIDE} bytes a slot
     */
    public GuardTable(MemorySegment memory) {
        this.memory = memory;
        long free = guard(FLOOR.get(), BlockState.FREE);
        for (long at = 0; at < memory.byteSize(); at += STRIDE) {
            GUARD.setVolatile(memory, at, free);
        }
    }

    /**
     * Puts a guard together.
     *
     * @param generation which allocation of the slot, below 2^60
     * @param state the slot's state
     * @return the guard
     */
    public static long guard(long generation, BlockState state) {
        return (generation << STATE_BITS) | state.ordinal();
    }

    /**
     * Takes the generation out of a guard.
     *
     * @param guard a guard
     * @return its generation
     */
    public static long generation(long guard) {
        return guard >>> STATE_BITS;
    }

    /**
     * Takes the state out of a guard.
     *
     * @param guard a guard
     * @return its state
     */
    public static BlockState state(long guard) {
        return BlockState.of((int) (guard & 3));
    }

    /**
     * The memory, to be registered for peers.
     *
     * @return {@value #STRIDE} bytes a slot
     */
    public MemorySegment memory() {
        return memory;
    }

    /**
     * Reads a guard. What the caller loaded before this call is not loaded after it.
     *
     * @param slot which
     * @return the guard
     */
    public long read(int slot) {
        VarHandle.loadLoadFence();
        return (long) GUARD.getAcquire(memory, (long) slot * STRIDE);
    }

    /**
     * FREE to ALLOCATED in a new generation, by whoever just reserved the slot: bytes may be written after it.
     *
     * @param slot which
     * @return the new generation
     */
    public long allocated(int slot) {
        long generation = generation((long) GUARD.getOpaque(memory, (long) slot * STRIDE)) + 1;
        GUARD.setOpaque(memory, (long) slot * STRIDE, guard(generation, BlockState.ALLOCATED));
        VarHandle.fullFence();
        return generation;
    }

    /**
     * ALLOCATED to WRITTEN, by the slot's writer: bytes written before it are seen by whoever sees it.
     *
     * @param slot which
     * @param generation the slot's
     * @return the guard that a reference carries
     */
    public long written(int slot, long generation) {
        long guard = guard(generation, BlockState.WRITTEN);
        GUARD.setRelease(memory, (long) slot * STRIDE, guard);
        return guard;
    }

    /**
     * WRITTEN to EVICTED, by the conductor after its CAS on the control word: pins are to be looked at after it.
     *
     * @param slot which
     * @param generation the slot's
     */
    public void evicted(int slot, long generation) {
        GUARD.setOpaque(memory, (long) slot * STRIDE, guard(generation, BlockState.EVICTED));
        VarHandle.fullFence();
    }

    /**
     * To FREE, before the slot goes back to its pool.
     *
     * @param slot which
     * @param generation the slot's
     */
    public void freed(int slot, long generation) {
        GUARD.setRelease(memory, (long) slot * STRIDE, guard(generation, BlockState.FREE));
    }

    /** Before the memory goes away: tables opened from now on start above this one's generations. */
    public void retire() {
        long highest = 0;
        for (long at = 0; at < memory.byteSize(); at += STRIDE) {
            highest = Math.max(highest, generation((long) GUARD.getVolatile(memory, at)));
        }
        FLOOR.accumulateAndGet(highest + 1, Math::max);
    }
}
