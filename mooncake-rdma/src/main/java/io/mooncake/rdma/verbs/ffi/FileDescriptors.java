package io.mooncake.rdma.verbs.ffi;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * Waiting for the descriptors of completion channels and devices, and waking who waits: {@code poll} and {@code eventfd} of the C
 * library. Safe from any thread. Every call answers with the negated errno when it failed.
 */
@SuppressWarnings("restricted")
public final class FileDescriptors {

    private static final int EFD_NONBLOCK = 0x800;
    private static final int EFD_CLOEXEC = 0x80000;
    private static final short POLLIN = 1;
    private static final int EINTR = 4;
    /** {@code struct pollfd}: int fd, short events, short revents. */
    private static final long POLLFD_BYTES = 8;
    private static final long EVENTS = 4;
    private static final long REVENTS = 6;

    private static final MethodHandle POLL = libc("poll",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT));
    private static final MethodHandle EVENTFD = libc("eventfd", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT));
    private static final MethodHandle READ = libc("read", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS,
            JAVA_LONG));
    private static final MethodHandle WRITE = libc("write", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS,
            JAVA_LONG));
    private static final MethodHandle CLOSE = libc("close", FunctionDescriptor.of(JAVA_INT, JAVA_INT));

    private FileDescriptors() {}

    private static MethodHandle libc(String name, FunctionDescriptor descriptor) {
        Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(linker.defaultLookup().findOrThrow(name), descriptor,
                Linker.Option.captureCallState("errno"));
    }

    private static int outcome(long result, MemorySegment errno) {
        return result < 0 ? -Math.max(1, VerbsCalls.errno(errno)) : (int) result;
    }

    /**
     * Waits until one of two descriptors can be read.
     *
     * @param fd the first
     * @param wakeup the second, an {@link #eventFd}, which is read empty when it was signalled
     * @param timeoutMillis at most; less than 0 for ever
     * @return 1 when the first can be read, 0 when not, or the negated errno
     */
    public static int await(int fd, int wakeup, int timeoutMillis) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = VerbsCalls.newErrno(arena);
            MemorySegment both = arena.allocate(2 * POLLFD_BYTES, POLLFD_BYTES);
            both.set(JAVA_INT, 0, fd);
            both.set(JAVA_SHORT, EVENTS, POLLIN);
            both.set(JAVA_INT, POLLFD_BYTES, wakeup);
            both.set(JAVA_SHORT, POLLFD_BYTES + EVENTS, POLLIN);
            int ready = outcome((int) POLL.invokeExact(errno, both, 2L, timeoutMillis), errno);
            if (ready <= 0) {
                return ready == -EINTR ? 0 : ready;
            }
            if (both.get(JAVA_SHORT, POLLFD_BYTES + REVENTS) != 0) {
                MemorySegment count = arena.allocate(JAVA_LONG);
                long _ = (long) READ.invokeExact(errno, wakeup, count, JAVA_LONG.byteSize());
            }
            return both.get(JAVA_SHORT, REVENTS) != 0 ? 1 : 0;
        } catch (Throwable e) {
            throw VerbsCalls.unexpected(e);
        }
    }

    /**
     * A new eventfd.
     *
     * @return the descriptor, or the negated errno
     */
    public static int eventFd() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = VerbsCalls.newErrno(arena);
            return outcome((int) EVENTFD.invokeExact(errno, 0, EFD_NONBLOCK | EFD_CLOEXEC), errno);
        } catch (Throwable e) {
            throw VerbsCalls.unexpected(e);
        }
    }

    /**
     * Makes an eventfd readable.
     *
     * @param eventFd from {@link #eventFd}
     * @return at least 0, or the negated errno
     */
    public static int signal(int eventFd) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = VerbsCalls.newErrno(arena);
            MemorySegment one = arena.allocateFrom(JAVA_LONG, 1);
            return outcome((long) WRITE.invokeExact(errno, eventFd, one, JAVA_LONG.byteSize()), errno);
        } catch (Throwable e) {
            throw VerbsCalls.unexpected(e);
        }
    }

    /**
     * Closes a descriptor.
     *
     * @param fd a descriptor
     * @return 0 or the negated errno
     */
    public static int close(int fd) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = VerbsCalls.newErrno(arena);
            return outcome((int) CLOSE.invokeExact(errno, fd), errno);
        } catch (Throwable e) {
            throw VerbsCalls.unexpected(e);
        }
    }
}
