package io.mooncake.core.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.pool.SizeClass;
import io.mooncake.core.transfer.GuardSource;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;

class UnitChecksumsTest {
    private static final long UNIT = GuardSource.UNIT_BYTES;
    private static final long LENGTH = 2 * UNIT + UNIT / 2;

    @Test
    void everyUnitOfASealedBlockHasItsChecksumAndNothingElseHasOne() {
        try (Fixture store = new Fixture(List.of(new SizeClass(3 * UNIT, 2)), 1, true)) {
            BlockRef ref = write(store, "a", LENGTH, 1);
            GuardSource guards = store.manager.guards();
            long pin = guards.pin(ref.region(), ref.guardOffset(), ref.guard(), ref.offset(), ref.length());
            long at = ref.offset();

            assertEquals(crc(UNIT, 1, 0), guards.checksum(pin, at, UNIT));
            assertEquals(crc(UNIT, 1, UNIT), guards.checksum(pin, at + UNIT, UNIT));
            assertEquals(crc(UNIT / 2, 1, 2 * UNIT), guards.checksum(pin, at + 2 * UNIT, UNIT / 2));
            for (long[] range : new long[][]{{1, UNIT}, {0, UNIT - 1}, {0, 2 * UNIT}, {2 * UNIT, UNIT},
                    {3 * UNIT, UNIT},
                    {-UNIT, UNIT}}) {
                assertEquals(GuardSource.NO_CHECKSUM, guards.checksum(pin, at + range[0], range[1]));
            }
            assertEquals(UNIT, guards.unitRest(pin, at));
            assertEquals(1, guards.unitRest(pin, at + 2 * UNIT - 1));
            guards.unpin(pin);
        }
    }

    @Test
    void theNextBlockOfASlotHasItsOwn() {
        try (Fixture store = new Fixture(List.of(new SizeClass(3 * UNIT, 2)), 1, true)) {
            BlockRef first = write(store, "a", LENGTH, 1);
            store.manager.evict(BlockId.of("a"));
            store.settle();
            BlockRef second = write(store, "b", UNIT, 2);
            assertEquals(first.offset(), second.offset());
            GuardSource guards = store.manager.guards();
            long pin = guards.pin(second.region(), second.guardOffset(), second.guard(), second.offset(), UNIT);
            assertEquals(crc(UNIT, 2, 0), guards.checksum(pin, second.offset(), UNIT));
            assertNotEquals(crc(UNIT, 1, 0), guards.checksum(pin, second.offset(), UNIT));
            guards.unpin(pin);
        }
    }

    @Test
    void withoutTheSettingThereAreNone() {
        try (Fixture store = new Fixture(1, UNIT, 1)) {
            BlockRef ref = store.put("a", 1, UNIT);
            GuardSource guards = store.manager.guards();
            long pin = guards.pin(ref.region(), ref.guardOffset(), ref.guard(), ref.offset(), UNIT);
            assertEquals(GuardSource.NO_CHECKSUM, guards.checksum(pin, ref.offset(), UNIT));
            assertEquals(Long.MAX_VALUE, guards.unitRest(pin, ref.offset() + 7));
            guards.unpin(pin);
        }
    }

    private static BlockRef write(Fixture store, String id, long length, int seed) {
        try (BlockWriter writer = store.allocate(id, length)) {
            MemorySegment segment = writer.segment();
            for (long i = 0; i < length; i++) {
                segment.set(ValueLayout.JAVA_BYTE, i, value(seed, i));
            }
            return writer.commit();
        }
    }

    private static byte value(int seed, long at) {
        return (byte) (seed * 31L + at % 251);
    }

    private static long crc(long length, int seed, long from) {
        CRC32C crc = new CRC32C();
        for (long i = from; i < from + length; i++) {
            crc.update(value(seed, i));
        }
        return crc.getValue();
    }
}
