package io.mooncake.core.sim;

import io.mooncake.core.transfer.onesided.SimNetwork;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Whose every byte of the simulated nodes' memory is: asked when a read is posted and again when its bytes land. Hands the memory out,
 * too, from one reservation that is used for one world after the other.
 */
final class Memories implements SimNetwork.Landings {
    /** Whose a place is. */
    interface Owners {
        /** A number that changes whenever the place is handed to somebody else; 0 when it is nobody's to be written by a transfer. */
        long owner(long offset);

        /** For messages. */
        String describe(long offset);
    }

    private record Range(long base, long bytes, Owners owners) {}

    private final MemorySegment bank;
    private final TreeMap<Long, Range> ranges = new TreeMap<>();
    private long used;

    Memories(MemorySegment bank) {
        this.bank = bank;
    }

    /** Zero-filled memory. */
    MemorySegment take(long bytes) {
        long at = (used + 4095) & -4096;
        used = at + bytes;
        if (used > bank.byteSize()) {
            throw new IllegalStateException("the simulation needs more than " + bank.byteSize() + " bytes");
        }
        return bank.asSlice(at, bytes).fill((byte) 0);
    }

    void watch(MemorySegment memory, Owners owners) {
        ranges.put(memory.address(), new Range(memory.address(), memory.byteSize(), owners));
    }

    /** Whose a place is; 0 for memory that is not watched. */
    @Override
    public long owner(MemorySegment memory, long offset) {
        long address = memory.address() + offset;
        Range range = range(address);
        if (range == null) {
            return 0;
        }
        long owner = range.owners.owner(address - range.base);
        if (owner == 0) {
            throw new Violation(2, "a read is posted into " + range.owners.describe(address - range.base)
                    + ", which nobody was given to write");
        }
        return owner;
    }

    /** Bytes land: whose was the place, and is it still. */
    @Override
    public void landed(long owner, MemorySegment memory, long offset) {
        long address = memory.address() + offset;
        Range range = range(address);
        if (range != null && range.owners.owner(address - range.base) != owner) {
            throw new Violation(2, "bytes landed late in " + range.owners.describe(address - range.base)
                    + ", which was handed to somebody else");
        }
    }

    private @Nullable Range range(long address) {
        Map.Entry<Long, Range> below = ranges.floorEntry(address);
        return below == null || address - below.getValue().base >= below.getValue().bytes ? null : below.getValue();
    }
}
