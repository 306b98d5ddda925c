package io.mooncake.testing;

import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Region;
import io.mooncake.testing.EngineRig.Guards;
import io.mooncake.testing.EngineRig.Side;
import java.lang.foreign.MemorySegment;

/**
 * A stretch of an owner's memory that peers may read: a region of its own, or a part of one.
 *
 * @param owner whose
 * @param region where
 * @param base the first byte's place in the region
 * @param bytes what stands there
 * @param guardOffset where its guard stands in the owner's table, or {@link GuardedRead#NO_GUARD}
 */
public record Source(Side owner, Region region, long base, MemorySegment bytes, long guardOffset) {
    /** All of the region that it is a part of. */
    public Source wholeRegion() {
        return bytes.byteSize() == region.length()
                ? this
                : new Source(owner, region, 0, ((HostMemory) region.memory()).segment(), guardOffset);
    }

    /** Bytes there are. */
    public long length() {
        return bytes.byteSize();
    }

    /** Has a read ask for bytes from here, with what proves them while the guard is as it was at first. */
    public GuardedRead ask(GuardedRead read, long offset, long length) {
        return ask(read, offset, length, Guards.FIRST);
    }

    /** The same while the guard, where there is one, has another value. */
    public GuardedRead ask(GuardedRead read, long offset, long length, long expected) {
        read.from(owner.peer(), region.id(), base + offset, length);
        return guardOffset == GuardedRead.NO_GUARD ? read : read.guardedBy(guardOffset, expected);
    }

    /** Uses of the region that have not ended. */
    public long uses() {
        return region.uses();
    }

    /** Closes the region. */
    public void close() {
        region.close();
    }
}
