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

/** Case C127 for the driver's library, which need not be there: absent or incomplete, it is a clear sentence. */
class C127_NoLibcudaTest {
    @TempDir
    @SuppressWarnings("NullAway.Init")
    Path folder;

    @BeforeAll
    static void install() {
        EmulatedCuda.install();
    }

    private static String failure(Path library) {
        DriverLibrary.Opened opened = DriverLibrary.choose(library.toString());
        assertNull(opened.symbols());
        String failure = opened.failure();
        assertNotNull(failure);
        assertTrue(failure.contains(library.toString()), failure);
        return failure;
    }

    @Test
    void shouldNameTheFileThatIsMissingOrNoLibrary() throws IOException {
        assertTrue(failure(folder.resolve("libcuda.so.1")).contains("no such file"));
        assertTrue(failure(Files.writeString(folder.resolve("text.so"), "not a library")).startsWith("cannot open"));
    }

    @Test
    void shouldNameTheSymbolThatTheLibraryLacks() throws IOException {
        for (String absent : DriverLibrary.NEEDED) {
            List<String> functions = new ArrayList<>(DriverLibrary.NEEDED);
            functions.remove(absent);
            assertTrue(failure(CCompiler.stubLibrary(folder.resolve("without-" + absent + ".so"), functions))
                    .contains(absent));
        }
    }

    @Test
    void shouldRefuseADriverThatDoesNotBegin() throws IOException {
        assertTrue(failure(CCompiler.stubLibrary(folder.resolve("no-device.so"), DriverLibrary.NEEDED, "cuInit",
                "int cuInit(unsigned flags) { return 100 + (int) flags; }")).contains("error 100"));
    }

    @Test
    void shouldTakeAWholeOne() throws IOException {
        DriverLibrary.Opened opened = DriverLibrary.choose(CCompiler.stubLibrary(folder.resolve("whole.so"),
                DriverLibrary.NEEDED, "cuInit", "int cuInit(unsigned flags) { return (int) flags; }").toString());
        assertNotNull(opened.symbols());
        assertEquals(null, opened.failure());
    }
}
