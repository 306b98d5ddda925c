package io.mooncake.cuda.runtime;

import static java.lang.foreign.ValueLayout.ADDRESS;

import io.mooncake.cuda.runtime.ffi.CudaCalls;
import io.mooncake.cuda.runtime.ffi.DriverCalls;
import io.mooncake.cuda.runtime.ffi.DriverLibrary;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** The CUDA driver's library of this process. */
public final class NativeDriver implements CudaDriver {
    /** The one that every call goes to. */
    public static final NativeDriver INSTANCE = new NativeDriver();

    private static final int DMA_BUF_SUPPORTED = 124;
    private static final int DMA_BUF = 1;

    private NativeDriver() {}

    @Override
    public @Nullable String failure() {
        return DriverLibrary.failure();
    }

    @Override
    public int takesDmaBufs(int device) {
        int named = NativeRuntime.intOf(out -> DriverCalls.device(out, device));
        return named < 0
                ? named
                : NativeRuntime.intOf(out -> DriverCalls.attribute(out, DMA_BUF_SUPPORTED, named));
    }

    @Override
    public int dmaBuf(long address, long bytes) {
        return NativeRuntime.intOf(out -> DriverCalls.handle(out, address, bytes, DMA_BUF, 0));
    }

    @Override
    public void close(int fd) {
        // It is gone whatever close says; a second try could close another's.
        int _ = DriverCalls.close(fd);
    }

    @Override
    public int pageSize() {
        return DriverCalls.pageSize();
    }

    @Override
    public String errorText(int code) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment out = arena.allocate(ADDRESS);
            return DriverCalls.errorName(code, out) == 0
                    ? CudaCalls.text(out.get(ADDRESS, 0)) + " (" + code + ")"
                    : "error " + code;
        }
    }
}
