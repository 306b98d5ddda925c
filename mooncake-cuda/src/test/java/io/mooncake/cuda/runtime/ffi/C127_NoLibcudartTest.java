package io.mooncake.cuda.runtime.ffi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.cuda.EmulatedCuda;
import io.mooncake.testing.CCompiler;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Case C127 for the CUDA runtime: absent, incomplete or without a device, it is a clear sentence. */
class C127_NoLibcudartTest {

    private static final Path INCLUDES = Path.of("src/main/jextract/includes.conf");

    @TempDir
    @SuppressWarnings("NullAway.Init")
    Path folder;

    @BeforeAll
    static void install() {
        EmulatedCuda.install();
    }

    @Test
    void shouldNameFileAndPropertyWhenTheFileIsMissing() {
        Path missing = folder.resolve("libcudart.so.13");
        String sentence = failure(missing.toString());
        assertTrue(sentence.contains(missing.toString()) && sentence.contains("-Dio.mooncake.cuda.library"), sentence);
        assertEquals(sentence, failure(missing.toString()), "a second try gives the same message");
    }

    @Test
    void shouldNameTheFileWhenItIsNoLibrary() throws IOException {
        Path text = Files.writeString(folder.resolve("text.so"), "not a library");
        String sentence = failure(text.toString());
        assertTrue(sentence.startsWith("cannot open " + text), sentence);
    }

    @Test
    void shouldNameTheSymbolThatTheLibraryLacks() throws IOException {
        for (String absent : List.of("cudaEventQuery", "cudaMemcpy2DAsync")) {
            List<String> functions = bound();
            functions.remove(absent);
            Path stub = CCompiler.stubLibrary(folder.resolve("libcudart-without-" + absent + ".so"), functions);
            String sentence = failure(stub.toString());
            assertTrue(sentence.contains(stub.toString()) && sentence.contains(absent), sentence);
        }
    }

    @ParameterizedTest
    @CsvSource({"35, 0, driver", "100, 0, no device", "0, 0, no device", "999, 0, error 999"})
    void shouldRefuseALibraryThatOpensButCountsNoDevice(int error, int count, String word) throws IOException {
        String sentence = failure(stub(error, count).toString());
        assertTrue(sentence.startsWith("no usable GPU: ") && sentence.contains(word), sentence);
        assertTrue(sentence.contains("error " + error), sentence);
    }

    @Test
    void shouldTakeALibraryThatCountsADevice() throws IOException {
        CudaLibrary.Opened opened = CudaLibrary.choose(stub(0, 2).toString());
        assertNull(opened.failure());
        assertNotNull(opened.symbols());
    }

    @Test
    void shouldCheckEveryFunctionThatIsBound() throws IOException {
        assertEquals(CCompiler.boundFunctions(INCLUDES), CudaLibrary.REQUIRED);
    }

    private static List<String> bound() {
        List<String> functions = new ArrayList<>(CudaLibrary.REQUIRED);
        functions.addAll(CudaLibrary.BY_HAND);
        return functions;
    }

    private Path stub(int error, int count) throws IOException {
        return CCompiler.stubLibrary(folder.resolve("libcudart-stub.so"), bound(), "cudaGetDeviceCount",
                "int cudaGetDeviceCount(int *n) { *n = " + count + "; return " + error + "; }");
    }

    private static String failure(String path) {
        CudaLibrary.Opened opened = CudaLibrary.choose(path);
        assertNull(opened.symbols());
        Throwable failure = opened.failure();
        assertNotNull(failure);
        return String.valueOf(failure.getMessage());
    }
}
