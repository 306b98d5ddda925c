package io.mooncake.bench.availability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.testing.CCompiler;
import io.mooncake.testing.ForkedJvm;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Case C127 in a fresh JVM: the sentence, the same at the second try, and never an ExceptionInInitializerError. */
class C127_NoNativeLibraryTest {

    private static final Path VERBS = Path.of("../mooncake-rdma/src/main/jextract/includes.conf");
    private static final Path CUDA = Path.of("../mooncake-cuda/src/main/jextract/includes.conf");

    @TempDir
    @SuppressWarnings("NullAway.Init")
    Path folder;

    @Test
    void shouldNameTheLibraryWhenItIsMissing() throws Exception {
        ForkedJvm.Result result = probe(folder.resolve("no-verbs.so"), folder.resolve("no-cudart.so"));
        assertUnavailable(result, "no-verbs.so", "no-cudart.so");
    }

    @Test
    void shouldNameTheSymbolWhenTheLibraryLacksOne() throws Exception {
        ForkedJvm.Result result = probe(
                CCompiler.stubLibrary(folder.resolve("verbs.so"),
                        bound(VERBS, name -> !name.equals("ibv_reg_mr_iova2"))),
                CCompiler.stubLibrary(folder.resolve("cudart.so"),
                        bound(CUDA, name -> !name.equals("cudaHostRegister"))));
        assertUnavailable(result, "ibv_reg_mr_iova2", "cudaHostRegister");
    }

    @Test
    void shouldSayThatThereIsNoDeviceWhenTheLibraryCountsNone() throws Exception {
        ForkedJvm.Result result = probe(verbsWithDevices(0), cudaWithDevices(0));
        assertTrue(Probes.said(result, "rdma 1").contains("no RDMA device"), result.out());
        assertTrue(Probes.said(result, "cuda 1").contains("counts no device"), result.out());
        assertEquals("", result.err());
    }

    @Test
    void shouldBeAvailableWhenTheLibraryCountsADevice() throws Exception {
        ForkedJvm.Result result = probe(verbsWithDevices(1), cudaWithDevices(1));
        for (String what : List.of("rdma 1", "rdma 2", "cuda 1", "cuda 2")) {
            assertEquals("available", Probes.said(result, what));
        }
        assertEquals("works", Probes.said(result, "raw verbs"));
        assertEquals("works", Probes.said(result, "raw cuda"));
    }

    private ForkedJvm.Result probe(Path verbs, Path cuda) throws IOException, InterruptedException {
        return Probes.run(folder, Probes.On.CLASS_PATH, List.of("--enable-native-access=ALL-UNNAMED",
                "-Dio.mooncake.rdma.library=" + verbs, "-Dio.mooncake.cuda.library=" + cuda), "touch");
    }

    private static void assertUnavailable(ForkedJvm.Result result, String inVerbs, String inCuda) {
        String verbs = Probes.said(result, "rdma 1");
        String cuda = Probes.said(result, "cuda 1");
        assertTrue(verbs.contains(inVerbs), verbs);
        assertTrue(cuda.contains(inCuda), cuda);
        assertEquals(verbs, Probes.said(result, "rdma 2"));
        assertEquals(cuda, Probes.said(result, "cuda 2"));
        // Who did not ask first meets the same sentence, unwrapped.
        assertEquals("UnsatisfiedLinkError " + verbs, Probes.said(result, "raw verbs"));
        assertEquals("UnsatisfiedLinkError " + cuda, Probes.said(result, "raw cuda"));
        assertFalse(result.out().contains("ExceptionInInitializerError"), result.out());
        assertEquals("", result.err());
    }

    private Path verbsWithDevices(int count) throws IOException {
        return CCompiler.stubLibrary(folder.resolve("verbs.so"), bound(VERBS, name -> true), "ibv_get_device_list",
                "static void *list[2]; void **ibv_get_device_list(int *n) { *n = " + count + "; list[0] = " + count
                        + " ? list : NULL; return list; }",
                "ibv_get_device_name", "const char *ibv_get_device_name(void *device) { return \"stub0\"; }");
    }

    private Path cudaWithDevices(int count) throws IOException {
        List<String> all = new ArrayList<>(bound(CUDA, name -> true));
        // Not generated, but needed as well.
        all.addAll(List.of("cudaMemcpy2DAsync", "cudaDeviceFlushGPUDirectRDMAWrites"));
        return CCompiler.stubLibrary(folder.resolve("cudart.so"), all, "cudaGetDeviceCount",
                "int cudaGetDeviceCount(int *n) { *n = " + count + "; return 0; }");
    }

    private static List<String> bound(Path includes, Predicate<String> kept) throws IOException {
        return CCompiler.boundFunctions(includes).stream().filter(kept).toList();
    }
}
