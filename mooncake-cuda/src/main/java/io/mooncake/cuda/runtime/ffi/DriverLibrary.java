package io.mooncake.cuda.runtime.ffi;

import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Where {@link DriverCalls} find the CUDA driver library, of which only little is needed and nothing for sure: the one file in the system property
 * {@value #PATH_PROPERTY}, else {@code libcuda.so.1}. Without it devices work as ever, and network cards get at their memory by other ways. Chosen once,
 * when this class is initialised, which never throws; safe from any thread.
 */
@SuppressWarnings("restricted")
public final class DriverLibrary {

    /** The system property that names the library's file. */
    public static final String PATH_PROPERTY = "io.mooncake.cuda.driver";

    static final String NAME = "libcuda.so.1";

    static final List<String> NEEDED = List.of("cuInit", "cuDeviceGet", "cuDeviceGetAttribute", "cuGetErrorName",
            "cuMemGetHandleForAddressRange");

    private static final Opened OPENED = choose(System.getProperty(PATH_PROPERTY));

    /** What a try to open the library gave: exactly one of the two is null. */
    record Opened(@Nullable SymbolLookup symbols, @Nullable String failure) {}

    private DriverLibrary() {}

    /**
     * Why it cannot be used.
     *
     * @return one sentence, the same at every call; null when it can
     */
    public static @Nullable String failure() {
        return OPENED.failure;
    }

    static SymbolLookup lookup() {
        SymbolLookup symbols = OPENED.symbols;
        if (symbols == null) {
            throw new UnsatisfiedLinkError(OPENED.failure);
        }
        return symbols;
    }

    static Opened choose(@Nullable String path) {
        String name = path == null ? NAME : path;
        SymbolLookup symbols;
        try {
            if (path != null && !Files.isRegularFile(Path.of(path))) {
                return new Opened(null, "-D" + PATH_PROPERTY + "=" + path + ": there is no such file");
            }
            symbols = path == null
                    ? SymbolLookup.libraryLookup(NAME, Arena.global())
                    : SymbolLookup.libraryLookup(Path.of(path), Arena.global());
        } catch (IllegalArgumentException absent) {
            return new Opened(null, "cannot open " + name + ", the driver's library");
        } catch (IllegalCallerException denied) {
            return new Opened(null, "native access is denied, which " + name + " needs");
        }
        for (String symbol : NEEDED) {
            if (symbols.find(symbol).isEmpty()) {
                return new Opened(null, name + " lacks the symbol " + symbol + ": it is of a driver before CUDA 11.7");
            }
        }
        int error = init(symbols);
        return error == 0
                ? new Opened(symbols, null)
                : new Opened(null, name + ": cuInit failed with error " + error);
    }

    private static int init(SymbolLookup symbols) {
        try {
            return (int) Downcalls.bind(symbols, "cuInit", ValueLayout.JAVA_INT).invokeExact(0);
        } catch (Throwable e) {
            throw Downcalls.unexpected(e);
        }
    }
}
