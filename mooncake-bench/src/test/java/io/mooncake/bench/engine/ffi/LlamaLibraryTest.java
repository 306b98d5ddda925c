package io.mooncake.bench.engine.ffi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.core.base.MooncakeException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is not llama.cpp of the known version is refused in words, before anything of it is called. */
class LlamaLibraryTest {
    @Test
    void shouldSayWhatTheProcessorLacks() {
        assertEquals("", LlamaLibrary.missingFlags("processor : 0\nflags : fpu avx2 bmi2 f16c fma\n"));
        assertEquals("bmi2, fma", LlamaLibrary.missingFlags("flags\t: fpu avx2 f16c avx512_fma\nflags : bmi2 fma\n"));
        assertEquals("avx2, bmi2, f16c, fma", LlamaLibrary.missingFlags("processor : 0\n"));
    }

    @Test
    void shouldRefuseWhatIsNoLibrary(@TempDir Path folder) {
        Path file = folder.resolve("libjllama.so");
        String failure = LlamaLibrary.open(file).failure();
        assertNotNull(failure);
        assertTrue(failure.contains("libgomp") && failure.contains(file.toString()), failure);
    }

    @Test
    void shouldRefuseAnotherLibrary() {
        Path other = Path.of(System.getProperty("java.home"), "lib", "libjava.so");
        assumeTrue(Files.exists(other), () -> "there is no " + other);
        String failure = LlamaLibrary.open(other).failure();
        assertNotNull(failure);
        assertTrue(failure.contains("build 0") && failure.contains("4916"), failure);
    }

    @Test
    void shouldRefuseOtherDefaults() {
        Parameters parameters = new Parameters("some_params",
                new Parameters.Field("one", ValueLayout.JAVA_BOOLEAN, true),
                new Parameters.Field("two", ValueLayout.JAVA_INT, 5),
                new Parameters.Field("three", ValueLayout.ADDRESS, 0L));
        assertEquals(16, parameters.layout().byteSize());
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment struct = arena.allocate(parameters.layout());
            struct.set(ValueLayout.JAVA_BYTE, 0, (byte) 1);
            parameters.set(struct, "two", 5);
            assertEquals(5, parameters.checked(struct).get(ValueLayout.JAVA_INT, 4));
            parameters.set(struct, "two", 6);
            MooncakeException refused = assertThrows(MooncakeException.class,
                    () -> parameters.checked(struct));
            assertTrue(refused.getMessage().contains("some_params.two is 6 by default instead of 5"),
                    refused::getMessage);
        }
    }
}
