package io.mooncake.cuda.runtime.ffi;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * The driver's calls, bound by hand from {@code cuda.h}; not to be touched unless {@link DriverLibrary#failure()} is null. Safe from any thread.
 * Each answers with the driver's error code, 0 = done.
 */
@SuppressWarnings("restricted")
public final class DriverCalls {
    private static final MethodHandle DEVICE = call("cuDeviceGet", ADDRESS, JAVA_INT);
    private static final MethodHandle ATTRIBUTE = call("cuDeviceGetAttribute", ADDRESS, JAVA_INT, JAVA_INT);
    private static final MethodHandle HANDLE = call("cuMemGetHandleForAddressRange", ADDRESS, JAVA_LONG, JAVA_LONG,
            JAVA_INT, JAVA_LONG);
    private static final MethodHandle ERROR_NAME = call("cuGetErrorName", JAVA_INT, ADDRESS);
    private static final MethodHandle CLOSE = Downcalls.bind(Linker.nativeLinker().defaultLookup(), "close", JAVA_INT);
    private static final MethodHandle PAGE_SIZE = Downcalls.bind(Linker.nativeLinker().defaultLookup(), "getpagesize");

    private DriverCalls() {}

    private static MethodHandle call(String function, MemoryLayout... parameters) {
        return Downcalls.bind(DriverLibrary.lookup(), function, parameters);
    }

    /**
     * {@code cuDeviceGet}.
     *
     * @param out receives the driver's name of the device (int)
     * @param ordinal its number, the runtime's as well
     * @return the error
     */
    public static int device(MemorySegment out, int ordinal) {
        try {
            return (int) DEVICE.invokeExact(out, ordinal);
        } catch (Throwable e) {
            throw Downcalls.unexpected(e);
        }
    }

    /**
     * {@code cuDeviceGetAttribute}.
     *
     * @param out receives the value (int)
     * @param attribute the driver's number of it
     * @param device from {@link #device}
     * @return the error
     */
    public static int attribute(MemorySegment out, int attribute, int device) {
        try {
            return (int) ATTRIBUTE.invokeExact(out, attribute, device);
        } catch (Throwable e) {
            throw Downcalls.unexpected(e);
        }
    }

    /**
     * {@code cuMemGetHandleForAddressRange}.
     *
     * @param out receives the handle; of a dma-buf a file descriptor (int)
     * @param address device memory, from a page of the host's on
     * @param bytes whole pages of the host's
     * @param type 1 = a dma-buf
     * @param flags 0
     * @return the error
     */
    public static int handle(MemorySegment out, long address, long bytes, int type, long flags) {
        try {
            return (int) HANDLE.invokeExact(out, address, bytes, type, flags);
        } catch (Throwable e) {
            throw Downcalls.unexpected(e);
        }
    }

    /**
     * {@code cuGetErrorName}.
     *
     * @param code an error
     * @param out receives a text that is never freed
     * @return the error of that
     */
    public static int errorName(int code, MemorySegment out) {
        try {
            return (int) ERROR_NAME.invokeExact(code, out);
        } catch (Throwable e) {
            throw Downcalls.unexpected(e);
        }
    }

    /**
     * {@code close(2)}.
     *
     * @param fd a file descriptor
     * @return 0, or -1
     */
    public static int close(int fd) {
        try {
            return (int) CLOSE.invokeExact(fd);
        } catch (Throwable e) {
            throw Downcalls.unexpected(e);
        }
    }

    /**
     * {@code getpagesize(2)}.
     *
     * @return bytes of a page of the host
     */
    public static int pageSize() {
        try {
            return (int) PAGE_SIZE.invokeExact();
        } catch (Throwable e) {
            throw Downcalls.unexpected(e);
        }
    }
}
