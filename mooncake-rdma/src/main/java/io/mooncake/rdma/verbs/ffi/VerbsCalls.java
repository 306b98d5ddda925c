package io.mooncake.rdma.verbs.ffi;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;

/**
 * Calls that tell their failure by errno, which the generated handles do not capture, and the fields of objects that live in
 * the library's own memory. Safe from any thread. A call that makes something answers with its address, or with the negated
 * errno, which no address is.
 */
@SuppressWarnings("restricted")
public final class VerbsCalls {

    private static final VarHandle ERRNO = Linker.Option.captureStateLayout()
            .varHandle(PathElement.groupElement("errno"));

    private static final MethodHandle GET_DEVICE_LIST = withErrno(Verbs.ibv_get_device_list$address(),
            Verbs.ibv_get_device_list$descriptor());
    private static final MethodHandle OPEN_DEVICE = withErrno(Verbs.ibv_open_device$address(),
            Verbs.ibv_open_device$descriptor());
    private static final MethodHandle ALLOC_PD = withErrno(Verbs.ibv_alloc_pd$address(),
            Verbs.ibv_alloc_pd$descriptor());
    private static final MethodHandle REG_MR = withErrno(Verbs.ibv_reg_mr_iova2$address(),
            Verbs.ibv_reg_mr_iova2$descriptor());
    private static final MethodHandle CREATE_COMP_CHANNEL = withErrno(Verbs.ibv_create_comp_channel$address(),
            Verbs.ibv_create_comp_channel$descriptor());
    private static final MethodHandle CREATE_CQ = withErrno(Verbs.ibv_create_cq$address(),
            Verbs.ibv_create_cq$descriptor());
    private static final MethodHandle CREATE_QP = withErrno(Verbs.ibv_create_qp$address(),
            Verbs.ibv_create_qp$descriptor());
    private static final MethodHandle GET_CQ_EVENT = withErrno(Verbs.ibv_get_cq_event$address(),
            Verbs.ibv_get_cq_event$descriptor());
    private static final MethodHandle GET_ASYNC_EVENT = withErrno(Verbs.ibv_get_async_event$address(),
            Verbs.ibv_get_async_event$descriptor());

    /** Apart, since a library may lack it: then this class fails to initialise, and nothing else. */
    private static final class DmaBuf {
        static final MethodHandle REG = withErrno(Verbs.ibv_reg_dmabuf_mr$address(),
                Verbs.ibv_reg_dmabuf_mr$descriptor());

        private DmaBuf() {}
    }

    private VerbsCalls() {}

    private static MethodHandle withErrno(MemorySegment function, FunctionDescriptor descriptor) {
        return Linker.nativeLinker().downcallHandle(function, descriptor, Linker.Option.captureCallState("errno"));
    }

