package io.mooncake.rdma.verbs.ffi;

import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;

/**
 * Calls that tell their failure by errno, which the generated handles do not capture. Safe from any thread; each call's
 * errno goes into the caller's own segment.
 */
@SuppressWarnings("restricted")
public final class VerbsCalls {

    private static final VarHandle ERRNO = Linker.Option.captureStateLayout()
            .varHandle(PathElement.groupElement("errno"));

    private static final MethodHandle GET_DEVICE_LIST = Linker.nativeLinker()
            .downcallHandle(Verbs.ibv_get_device_list$address(), Verbs.ibv_get_device_list$descriptor(),
                    Linker.Option.captureCallState("errno"));

    private VerbsCalls() {}

    /**
     * Memory for the errno of one call at a time.
     *
     * @param arena owns the memory
     * @return the segment that the calls here take as their first argument
     */
    public static MemorySegment newErrno(Arena arena) {
        return arena.allocate(Linker.Option.captureStateLayout());
    }

    /**
     * The errno of the last call that was given this segment; only meaningful where that call failed.
     *
     * @param errno from {@link #newErrno}
     * @return the errno value
     */
    public static int errno(MemorySegment errno) {
        return (int) ERRNO.get(errno, 0L);
    }

    /**
     * {@code ibv_get_device_list} (man ibv_get_device_list).
     *
     * @param errno receives the errno
     * @param count receives the number of devices (int), or {@link MemorySegment#NULL}
     * @return a NULL-terminated array to be given back with {@code ibv_free_device_list}, or a NULL segment with errno set
     */
    public static MemorySegment getDeviceList(MemorySegment errno, MemorySegment count) {
        try {
            return (MemorySegment) GET_DEVICE_LIST.invokeExact(errno, count);
        } catch (Error | RuntimeException e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError("a downcall has no checked exception", e);
        }
    }
}
