package io.mooncake.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.Stream;
import io.mooncake.core.pool.DramPool;
import io.mooncake.core.pool.MemorySource;
import io.mooncake.core.pool.SizeClass;
import io.mooncake.core.pool.StreamOrder.Work;
import io.mooncake.cuda.runtime.Device;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The example of docs/cuda.md. */
@Tag("gpu")
class CudaExampleTest {
    private static final Stream DEFAULT_STREAM = new Stream(0);

    @BeforeEach
    void install() {
        EmulatedCuda.resetWhereEmulated(1);
    }

    @Test
    void shouldRun() {
        CudaDevices devices = CudaDevices.open(CudaConfig.defaults());
        devices.describe().forEach(line -> assertTrue(line.startsWith("device "), line));
        List<SizeClass> classes = List.of(new SizeClass(1 << 20, 4));
        try (VramPool pool = devices.pool(0, classes);
                DramPool host = new DramPool("dram", classes, devices.pinned(MemorySource.anonymous()))) {
            MemorySegment bytes = ((Memory.HostMemory) host.memory()).segment().asSlice(0, 1 << 20).fill((byte) 42);
            int slot = pool.reserve(bytes.byteSize());

            // After what the stream has now, before what it gets next; the bytes count when the work has ended.
            Work work = pool.streams().write(pool.offset(slot), Memory.of(bytes), DEFAULT_STREAM);
            work.await();

            Device device = devices.device(0);
            Memory.DeviceMemory block = ((Memory.DeviceMemory) pool.memory()).part(pool.offset(slot), 1 << 20);
            assertEquals((byte) 42, DeviceBytes.read(device, block).get(ValueLayout.JAVA_BYTE, 12_345));
            pool.release(slot);
        }
    }
}
