package io.mooncake.cuda.runtime.ffi;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.cuda.EmulatedCuda;
import java.util.Objects;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The real CUDA runtime of this machine, where it has one and no GPU. */
class RealRuntimeTest {
    @BeforeAll
    static void install() {
        EmulatedCuda.install();
    }

    @Test
    void shouldSayWhyInOneSentenceWhenTheRealRuntimeHasNoGpu() {
        Throwable cause = CudaLibrary.choose(null).failure();
        assumeTrue(cause instanceof UnsupportedOperationException,
                () -> "a CUDA runtime without a GPU is needed: " + cause);

        String sentence = String.valueOf(Objects.requireNonNull(cause).getMessage());
        assertTrue(sentence.startsWith("no usable GPU: libcudart.so"), sentence);
        assertTrue(sentence.contains("error 35") || sentence.contains("error 100"), sentence);
        assertFalse(sentence.contains("\n"), sentence);
    }
}
