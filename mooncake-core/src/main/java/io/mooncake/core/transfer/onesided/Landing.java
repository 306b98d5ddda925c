package io.mooncake.core.transfer.onesided;

import io.mooncake.core.base.Memory;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.RegionTable;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** Where proofs land: registered memory with a cache line for each slot. The poller's. */
final class Landing implements AutoCloseable {
    private static final long STRIDE = 64;
    private static final VarHandle VALUE = ValueLayout.JAVA_LONG.varHandle();

    private final Arena arena = Arena.ofShared();
    private final MemorySegment memory;
    private final Region region;

    Landing(RegionTable regions, int slots) {
        memory = arena.allocate(slots * STRIDE, STRIDE);
        region = regions.register(Memory.of(memory), Access.LOCAL_ONLY);
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
