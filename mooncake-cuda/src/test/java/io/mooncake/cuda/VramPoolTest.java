package io.mooncake.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Memory.DeviceMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.Tier;
import io.mooncake.core.pool.BlockPool;
import io.mooncake.core.pool.SizeClass;
import io.mooncake.cuda.runtime.NativeRuntime;
import io.mooncake.testing.BlockPoolContract;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The pool in a device's memory. */
final class VramPoolTest extends BlockPoolContract {
    private static final List<SizeClass> CLASSES = List.of(new SizeClass(4096, 2), new SizeClass(100, 4));

    @BeforeAll
    static void install() {
        EmulatedCuda.install();
    }

    @BeforeEach
    void reset() {
        EmulatedCuda.reset(2);
    }

    private static CudaDevices devices() {
        return new CudaDevices(NativeRuntime.INSTANCE, CudaConfig.defaults().withPeerProbe(false));
    }

    @Override
    protected BlockPool open() {
        return devices().pool(1, CLASSES);
    }

    @Test
    void shouldReserveOnceAndCallNothingForASlot() {
        CudaDevices devices = devices();
        long before = EmulatedCuda.statistics().allocations();
        VramPool pool = devices.pool(0, CLASSES);
        assertEquals(Tier.VRAM, pool.tier());
        assertTrue(devices.pins().contains(pool.guards().memory().address(), pool.guards().memory().byteSize()));
        assertEquals(0, pool.device());
        assertEquals(before + 1, EmulatedCuda.statistics().allocations());
        long calls = EmulatedCuda.statistics().calls();
        for (int i = 0; i < 1000; i++) {
            pool.release(pool.reserve(100));
        }
        assertEquals(calls, EmulatedCuda.statistics().calls());
        DeviceMemory memory = (DeviceMemory) pool.memory();
        assertEquals(0, memory.address() % 256);
        assertEquals(0, pool.offset(1) % VramPool.SLOT_ALIGNMENT);
        long frees = EmulatedCuda.statistics().frees();
        pool.close();
        assertEquals(frees + 1, EmulatedCuda.statistics().frees());
    }

    @Test
    void shouldRefuseWithTheNumbersWhatDoesNotFit() {
        EmulatedCuda.memory(0, 1 << 20);
        CudaDevices devices = devices();
        MooncakeException e = assertThrows(MooncakeException.class,
                () -> devices.pool(0, List.of(new SizeClass(64 << 10, 17))));
        assertEquals(Kind.OUT_OF_MEMORY, e.kind());
        for (String part : List.of("vram0", String.valueOf(17 << 16), "device 0", "free of 1.00 MiB",
                "make the pool smaller")) {
            assertTrue(e.getMessage().contains(part), () -> part + " is not in: " + e.getMessage());
        }
        assertEquals(Kind.CONFIG_ERROR,
                assertThrows(MooncakeException.class, () -> devices.pool(2, CLASSES)).kind());
    }

    @Test
    void shouldTakeAFractionOfWhatIsFree() {
        EmulatedCuda.memory(1, 10 << 20);
        CudaDevices devices = devices();
        try (VramPool pool = devices.pool(1, 0.5, 1 << 20)) {
            assertEquals(5, pool.slots());
            try (VramPool rest = devices.pool(1, 1.0, 1 << 20)) {
                assertEquals(5, rest.slots());
                assertEquals(Kind.OUT_OF_MEMORY,
                        assertThrows(MooncakeException.class, () -> devices.pool(1, 1.0, 1 << 20)).kind());
            }
        }
        assertEquals(Kind.CONFIG_ERROR, assertThrows(MooncakeException.class, () -> devices.pool(1, 1.5, 1)).kind());
        assertEquals(Kind.OUT_OF_MEMORY,
                assertThrows(MooncakeException.class, () -> devices.pool(1, 0.01, 1 << 20)).kind());
    }

    @Test
    void shouldGiveNoSlotOfALostDevice() {
        CudaDevices devices = devices();
        VramPool pool = devices.pool(0, CLASSES);
        int slot = pool.reserve(1);
        EmulatedCuda.failCall(0, 719);
        assertThrows(RuntimeException.class, () -> devices.device(0).freeBytes());
        long calls = EmulatedCuda.statistics().calls();
        assertEquals(BlockPool.NONE, pool.reserve(1));
        pool.release(slot);
        pool.close();
        assertEquals(calls, EmulatedCuda.statistics().calls(), "a lost device is asked nothing");
    }
}
