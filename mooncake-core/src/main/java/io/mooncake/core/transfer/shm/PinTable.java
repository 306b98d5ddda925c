package io.mooncake.core.transfer.shm;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import org.jspecify.annotations.Nullable;

/**
 * How often one reader process has each slot of one owner pinned: written by the reader, read by the owner.
 *
 * <pre>
 *   0   magic           8   "MKSHPINS", written last by the reader
 *   8   version         8   1
 *   16  owner           8   incarnation
 *   24  reader          8   incarnation
 *   32  slots           8
 *   40  acknowledged    8   1 once the owner looks here before it frees a slot
 *   48  reserved       16
 *   64  pins            8   of slot 0; then of slot 1 ...
 * </pre>
 *
 * <p>Nobody is ever locked out, hence the order on both sides. If the reader does not see the raised guard, the owner sees the pin:
 *
 * <pre>
 *   reader   acknowledged seen; pin counted; full fence; guard as the reference has it, else the pin is taken back
 *   owner    guard := EVICTED; full fence; every acknowledged table's pins of the slot 0, else later again; FREE
 * </pre>
 */
public final class PinTable {
    private static final long MAGIC = 0x4d4b534850494e53L;
    private static final long VERSION = 1;
    private static final long VERSION_AT = 8;
    private static final long OWNER_AT = 16;
    private static final long READER_AT = 24;
    private static final long SLOTS_AT = 32;
    private static final long ACKNOWLEDGED_AT = 40;
    private static final long PINS_AT = 64;
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
    private static final VarHandle WORD = LONG.varHandle();

    private final MemorySegment memory;
    private final long slots;

    private PinTable(MemorySegment memory, long slots) {
        this.memory = memory;
        this.slots = slots;
    }

    static long bytes(long slots) {
        return PINS_AT + slots * Long.BYTES;
    }

    /**
     * A table over memory of zeros, that both sides use directly.
     *
     * @param slots how many
     * @param memory {@code 64 + 8 * slots} bytes
     * @return acknowledged
     */
    public static PinTable over(MemorySegment memory, long slots) {
        PinTable table = new PinTable(memory, slots);
        table.acknowledge();
        return table;
    }

    /** Reader: over a new file of zeros. */
    static PinTable begin(FileChannel file, long slots, long owner, long reader, Arena arena) throws IOException {
        MemorySegment memory = file.map(MapMode.READ_WRITE, 0, bytes(slots), arena);
        memory.set(LONG, VERSION_AT, VERSION);
        memory.set(LONG, OWNER_AT, owner);
        memory.set(LONG, READER_AT, reader);
        memory.set(LONG, SLOTS_AT, slots);
        WORD.setRelease(memory, 0L, MAGIC);
        return new PinTable(memory, slots);
    }

    /** Owner: null when the reader has not finished it, or it is no table for this owner. */
    static @Nullable PinTable join(FileChannel file, long owner, Arena arena) throws IOException {
        long size = file.size();
        if (size < PINS_AT) {
            return null;
        }
        MemorySegment memory = file.map(MapMode.READ_WRITE, 0, size, arena);
        if ((long) WORD.getAcquire(memory, 0L) != MAGIC || memory.get(LONG, VERSION_AT) != VERSION
                || memory.get(LONG, OWNER_AT) != owner) {
            return null;
        }
        long slots = memory.get(LONG, SLOTS_AT);
        return slots < 0 || slots > (size - PINS_AT) / Long.BYTES ? null : new PinTable(memory, slots);
    }

    /** Owner: after the table is among those that it looks at. */
    void acknowledge() {
        WORD.setVolatile(memory, ACKNOWLEDGED_AT, 1L);
    }

    /** Reader: before this no pin counts. */
    boolean isAcknowledged() {
        return (long) WORD.getAcquire(memory, ACKNOWLEDGED_AT) == 1;
    }

    /**
     * Reader: counts up; what it loads after this call is loaded after the count can be seen.
     *
     * @param slot which
     */
    public void pin(long slot) {
        long before = (long) WORD.getAndAdd(memory, at(slot), 1L);
        assert before >= 0;
        VarHandle.fullFence();
    }

    /**
     * Reader: what it loaded from the block was loaded before the count goes down.
     *
     * @param slot which
     */
    public void unpin(long slot) {
        WORD.getAndAdd(memory, at(slot), -1L);
    }

    /**
     * Owner: after its full fence.
     *
     * @param slot which
     * @return whether the reader has it pinned, or is about to see that it must not
     */
    public boolean isPinned(long slot) {
        return slot < slots && (long) WORD.getVolatile(memory, at(slot)) != 0;
    }

    private static long at(long slot) {
        return PINS_AT + slot * Long.BYTES;
    }
}
