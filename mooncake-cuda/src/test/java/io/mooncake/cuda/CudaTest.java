package io.mooncake.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.cuda.runtime.ffi.CudaLibrary;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Whether there is a GPU, and what is opened then. */
@Tag("gpu")
class CudaTest {
    @BeforeAll
    static void install() {
        EmulatedCuda.install();
    }

    @Test
    void shouldHaveACauseExactlyWhenUnavailable() {
        assertEquals(Cuda.isAvailable(), Cuda.unavailabilityCause() == null);
    }

    @Test
    void shouldGiveTheBindingsTheRuntimeThatCountedAGpu() {
        assertTrue(CudaLibrary.lookup().find("cudaMemcpyAsync").isPresent());
    }

    @Test
    void shouldOpenEveryDeviceAndSayHowTheyReachEachOther() {
        CudaDevices devices = CudaDevices.open(CudaConfig.defaults());
        assertTrue(devices.count() > 0);
        assertEquals(devices.count(), devices.describe().size());
        assertEquals(devices.count() * (devices.count() - 1), devices.links().size());
        assertTrue(devices.describe().getFirst().startsWith("device 0 at 0000:"), devices.describe()::toString);
    }

    @Test
    void shouldRefuseSettingsThatCannotWork() {
        for (Runnable wrong : new Runnable[]{() -> CudaConfig.defaults().withChunks(1, 4),
                () -> CudaConfig.defaults().withChunks(1 << 20, 0), () -> CudaConfig.defaults().withPinLimit(-1)}) {
            MooncakeException e = assertThrows(MooncakeException.class, wrong::run);
            assertEquals(Kind.CONFIG_ERROR, e.kind());
            assertTrue(e.getMessage().startsWith("cuda."), e::getMessage);
        }
    }
}
