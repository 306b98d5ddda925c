package io.mooncake.cuda.runtime.ffi;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Where the bindings find the CUDA runtime: the one file in the system property {@value #PATH_PROPERTY}, else the first
 * usable of {@code libcudart.so.13}, {@code libcudart.so.12}, {@code libcudart.so} and the toolkit's own. Usable means that
 * it opens, has every bound symbol and counts at least one device: a runtime that is newer than the driver opens too, and
 * only its {@code cudaGetDeviceCount} tells. Chosen once, when this class is initialised, which never throws; the library
 * stays open for the life of the process. Safe from any thread.
 *
 * <p>Ask {@link #failure()} before any generated class is touched: their second use after a failed lookup is a bare
 * {@link NoClassDefFoundError}.
 */
@SuppressWarnings("restricted")
public final class CudaLibrary {

    /** The system property that names the library's file. */
    public static final String PATH_PROPERTY = "io.mooncake.cuda.library";

    static final List<String> CANDIDATES = List.of("libcudart.so.13", "libcudart.so.12", "libcudart.so",
            "/usr/local/cuda/lib64/libcudart.so");

    /** Bound and needed; a library without one of these is refused as a whole. */
    static final List<String> REQUIRED = List.of( //
            "cudaGetDeviceCount", "cudaGetDevice", "cudaSetDevice", "cudaDeviceSynchronize", "cudaDeviceReset",
            "cudaDeviceGetAttribute", "cudaDeviceGetPCIBusId", "cudaDeviceGetByPCIBusId", "cudaDeviceCanAccessPeer",
            "cudaDeviceEnablePeerAccess", "cudaDeviceDisablePeerAccess", "cudaMemGetInfo", "cudaMalloc", "cudaFree",
            "cudaMallocAsync", "cudaFreeAsync", "cudaMallocHost", "cudaHostAlloc", "cudaFreeHost", "cudaHostRegister",
            "cudaHostUnregister", "cudaHostGetDevicePointer", "cudaMemcpy", "cudaMemcpyAsync", "cudaMemcpyPeer",
            "cudaMemcpyPeerAsync", "cudaMemset", "cudaMemsetAsync", "cudaStreamCreate", "cudaStreamCreateWithFlags",
            "cudaStreamCreateWithPriority", "cudaStreamDestroy", "cudaStreamSynchronize", "cudaStreamQuery",
            "cudaStreamWaitEvent", "cudaLaunchHostFunc", "cudaEventCreate", "cudaEventCreateWithFlags",
            "cudaEventRecord", "cudaEventQuery", "cudaEventSynchronize", "cudaEventDestroy", "cudaEventElapsedTime",
            "cudaPointerGetAttributes", "cudaIpcGetMemHandle", "cudaIpcOpenMemHandle", "cudaIpcCloseMemHandle",
            "cudaGetLastError", "cudaPeekAtLastError", "cudaGetErrorString", "cudaGetErrorName",
            "cudaRuntimeGetVersion", "cudaDriverGetVersion");

    /** Bound by hand in {@link CudaCalls}, and needed as well. */
    static final List<String> BY_HAND = List.of("cudaMemcpy2DAsync", "cudaDeviceFlushGPUDirectRDMAWrites");

    private static final int INSUFFICIENT_DRIVER = 35;
    private static final int NO_DEVICE = 100;

    private static final Opened OPENED = choose(System.getProperty(PATH_PROPERTY));

    private CudaLibrary() {}

    /**
     * The library's symbols.
     *
     * @return the lookup that the generated bindings use
     * @throws UnsatisfiedLinkError with the sentence of {@link #failure()}; an {@link Error} passes the initialisation of
     *     the generated classes unwrapped
     */
    public static SymbolLookup lookup() {
        Throwable failure = OPENED.failure;
        if (failure != null) {
            UnsatisfiedLinkError error = new UnsatisfiedLinkError(failure.getMessage());
            error.initCause(failure);
            throw error;
        }
        return Objects.requireNonNull(OPENED.symbols);
    }

    /**
     * Why no CUDA runtime can be used.
     *
     * @return one sentence with its remedy as the message, the same at every call; null when a GPU is usable
     */
    public static @Nullable Throwable failure() {
        return OPENED.failure;
    }

    /** What a try to open a library gave: exactly one of the two is null. */
    record Opened(@Nullable SymbolLookup symbols, @Nullable Throwable failure) {

        static Opened failed(String sentence, @Nullable Throwable cause) {
            UnsatisfiedLinkError error = new UnsatisfiedLinkError(sentence);
            if (cause != null) {
                error.initCause(cause);
            }
            return new Opened(null, error);
        }
    }

    static Opened choose(@Nullable String path) {
        try {
            if (path != null) {
                return fromFile(path);
            }
            Opened firstFailure = null;
            for (String name : CANDIDATES) {
                SymbolLookup symbols = openOrNull(name);
                if (symbols == null) {
                    continue;
                }
                Opened opened = validate(name, symbols);
                if (opened.failure == null) {
                    return opened;
                }
                firstFailure = firstFailure == null ? opened : firstFailure;
            }
            return firstFailure != null
                    ? firstFailure
                    : Opened.failed("cannot open any of " + String.join(", ", CANDIDATES)
                            + "; install the CUDA runtime 13 or 12, or name its file with -D" + PATH_PROPERTY + "=PATH",
                            null);
        } catch (IllegalCallerException denied) {
            return Opened
                    .failed("native access is denied to " + grantee() + ": start the JVM with --enable-native-access="
                            + grantee(), denied);
        }
    }

    private static Opened fromFile(String path) {
        try {
            if (!Files.isRegularFile(Path.of(path))) {
                return Opened.failed("-D" + PATH_PROPERTY + "=" + path
                        + ": there is no such file; correct the path, or drop the property to search for "
                        + CANDIDATES.getFirst(), null);
            }
            return validate(path, SymbolLookup.libraryLookup(Path.of(path), Arena.global()));
        } catch (IllegalArgumentException e) {
            return Opened.failed("cannot open " + path + ", which -D" + PATH_PROPERTY
                    + " names; it must be a shared library for this machine whose own dependencies are installed", e);
        }
    }

    private static @Nullable SymbolLookup openOrNull(String name) {
        try {
            return SymbolLookup.libraryLookup(name, Arena.global());
        } catch (IllegalArgumentException absent) {
            return null; // the next candidate's turn; when none opens, the sentence names them all
        }
    }

    private static Opened validate(String name, SymbolLookup symbols) {
        for (List<String> bound : List.of(REQUIRED, BY_HAND)) {
            for (String symbol : bound) {
                if (symbols.find(symbol).isEmpty()) {
                    return Opened.failed(name + " lacks the symbol " + symbol + ": install the CUDA runtime 13 or 12",
                            null);
                }
            }
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment count = arena.allocate(ValueLayout.JAVA_INT);
            int error = (int) Downcalls.bind(symbols, "cudaGetDeviceCount", ValueLayout.ADDRESS).invokeExact(count);
            int devices = count.get(ValueLayout.JAVA_INT, 0);
            if (error == 0 && devices > 0) {
                return new Opened(symbols, null);
            }
            return new Opened(null, new UnsupportedOperationException("no usable GPU: " + name + why(error)));
        } catch (Throwable e) {
            throw Downcalls.unexpected(e);
        }
    }

    private static String why(int error) {
        return switch (error) {
            case INSUFFICIENT_DRIVER ->
                " finds no NVIDIA driver that is new enough for it (cudaGetDeviceCount: error 35): "
                        + "install or update the driver, or install an older runtime";
            case 0, NO_DEVICE -> " counts no device (cudaGetDeviceCount: error " + error
                    + "): check nvidia-smi, CUDA_VISIBLE_DEVICES and the container's devices";
            default -> ": cudaGetDeviceCount failed with error " + error + ": check nvidia-smi and the driver's log";
        };
    }

    /** What the JVM's flag calls the code that asks: the module, or everything on the class path. */
    private static String grantee() {
        Module module = CudaLibrary.class.getModule();
        return module.isNamed() ? module.getName() : "ALL-UNNAMED";
    }
}