    /**
     * Memory for the errno of one call at a time.
     *
     * @param arena owns the memory
     * @return the segment that the calls here take as their first argument
     */
    public static MemorySegment newErrno(SegmentAllocator arena) {
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

    /** A failed call must not pass for a success because nobody set errno. */
    private static int failure(MemorySegment errno) {
        return -Math.max(1, errno(errno));
    }

    private static long made(MemorySegment object, MemorySegment errno) {
        return object.address() != 0 ? object.address() : failure(errno);
    }

    private static MemorySegment pointer(long address) {
        return MemorySegment.ofAddress(address);
    }

    static RuntimeException unexpected(Throwable thrown) {
        if (thrown instanceof Error error) {
            throw error;
        }
        if (thrown instanceof RuntimeException exception) {
            throw exception;
        }
        throw new AssertionError("a downcall has no checked exception", thrown);
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
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /**
     * {@code ibv_open_device} (man ibv_open_device).
     *
     * @param device from {@code ibv_get_device_list}
     * @return the {@code ibv_context*}, or the negated errno
     */
    public static long openDevice(MemorySegment device) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = newErrno(arena);
            return made((MemorySegment) OPEN_DEVICE.invokeExact(errno, device), errno);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /**
     * {@code ibv_alloc_pd} (man ibv_alloc_pd).
     *
     * @param context an {@code ibv_context*}
     * @return the {@code ibv_pd*}, or the negated errno
     */
    public static long allocPd(long context) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = newErrno(arena);
            return made((MemorySegment) ALLOC_PD.invokeExact(errno, pointer(context)), errno);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /**
     * What the macro {@code ibv_reg_mr} calls (man ibv_reg_mr): the memory is known to peers by its own address.
     *
     * @param pd an {@code ibv_pd*}
     * @param address of the first byte
     * @param length bytes
     * @param access {@code IBV_ACCESS_} flags
     * @return the {@code ibv_mr*}, or the negated errno
     */
    public static long regMr(long pd, long address, long length, int access) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = newErrno(arena);
            return made((MemorySegment) REG_MR.invokeExact(errno, pointer(pd), pointer(address), length, address,
                    access), errno);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /**
     * {@code ibv_reg_dmabuf_mr} (man ibv_reg_dmabuf_mr); its memory is known to peers by {@code offset} zero based.
     *
     * @param pd an {@code ibv_pd*}
     * @param fd the dma-buf's file descriptor
     * @param range offset in the buffer, length, and the address by which peers name the first byte
     * @param access {@code IBV_ACCESS_} flags
     * @return the {@code ibv_mr*}, or the negated errno
     * @throws UnsatisfiedLinkError when the library lacks it
     */
    public static long regDmabufMr(long pd, int fd, DmaBufRange range, int access) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = newErrno(arena);
            return made((MemorySegment) DmaBuf.REG.invokeExact(errno, pointer(pd), range.offset(), range.length(),
                    range.iova(), fd, access), errno);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /**
     * A part of a dma-buf.
     *
     * @param offset of the first byte in the buffer
     * @param length bytes
     * @param iova the address by which peers name the first byte
     */
    public record DmaBufRange(long offset, long length, long iova) {}

    /**
     * {@code ibv_create_comp_channel} (man ibv_create_comp_channel).
     *
     * @param context an {@code ibv_context*}
     * @return the {@code ibv_comp_channel*}, or the negated errno
     */
    public static long createCompChannel(long context) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = newErrno(arena);
            return made((MemorySegment) CREATE_COMP_CHANNEL.invokeExact(errno, pointer(context)), errno);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /**
     * {@code ibv_create_cq} (man ibv_create_cq), with completion vector 0.
     *
     * @param context an {@code ibv_context*}
     * @param entries at least
     * @param channel an {@code ibv_comp_channel*}, or 0
     * @return the {@code ibv_cq*}, or the negated errno
     */
    public static long createCq(long context, int entries, long channel) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = newErrno(arena);
            return made((MemorySegment) CREATE_CQ.invokeExact(errno, pointer(context), entries, MemorySegment.NULL,
                    pointer(channel), 0), errno);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /**
     * {@code ibv_create_qp} (man ibv_create_qp).
     *
     * @param pd an {@code ibv_pd*}
     * @param attributes {@code struct ibv_qp_init_attr}; the capacities are filled in
     * @return the {@code ibv_qp*}, or the negated errno
     */
    public static long createQp(long pd, MemorySegment attributes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = newErrno(arena);
            return made((MemorySegment) CREATE_QP.invokeExact(errno, pointer(pd), attributes), errno);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /**
     * {@code ibv_get_cq_event} (man ibv_get_cq_event); blocks until there is one.
     *
     * @param channel an {@code ibv_comp_channel*}
     * @return the {@code ibv_cq*} it is about, or the negated errno
     */
    public static long getCqEvent(long channel) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = newErrno(arena);
            MemorySegment cq = arena.allocate(Verbs.C_POINTER, 2);
            int failed = (int) GET_CQ_EVENT.invokeExact(errno, pointer(channel), cq,
                    cq.asSlice(Verbs.C_POINTER.byteSize()));
            return failed == 0 ? cq.get(Verbs.C_POINTER, 0).address() : failure(errno);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /**
     * {@code ibv_get_async_event} (man ibv_get_async_event); blocks until there is one.
     *
     * @param context an {@code ibv_context*}
     * @param event receives a {@code struct ibv_async_event}
     * @return 0 or the negated errno
     */
    public static int getAsyncEvent(long context, MemorySegment event) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = newErrno(arena);
            int failed = (int) GET_ASYNC_EVENT.invokeExact(errno, pointer(context), event);
            return failed == 0 ? 0 : failure(errno);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /**
     * A structure that the library keeps, to read its fields.
     *
     * @param address of the structure
     * @param size bytes
     * @return the structure; valid as long as the library keeps it
     */
    public static MemorySegment struct(long address, long size) {
        return pointer(address).reinterpret(size);
    }
}
