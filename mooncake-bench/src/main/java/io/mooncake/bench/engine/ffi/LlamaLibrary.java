package io.mooncake.bench.engine.ffi;

import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Where llama.cpp comes from: the library inside the artifact {@code de.kherud:llama}, for Linux on x86-64 or aarch64, which is copied to the
 * temporary folder while it is opened. Opened once, when this class is initialised, which never throws; it stays open for the life of the process.
 * Any thread.
 *
 * <p>Ask {@link #failure()} before any other class of this package is touched.
 */
@SuppressWarnings("restricted")
public final class LlamaLibrary {
    /** The version of the C API that this package is written for, as the library itself says. */
    public static final int BUILD = 4916;

    private static final String FILE = "libjllama.so";
    /** What the library's code for x86-64 takes for granted. */
    private static final List<String> CPU_FLAGS = List.of("avx2", "bmi2", "f16c", "fma");

    private static final Opened OPENED = open();

    private LlamaLibrary() {}

    /**
     * Why the library can't be used.
     *
     * @return one sentence, the same at every call; null when it can
     */
    public static @Nullable String failure() {
        return OPENED.failure;
    }

    /**
     * What its results depend on, besides the model.
     *
     * @return version and kernels
     */
    public static String describe() {
        return "llama.cpp b" + BUILD + " " + architecture();
    }

    static SymbolLookup lookup() {
        if (OPENED.failure != null) {
            throw new UnsatisfiedLinkError(OPENED.failure);
        }
        return Objects.requireNonNull(OPENED.symbols);
    }

    /** What a try to open the library gave: exactly one of the two is null. */
    record Opened(@Nullable SymbolLookup symbols, @Nullable String failure) {
        static Opened failed(String sentence) {
            return new Opened(null, sentence);
        }
    }

    private static String architecture() {
        String name = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
        return name.equals("amd64") ? "x86_64" : name;
    }

    private static Opened open() {
        String system = System.getProperty("os.name") + "/" + architecture();
        try (InputStream library = LlamaLibrary.class.getResourceAsStream("/de/kherud/llama/" + system + "/" + FILE)) {
            if (library == null) {
                return Opened.failed("there is no llama.cpp for " + system
                        + " on the class path: run on Linux, x86-64 or aarch64");
            }
            Path cpu = Path.of("/proc/cpuinfo");
            String missing = architecture().equals("x86_64") ? missingFlags(Files.readString(cpu)) : "";
            return missing.isEmpty()
                    ? open(library)
                    : Opened.failed("llama.cpp was built for processors that have " + missing + ", says " + cpu
                            + ", and this one has not");
        } catch (IOException e) {
            return Opened.failed("cannot copy llama.cpp to " + System.getProperty("java.io.tmpdir")
                    + ", to open it there: " + e);
        }
    }

    /** Which of the processor's abilities that are needed it does not have; empty = it has all. */
    static String missingFlags(String cpuInfo) {
        Set<String> flags = cpuInfo.lines()
                .filter(line -> line.startsWith("flags"))
                .findFirst()
                .map(line -> Set.copyOf(Arrays.asList(line.split("\\s+", -1))))
                .orElse(Set.of());
        List<String> missing = new ArrayList<>(CPU_FLAGS);
        missing.removeAll(flags);
        return String.join(", ", missing);
    }

    private static Opened open(InputStream library) throws IOException {
        Path file = Files.createTempFile("mooncake-llama", ".so");
        try {
            Files.copy(library, file, StandardCopyOption.REPLACE_EXISTING);
            return open(file);
        } finally {
            // What is mapped stays.
            Files.delete(file);
        }
    }

    static Opened open(Path file) {
        SymbolLookup symbols;
        try {
            symbols = SymbolLookup.libraryLookup(file, Arena.global());
        } catch (IllegalCallerException e) {
            return Opened.failed("native access is denied: start java with --enable-native-access=ALL-UNNAMED");
        } catch (IllegalArgumentException e) {
            return Opened
                    .failed("cannot open llama.cpp: it needs glibc, libstdc++ and libgomp (package libgomp1), and a "
                            + "temporary folder that programs may be run from (" + e.getMessage() + ")");
        }
        int build = symbols.find("LLAMA_BUILD_NUMBER")
                .map(symbol -> symbol.reinterpret(Integer.BYTES).get(ValueLayout.JAVA_INT, 0))
                .orElse(0);
        return build == BUILD
                ? new Opened(symbols, null)
                : Opened.failed("the library of llama.cpp has build " + build + ", and its structs are known of build "
                        + BUILD + " only: use de.kherud:llama 4.2.0");
    }
}
