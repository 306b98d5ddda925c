package io.mooncake.rdma.verbs.ffi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.testing.CCompiler;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Case C127: no libibverbs, or one that lacks a symbol, is a clear sentence. (In a fresh JVM: see the bench's tests.) */
class C127_NoLibibverbsTest {

    private static final Path INCLUDES = Path.of("src/main/jextract/includes.conf");

    @TempDir
    @SuppressWarnings("NullAway.Init")
    Path folder;

    @Test
    void shouldNameFileAndPropertyWhenTheFileIsMissing() {
        Path missing = folder.resolve("libibverbs.so.1");
        String sentence = failure(missing.toString());
        assertTrue(sentence.contains(missing.toString()) && sentence.contains("-Dio.mooncake.rdma.library"), sentence);
        assertEquals(sentence, failure(missing.toString()), "a second try gives the same message");
    }

    @Test
    void shouldNameTheFileWhenItIsNoLibrary() throws IOException {
        Path text = Files.writeString(folder.resolve("text.so"), "not a library");
        String sentence = failure(text.toString());
        assertTrue(sentence.startsWith("cannot open " + text), sentence);
    }

    @Test
    void shouldRefuseAPathThatIsNone() {
        String sentence = failure("a\0b");
        assertTrue(sentence.startsWith("cannot open "), sentence);
    }

    @Test
    void shouldNameTheSymbolThatTheLibraryLacks() throws IOException {
        List<String> functions = new ArrayList<>(VerbsLibrary.REQUIRED);
        functions.remove("ibv_modify_qp");
        Path stub = CCompiler.stubLibrary(folder.resolve("libibverbs-old.so"), functions);
        String sentence = failure(stub.toString());
        assertTrue(sentence.contains(stub.toString()) && sentence.contains("ibv_modify_qp"), sentence);
    }

    @Test
    void shouldOpenALibraryThatLacksOnlyWhatIsOptional() throws IOException {
        Path stub = CCompiler.stubLibrary(folder.resolve("libibverbs-min.so"), VerbsLibrary.REQUIRED);
        assertNull(VerbsLibrary.open(stub.toString()).failure());
        assertNotNull(VerbsLibrary.open(stub.toString()).symbols());
    }

    @Test
    void shouldFindEverySymbolInTheRealLibrary() {
        VerbsLibrary.Opened opened = VerbsLibrary.open(null);
        UnsatisfiedLinkError failure = opened.failure();
        assumeTrue(failure == null || !String.valueOf(failure.getMessage()).startsWith("cannot open"),
                () -> "libibverbs is needed: " + failure);
        assertNull(failure);
    }

    @Test
    void shouldCheckEveryFunctionThatIsBound() throws IOException {
        List<String> checked = new ArrayList<>(VerbsLibrary.REQUIRED);
        checked.addAll(VerbsLibrary.OPTIONAL);
        assertEquals(CCompiler.boundFunctions(INCLUDES).stream().sorted().toList(), checked.stream().sorted().toList());
    }

    private static String failure(@Nullable String path) {
        VerbsLibrary.Opened opened = VerbsLibrary.open(path);
        assertNull(opened.symbols());
        UnsatisfiedLinkError failure = opened.failure();
        assertNotNull(failure);
        return String.valueOf(failure.getMessage());
    }
}
