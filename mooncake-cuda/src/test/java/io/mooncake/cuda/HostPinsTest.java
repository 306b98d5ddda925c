package io.mooncake.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.pool.DramPool;
import io.mooncake.core.pool.MemorySource;
import io.mooncake.core.pool.SizeClass;
import io.mooncake.cuda.runtime.NativeRuntime;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Host memory that is pinned for devices. */
class HostPinsTest {
    @BeforeEach
    void reset() {
        EmulatedCuda.reset(1);
    }

    @Test
    void shouldPinAPoolAsLongAsItIsOpen() {
        CudaDevices devices = new CudaDevices(NativeRuntime.INSTANCE, CudaConfig.defaults());
        DramPool pool = new DramPool("dram", List.of(new SizeClass(1 << 20, 3)),
                devices.pinned(MemorySource.anonymous()));
        MemorySegment bytes = ((HostMemory) pool.memory()).segment();
        assertTrue(devices.pins().contains(bytes.address(), bytes.byteSize()));
        assertFalse(devices.pins().contains(bytes.address(), bytes.byteSize() + 1));
        assertTrue(devices.pins().contains(pool.guards().memory().address(), 64));
        bytes.fill((byte) 7);
        pool.close();
        assertFalse(devices.pins().contains(bytes.address(), 1));
        assertFalse(bytes.scope().isAlive());
    }

    @Test
    void shouldRefuseBeyondTheLimitAndWhatIsPinnedAlready() {
        CudaDevices devices = new CudaDevices(NativeRuntime.INSTANCE, CudaConfig.defaults().withPinLimit(2 << 20));
        try (Arena arena = Arena.ofShared()) {
            MemorySegment memory = arena.allocate(3 << 20, 4096);
            MooncakeException limit = assertThrows(MooncakeException.class, () -> devices.pin(memory));
            assertEquals(Kind.OUT_OF_MEMORY, limit.kind());
            assertTrue(limit.getMessage().contains("3.00 MiB") && limit.getMessage().contains("cuda.pinLimit"),
                    limit::getMessage);
            CudaDevices.Pin pin = devices.pin(memory.asSlice(0, 1 << 20));
            MooncakeException twice = assertThrows(MooncakeException.class,
                    () -> devices.pin(memory.asSlice(4096, 4096)));
            assertEquals(Kind.IN_USE, twice.kind());
            pin.close();
            pin.close();
            devices.pin(memory.asSlice(0, 2 << 20)).close();
        }
    }

    /** Of a sparse file, so that it costs no memory. */
    @Test
    void shouldPinLongMemoryInPartsWhichNoCopySpans(@TempDir Path folder) throws IOException {
        long bytes = HostPins.PART_BYTES + (1 << 20);
        CudaDevices devices = new CudaDevices(NativeRuntime.INSTANCE, CudaConfig.defaults());
        try (FileChannel file = FileChannel.open(folder.resolve("sparse"), StandardOpenOption.CREATE_NEW,
                StandardOpenOption.READ, StandardOpenOption.WRITE); Arena arena = Arena.ofShared()) {
            file.write(ByteBuffer.wrap(new byte[1]), bytes - 1);
            MemorySegment memory = file.map(FileChannel.MapMode.READ_WRITE, 0, bytes, arena);
            long address = memory.address();
            try (CudaDevices.Pin pin = devices.pin(memory)) {
                assertTrue(devices.pins().contains(address, HostPins.PART_BYTES), pin::toString);
                assertTrue(devices.pins().contains(address + HostPins.PART_BYTES, 1 << 20));
                assertFalse(devices.pins().contains(address + HostPins.PART_BYTES - 1, 2));
            }
            assertFalse(devices.pins().contains(address, 1));
            assertFalse(devices.pins().contains(address + HostPins.PART_BYTES, 1));
        }
    }

    @Test
    void shouldKnowEveryPartAndNothingBetween() {
        PinnedRanges ranges = new PinnedRanges();
        TreeMap<Long, Long> expected = new TreeMap<>();
        SplittableRandom random = new SplittableRandom(3);
        for (int i = 0; i < 2000; i++) {
            long address = random.nextInt(64) * 100L + 1000;
            if (expected.containsKey(address)) {
                ranges.remove(address);
                expected.remove(address);
            } else {
                long bytes = random.nextInt(1, 101);
                ranges.add(address, bytes);
                expected.put(address, bytes);
            }
            long asked = random.nextInt(900, 7600);
            long length = random.nextInt(1, 50);
            var part = expected.floorEntry(asked);
            assertEquals(part != null && asked + length <= part.getKey() + part.getValue(),
                    ranges.contains(asked, length));
        }
    }
}
