package io.mooncake.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.cuda.runtime.ffi.CudaLibrary;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The real CUDA runtime of this machine, with and without a GPU. */
class CudaTest {

    @Test
    void shouldSayWhyInOneSentenceWhenTheRealRuntimeHasNoGpu() {
        assumeFalse(Cuda.isAvailable(), "this machine has a GPU");
        assumeTrue(Cuda.unavailabilityCause() instanceof UnsupportedOperationException,
                () -> "a CUDA runtime is needed: " + Cuda.unavailabilityCause());

        Throwable cause = Cuda.unavailabilityCause();

        assertNotNull(cause);
        String sentence = String.valueOf(cause.getMessage());
        assertTrue(sentence.startsWith("no usable GPU: libcudart.so"), sentence);
        assertTrue(sentence.contains("error 35") || sentence.contains("error 100"), sentence);
        assertFalse(sentence.contains("\n"), sentence);
        assertSame(cause, Cuda.unavailabilityCause());
    }

    @Test
    void shouldHaveACauseExactlyWhenUnavailable() {
        assertEquals(Cuda.isAvailable(), Cuda.unavailabilityCause() == null);
    }

    @Test
    @Tag("gpu")
    void shouldGiveTheBindingsTheRuntimeThatCountedAGpu() {
        assumeTrue(Cuda.isAvailable(), () -> "a GPU is needed: " + Cuda.unavailabilityCause());
        assertTrue(CudaLibrary.lookup().find("cudaMemcpyAsync").isPresent());
    }
}
