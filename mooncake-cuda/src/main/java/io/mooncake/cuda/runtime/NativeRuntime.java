package io.mooncake.cuda.runtime;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.mooncake.cuda.runtime.ffi.Cuda;
import io.mooncake.cuda.runtime.ffi.CudaCalls;
import io.mooncake.cuda.runtime.ffi.cudaIpcMemHandle_st;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.function.ToIntFunction;

/** The CUDA runtime of this process. */
public final class NativeRuntime implements CudaRuntime {
    private static final int FLUSH_CURRENT_DEVICE = 0;
    private static final int FLUSH_TO_ALL_DEVICES = 200;
    private static final int BUS_ID_BYTES = 32;
    private static final double NS_PER_MS = 1e6;

    /** The one that every call goes to. */
    public static final NativeRuntime INSTANCE = new NativeRuntime();

    private NativeRuntime() {}

    /** What a library puts into a place that it is given, or the negated error. */
    static int intOf(ToIntFunction<MemorySegment> call) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment out = arena.allocate(JAVA_INT);
            int error = call.applyAsInt(out);
            return error == 0 ? out.get(JAVA_INT, 0) : -error;
        }
    }

    private static long longOf(ToIntFunction<MemorySegment> call) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment out = arena.allocate(JAVA_LONG);
            int error = call.applyAsInt(out);
            return error == 0 ? out.get(JAVA_LONG, 0) : -error;
        }
    }

    private static MemorySegment pointer(long address) {
        return MemorySegment.ofAddress(address);
    }

    @Override
    public int deviceCount() {
        return intOf(Cuda::cudaGetDeviceCount);
    }

    @Override
    public int currentDevice() {
        return intOf(CudaCalls::getDevice);
    }

    @Override
    public int setDevice(int device) {
        return -CudaCalls.setDevice(device);
    }

    @Override
    public int attribute(int attribute, int device) {
        return intOf(out -> Cuda.cudaDeviceGetAttribute(out, attribute, device));
    }

    @Override
    public String pciBusId(int device) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocate(BUS_ID_BYTES);
            return Cuda.cudaDeviceGetPCIBusId(text, BUS_ID_BYTES, device) == 0 ? text.getString(0) : "";
        }
    }

    @Override
    public long freeBytes() {
        return memory(0);
    }

    @Override
    public long totalBytes() {
        return memory(1);
    }

    private static long memory(int which) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment out = arena.allocate(JAVA_LONG, 2);
            int error = Cuda.cudaMemGetInfo(out, out.asSlice(Long.BYTES));
            return error == 0 ? out.getAtIndex(JAVA_LONG, which) : -error;
        }
    }

    @Override
    public int canAccessPeer(int device, int peer) {
        return intOf(out -> Cuda.cudaDeviceCanAccessPeer(out, device, peer));
    }

    @Override
    public int enablePeer(int peer) {
        return -Cuda.cudaDeviceEnablePeerAccess(peer, 0);
    }

    @Override
    public long malloc(long bytes) {
        return longOf(out -> Cuda.cudaMalloc(out, bytes));
    }

    @Override
    public int free(long address) {
        return -Cuda.cudaFree(pointer(address));
    }

    @Override
    public long hostAlloc(long bytes) {
        return longOf(out -> Cuda.cudaHostAlloc(out, bytes, Cuda.cudaHostAllocPortable()));
    }

    @Override
    public int freeHost(long address) {
        return -Cuda.cudaFreeHost(pointer(address));
    }

    @Override
    public MemorySegment hostMemory(long address, long bytes, Arena arena, Runnable giveBack) {
        return CudaCalls.hostMemory(address, bytes, arena, segment -> giveBack.run());
    }

    @Override
    public int hostRegister(long address, long bytes) {
        return -Cuda.cudaHostRegister(pointer(address), bytes, Cuda.cudaHostRegisterPortable());
    }

    @Override
    public int hostUnregister(long address) {
        return -Cuda.cudaHostUnregister(pointer(address));
    }

    @Override
    public int copy(long to, long from, long bytes, long stream) {
        return -CudaCalls.copy(to, from, bytes, stream);
    }

    @Override
    public int copyRows(Rows rows, long stream) {
        return -CudaCalls.copyRows(rows.to(), rows.toPitch(), rows.from(), rows.fromPitch(), rows.width(),
                rows.height(), stream);
    }

    @Override
    public int fill(long to, int value, long bytes, long stream) {
        return -CudaCalls.fill(to, value, bytes, stream);
    }

    @Override
    public long createStream(int priority) {
        return longOf(out -> Cuda.cudaStreamCreateWithPriority(out, Cuda.cudaStreamNonBlocking(), priority));
    }

    @Override
    public int destroyStream(long stream) {
        return -Cuda.cudaStreamDestroy(pointer(stream));
    }

    @Override
    public int synchronize(long stream) {
        return -Cuda.cudaStreamSynchronize(pointer(stream));
    }

    @Override
    public int waitFor(long stream, long event) {
        return -CudaCalls.waitFor(stream, event);
    }

    @Override
    public long createEvent(boolean timing) {
        int flags = timing ? Cuda.cudaEventDefault() : Cuda.cudaEventDisableTiming();
        return longOf(out -> Cuda.cudaEventCreateWithFlags(out, flags));
    }

    @Override
    public int destroyEvent(long event) {
        return -Cuda.cudaEventDestroy(pointer(event));
    }

    @Override
    public int record(long event, long stream) {
        return -CudaCalls.record(event, stream);
    }

    @Override
    public int query(long event) {
        return -CudaCalls.query(event);
    }

    @Override
    public long elapsedNs(long first, long last) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment out = arena.allocate(ValueLayout.JAVA_FLOAT);
            int error = Cuda.cudaEventElapsedTime(out, pointer(first), pointer(last));
            return error == 0 ? (long) (out.get(ValueLayout.JAVA_FLOAT, 0) * NS_PER_MS) : -error;
        }
    }

    @Override
    public int exportMemory(long address, MemorySegment handle) {
        return -Cuda.cudaIpcGetMemHandle(handle, pointer(address));
    }

    @Override
    public long importMemory(MemorySegment handle) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment copy = cudaIpcMemHandle_st.allocate(arena).copyFrom(handle);
            return longOf(out -> Cuda.cudaIpcOpenMemHandle(out, copy, Cuda.cudaIpcMemLazyEnablePeerAccess()));
        }
    }

    @Override
    public int closeImported(long address) {
        return -Cuda.cudaIpcCloseMemHandle(pointer(address));
    }

    @Override
    public int flushWrites() {
        return -CudaCalls.flushWrites(FLUSH_CURRENT_DEVICE, FLUSH_TO_ALL_DEVICES);
    }

    @Override
    public String errorText(int code) {
        return CudaCalls.text(Cuda.cudaGetErrorName(code)) + " (" + code + "), "
                + CudaCalls.text(Cuda.cudaGetErrorString(code));
    }
}
