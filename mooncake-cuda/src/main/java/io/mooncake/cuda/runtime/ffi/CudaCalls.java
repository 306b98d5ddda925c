package io.mooncake.cuda.runtime.ffi;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.function.Consumer;

/**
 * Calls with every pointer a {@code long}, so that no segment of a device's memory is ever made, which the host could dereference; those of
 * the data path, and those that the generated bindings lack. Safe from any thread. Each answers with the runtime's error code, 0 = done.
 */
@SuppressWarnings("restricted")
public final class CudaCalls {

    private static final int ANY_DIRECTION = 4;

    private static final MethodHandle SET_DEVICE = call("cudaSetDevice", JAVA_INT);
    private static final MethodHandle GET_DEVICE = call("cudaGetDevice", ADDRESS);
    private static final MethodHandle COPY = call("cudaMemcpyAsync", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT,
            JAVA_LONG);
    private static final MethodHandle COPY_ROWS = call("cudaMemcpy2DAsync", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG,
            JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG);
    private static final MethodHandle FILL = call("cudaMemsetAsync", JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle RECORD = call("cudaEventRecord", JAVA_LONG, JAVA_LONG);
    private static final MethodHandle QUERY = call("cudaEventQuery", JAVA_LONG);
    private static final MethodHandle WAIT = call("cudaStreamWaitEvent", JAVA_LONG, JAVA_LONG, JAVA_INT);
    private static final MethodHandle FLUSH = call("cudaDeviceFlushGPUDirectRDMAWrites", JAVA_INT, JAVA_INT);

    private CudaCalls() {}

    private static MethodHandle call(String function, MemoryLayout... parameters) {
        return Downcalls.bind(CudaLibrary.lookup(), function, parameters);
    }

    /**
     * {@code cudaSetDevice}: of the calling thread.
     *
     * @param device its number
     * @return the error
     */
    public static int setDevice(int device) {
        try {
            return (int) SET_DEVICE.invokeExact(device);
        } catch (Throwable e) {
            throw Downcalls.unexpected(e);
        }
    }

    /**
     * {@code cudaGetDevice}: of the calling thread.
     *
     * @param out receives the number (int)
     * @return the error
     */
    public static int getDevice(MemorySegment out) {
        try {
            return (int) GET_DEVICE.invokeExact(out);
        } catch (Throwable e) {
            throw Downcalls.unexpected(e);
        }
    }

    /**
     * {@code cudaMemcpyAsync} in the direction that the addresses say.
     *
     * @param to where to
     * @param from where from
     * @param bytes how many
     * @param stream in whose order
     * @return the error
     */
    public static int copy(long to, long from, long bytes, long stream) {
        try {
            return (int) COPY.invokeExact(to, from, bytes, ANY_DIRECTION, stream);
        } catch (Throwable e) {
            throw Downcalls.unexpected(e);
        }
    }

    /**
     * {@code cudaMemcpy2DAsync} in the direction that the addresses say, with the parameters of C.
     *
     * @param to the first row's place
     * @param toPitch bytes from one row's place to the next one's
     * @param from the first row
     * @param fromPitch bytes from one row to the next one
     * @param width bytes of a row
     * @param height rows
     * @param stream in whose order
     * @return the error
     */
    public static int copyRows(long to, long toPitch, long from, long fromPitch, long width, long height,
            long stream) {
        try {
            return (int) COPY_ROWS.invokeExact(to, toPitch, from, fromPitch, width, height, ANY_DIRECTION, stream);
        } catch (Throwable e) {
            throw Downcalls.unexpected(e);
        }
    }

    /**
     * {@code cudaMemsetAsync}.
     *
     * @param to device memory
     * @param value of each byte
     * @param bytes how many
     * @param stream in whose order
     * @return the error
     */
    public static int fill(long to, int value, long bytes, long stream) {
        try {
            return (int) FILL.invokeExact(to, value, bytes, stream);
        } catch (Throwable e) {
            throw Downcalls.unexpected(e);
        }
    }

    /**
     * {@code cudaEventRecord}.
     *
     * @param event which
     * @param stream where
     * @return the error
     */
    public static int record(long event, long stream) {
        try {
            return (int) RECORD.invokeExact(event, stream);
        } catch (Throwable e) {
            throw Downcalls.unexpected(e);
        }
    }

    /**
     * {@code cudaEventQuery}.
     *
     * @param event which
     * @return the error; 600 = not yet
     */
    public static int query(long event) {
        try {
            return (int) QUERY.invokeExact(event);
        } catch (Throwable e) {
            throw Downcalls.unexpected(e);
        }
    }

    /**
     * {@code cudaStreamWaitEvent}.
     *
     * @param stream which waits
     * @param event for what; recorded before, else it waits for nothing
     * @return the error
     */
    public static int waitFor(long stream, long event) {
        try {
            return (int) WAIT.invokeExact(stream, event, 0);
        } catch (Throwable e) {
            throw Downcalls.unexpected(e);
        }
    }

    /**
     * {@code cudaDeviceFlushGPUDirectRDMAWrites}: what network cards wrote into the current device's memory is seen by its kernels.
     *
     * @param target 0 = the current device
     * @param scope 100 = to the device itself, 200 = to all devices
     * @return the error
     */
    public static int flushWrites(int target, int scope) {
        try {
            return (int) FLUSH.invokeExact(target, scope);
        } catch (Throwable e) {
            throw Downcalls.unexpected(e);
        }
    }

    /**
     * Host memory that has the life of an arena, whoever allocated it.
     *
     * @param address of its first byte, in the host's memory
     * @param bytes how many
     * @param arena when it closes, the memory is given back
     * @param giveBack does that
     * @return the segment
     */
    public static MemorySegment hostMemory(long address, long bytes, Arena arena, Consumer<MemorySegment> giveBack) {
        return MemorySegment.ofAddress(address).reinterpret(bytes, arena, giveBack);
    }

    /**
     * A text of the library's.
     *
     * @param text a C string that is never freed
     * @return the same
     */
    public static String text(MemorySegment text) {
        return text.reinterpret(Long.MAX_VALUE).getString(0);
    }
}
