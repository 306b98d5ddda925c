package io.mooncake.core.manager;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.transfer.GuardSource;
import java.lang.foreign.MemorySegment;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The checksums of a pool's blocks: CRC32C of every unit of {@link GuardSource#UNIT_BYTES}, the last one to the end of the valid bytes.
 *
 * <p>They stand under the block's guard as its bytes do: written by the slot's writer before the guard says WRITTEN, read under a pin.
 */
final class UnitChecksums {
    private final int[] @Nullable [] slots;

    UnitChecksums(int slots) {
        this.slots = new int[slots][];
    }

    /** Sums up the bytes of a slot that is about to be sealed; its writer alone. */
    void seal(int slot, Memory memory, long validBytes) {
        if (!(memory instanceof HostMemory host)) {
            slots[slot] = null;
            return;
        }
        int units = Math.toIntExact((validBytes - 1) / GuardSource.UNIT_BYTES + 1);
        int[] sums = slots[slot];
        if (sums == null || sums.length < units) {
            sums = new int[units];
            slots[slot] = sums;
        }
        CRC32C crc = new CRC32C();
        for (int unit = 0; unit < units; unit++) {
            long from = unit * (long) GuardSource.UNIT_BYTES;
            MemorySegment bytes = host.segment().asSlice(from, Math.min(GuardSource.UNIT_BYTES, validBytes - from));
            crc.reset();
            crc.update(bytes.asByteBuffer());
            sums[unit] = (int) crc.getValue();
        }
    }

    /** The sum of a unit, 0 to 2^32 - 1; {@link GuardSource#NO_CHECKSUM} where the host could not read the block. Under a pin. */
    long sum(int slot, long unit) {
        int[] sums = slots[slot];
        return sums == null ? GuardSource.NO_CHECKSUM : Integer.toUnsignedLong(sums[(int) unit]);
    }
}
