package io.mooncake.cuda;

import io.mooncake.cuda.runtime.ffi.CudaLibrary;
import org.jspecify.annotations.Nullable;

/**
 * Whether this process can use a GPU: a CUDA runtime 12 or 13 is found and complete, native access is granted, and the
 * runtime counts at least one device. Found out once, at the first question; safe from any thread.
 *
 * <p>The library is {@code libcudart.so.13}, {@code libcudart.so.12}, {@code libcudart.so} or that of
 * {@code /usr/local/cuda}, the first that is usable, or the one file that the system property
 * {@code io.mooncake.cuda.library} names. The JVM flag {@code --enable-native-access=io.mooncake.cuda} ({@code ALL-UNNAMED}
 * on the class path) grants native access.
 */
public final class Cuda {

    private Cuda() {}

    /**
     * Whether a GPU can be used here.
     *
     * @return true when {@link #unavailabilityCause()} is null
     */
    public static boolean isAvailable() {
        return CudaLibrary.failure() == null;
    }

    /**
     * Why no GPU can be used here.
     *
     * @return its message is one sentence with the remedy, the same at every call; null when a GPU is available
     */
    public static @Nullable Throwable unavailabilityCause() {
        return CudaLibrary.failure();
    }
}
