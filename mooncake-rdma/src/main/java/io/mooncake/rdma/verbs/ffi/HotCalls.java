package io.mooncake.rdma.verbs.ffi;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * The calls that verbs.h inlines: they go through the table of functions in {@code ibv_context.ops}. Pointers are
 * {@code long}; nothing is allocated. As safe for threads as the library: one thread at a time a queue.
 *
 * <p>The {@code ...Critical} ones skip the transition of the thread's state, and with it every safepoint waits for them: only
 * for functions that return at once. {@code poll_cq} does everywhere; the others where the driver posts from user space.
 */
@SuppressWarnings("restricted")
public final class HotCalls {

    private static final Linker.Option CRITICAL = Linker.Option.critical(false);
    private static final FunctionDescriptor POST = FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final FunctionDescriptor NOTIFY = FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT);

    private static final MethodHandle POLL_CRITICAL = Linker.nativeLinker()
            .downcallHandle(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG), CRITICAL);
    private static final MethodHandle POST_PLAIN = Linker.nativeLinker().downcallHandle(POST);
    private static final MethodHandle POST_CRITICAL = Linker.nativeLinker().downcallHandle(POST, CRITICAL);
    private static final MethodHandle NOTIFY_PLAIN = Linker.nativeLinker().downcallHandle(NOTIFY);
    private static final MethodHandle NOTIFY_CRITICAL = Linker.nativeLinker().downcallHandle(NOTIFY, CRITICAL);

    private HotCalls() {}

    /**
     * {@code ibv_poll_cq}.
     *
     * @param function {@code ibv_context.ops.poll_cq}
     * @param cq an {@code ibv_cq*}
     * @param entries at most
     * @param wc an array of {@code struct ibv_wc}
     * @return completions taken, or a negative number
     */
    public static int pollCritical(MemorySegment function, long cq, int entries, long wc) {
        try {
            return (int) POLL_CRITICAL.invokeExact(function, cq, entries, wc);
        } catch (Throwable e) {
            throw VerbsCalls.unexpected(e);
        }
    }

    /**
     * {@code ibv_post_send} or {@code ibv_post_recv}.
     *
     * @param function {@code ibv_context.ops.post_send} or {@code post_recv}
     * @param qp an {@code ibv_qp*}
     * @param wr the first of a chain of work requests
     * @param bad receives the address of the first that was not taken
     * @return 0 or the errno value
     */
    public static int post(MemorySegment function, long qp, long wr, long bad) {
        try {
            return (int) POST_PLAIN.invokeExact(function, qp, wr, bad);
        } catch (Throwable e) {
            throw VerbsCalls.unexpected(e);
        }
    }

    /**
     * As {@link #post}, for drivers that post from user space.
     *
     * @param function {@code ibv_context.ops.post_send} or {@code post_recv}
     * @param qp an {@code ibv_qp*}
     * @param wr the first of a chain of work requests
     * @param bad receives the address of the first that was not taken
     * @return 0 or the errno value
     */
    public static int postCritical(MemorySegment function, long qp, long wr, long bad) {
        try {
            return (int) POST_CRITICAL.invokeExact(function, qp, wr, bad);
        } catch (Throwable e) {
            throw VerbsCalls.unexpected(e);
        }
    }

    /**
     * {@code ibv_req_notify_cq}.
     *
     * @param function {@code ibv_context.ops.req_notify_cq}
     * @param cq an {@code ibv_cq*}
     * @param solicitedOnly 0 for every completion
     * @return 0 or the errno value
     */
    public static int requestNotify(MemorySegment function, long cq, int solicitedOnly) {
        try {
            return (int) NOTIFY_PLAIN.invokeExact(function, cq, solicitedOnly);
        } catch (Throwable e) {
            throw VerbsCalls.unexpected(e);
        }
    }

    /**
     * As {@link #requestNotify}, for drivers that arm from user space.
     *
     * @param function {@code ibv_context.ops.req_notify_cq}
     * @param cq an {@code ibv_cq*}
     * @param solicitedOnly 0 for every completion
     * @return 0 or the errno value
     */
    public static int requestNotifyCritical(MemorySegment function, long cq, int solicitedOnly) {
        try {
            return (int) NOTIFY_CRITICAL.invokeExact(function, cq, solicitedOnly);
        } catch (Throwable e) {
            throw VerbsCalls.unexpected(e);
        }
    }
}
