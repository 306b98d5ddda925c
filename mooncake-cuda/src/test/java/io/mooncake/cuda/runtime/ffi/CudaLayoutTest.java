package io.mooncake.cuda.runtime.ffi;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.mooncake.testing.CLayouts;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The generated structures against the C compiler's. */
class CudaLayoutTest {

    @Test
    void shouldEqualWhatTheCCompilerSays(@TempDir Path folder) throws IOException {
        CLayouts.assertEqualInC(folder, "cuda_runtime_api.h",
                List.of(cudaPointerAttributes.layout(), cudaIpcMemHandle_st.layout(), CUuuid_st.layout()),
                "-I/usr/local/cuda/include");
    }

    @Test
    void shouldReserveWhatTheNewestRuntimeWrites() {
        // 24 bytes in CUDA 12: the larger one is always allocated.
        assertEquals(88, cudaPointerAttributes.sizeof());
        assertEquals(64, cudaIpcMemHandle_st.sizeof());
    }
}
