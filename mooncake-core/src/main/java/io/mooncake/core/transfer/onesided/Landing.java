package io.mooncake.core.transfer.onesided;

import io.mooncake.core.base.Memory;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.RegionTable;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** Where proofs land, a cache line for each slot, and checksums, a place for each read that has them: registered memory. The poller's. */
final class Landing implements AutoCloseable {
    /** Bytes of one place. */
    static final long PLACE_BYTES = 4096;
    private static final long STRIDE = 64;
    private static final VarHandle VALUE = ValueLayout.JAVA_LONG.varHandle();

    private final Arena arena = Arena.ofShared();
    private final MemorySegment memory;
    private final Region region;
    private final long firstPlace;

    Landing(RegionTable regions, int slots, int places) {
        firstPlace = slots * STRIDE;
        memory = arena.allocate(firstPlace + places * PLACE_BYTES, STRIDE);
        region = regions.register(Memory.of(memory), Access.LOCAL_ONLY);
    }

    long offsetOfPlace(int place) {
        return firstPlace + place * PLACE_BYTES;
    }

    /** What landed in a place. */
    MemorySegment place(int place, long bytes) {
        return memory.asSlice(offsetOfPlace(place), bytes);
    }

    Region region() {
        return region;
    }

    long offset(Slot proof) {
        return proof.number * STRIDE;
    }

    /** What landed, after its completion was polled. */
    long value(Slot proof) {
        return (long) VALUE.getAcquire(memory, offset(proof));
    }

    @Override
    public void close() {
        region.close();
        arena.close();
    }
}
