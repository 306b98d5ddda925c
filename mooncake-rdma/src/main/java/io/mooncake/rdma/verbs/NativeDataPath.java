package io.mooncake.rdma.verbs;

import io.mooncake.rdma.verbs.ffi.HotCalls;
import io.mooncake.rdma.verbs.ffi.VerbsCalls;
import io.mooncake.rdma.verbs.ffi.ibv_context;
import io.mooncake.rdma.verbs.ffi.ibv_context_ops;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * The functions of one device's driver, as verbs.h calls them inline. Whether posting skips the thread transition depends on who
 * serves it: drivers that ring a doorbell from user space return at once; a system call (Soft-RoCE, siw) may take milliseconds, and
 * every safepoint would wait for it.
 */
abstract class NativeDataPath implements Provider.DataPath {

    /** Drivers that post from user space, by the library in which their functions are. */
    private static final List<String> USER_SPACE = List.of("libmlx5", "libmlx4", "libirdma", "libbnxt_re", "libefa");

    private static final Path MAPS = Path.of("/proc/self/maps");

    final MemorySegment postSend;
    final MemorySegment postRecv;
    final MemorySegment requestNotify;
    private final MemorySegment pollCq;

    private NativeDataPath(MemorySegment ops) {
        postSend = ibv_context_ops.post_send(ops);
        postRecv = ibv_context_ops.post_recv(ops);
        requestNotify = ibv_context_ops.req_notify_cq(ops);
        pollCq = ibv_context_ops.poll_cq(ops);
    }

    static NativeDataPath of(long context) {
        MemorySegment ops = ibv_context.ops(VerbsCalls.struct(context, ibv_context.sizeof()));
        return postsFromUserSpace(libraryOf(ibv_context_ops.post_send(ops).address()))
                ? new UserSpace(ops)
                : new SystemCall(ops);
    }

    static boolean postsFromUserSpace(String library) {
        return USER_SPACE.stream().anyMatch(library::startsWith);
    }

    /** The file name of the library that holds a function; empty when it is in none. */
    private static String libraryOf(long function) {
        try (Stream<String> lines = Files.lines(MAPS)) {
            return lines.filter(line -> covers(line, function)).map(NativeDataPath::fileName).findFirst().orElse("");
        } catch (IOException | UncheckedIOException unreadable) {
            // Without it the plain call is right everywhere, if slower.
            return "";
        }
    }

    /** A line is {@code from-to rights offset device inode path}, the addresses in hexadecimal. */
    static boolean covers(String line, long address) {
        int dash = line.indexOf('-');
        int space = line.indexOf(' ', dash);
        return Long.compareUnsigned(address, Long.parseUnsignedLong(line, 0, dash, 16)) >= 0
                && Long.compareUnsigned(address, Long.parseUnsignedLong(line, dash + 1, space, 16)) < 0;
    }

    static String fileName(String line) {
        return line.substring(line.lastIndexOf('/') + 1);
    }

    @Override
    public int pollCq(long cq, int entries, long wc) {
        return HotCalls.pollCritical(pollCq, cq, entries, wc);
    }

    private static final class UserSpace extends NativeDataPath {
        UserSpace(MemorySegment ops) {
            super(ops);
        }

        @Override
        public int postSend(long qp, long wr, long bad) {
            return -HotCalls.postCritical(postSend, qp, wr, bad);
        }

        @Override
        public int postRecv(long qp, long wr, long bad) {
            return -HotCalls.postCritical(postRecv, qp, wr, bad);
        }

        @Override
        public int requestNotify(long cq, boolean solicitedOnly) {
            return -HotCalls.requestNotifyCritical(requestNotify, cq, solicitedOnly ? 1 : 0);
        }
    }

    private static final class SystemCall extends NativeDataPath {
        SystemCall(MemorySegment ops) {
            super(ops);
        }

        @Override
        public int postSend(long qp, long wr, long bad) {
            return -HotCalls.post(postSend, qp, wr, bad);
        }

        @Override
        public int postRecv(long qp, long wr, long bad) {
            return -HotCalls.post(postRecv, qp, wr, bad);
        }

        @Override
        public int requestNotify(long cq, boolean solicitedOnly) {
            return -HotCalls.requestNotify(requestNotify, cq, solicitedOnly ? 1 : 0);
        }
    }
}
