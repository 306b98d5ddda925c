package io.mooncake.rdma.verbs;

import io.mooncake.rdma.verbs.ffi.FileDescriptors;
import io.mooncake.rdma.verbs.ffi.Verbs;
import io.mooncake.rdma.verbs.ffi.VerbsCalls;
import io.mooncake.rdma.verbs.ffi.VerbsLibrary;
import io.mooncake.rdma.verbs.ffi.ibv_comp_channel;
import io.mooncake.rdma.verbs.ffi.ibv_context;
import io.mooncake.rdma.verbs.ffi.ibv_cq;
import io.mooncake.rdma.verbs.ffi.ibv_gid_entry;
import io.mooncake.rdma.verbs.ffi.ibv_mr;
import io.mooncake.rdma.verbs.ffi.ibv_qp;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;

/** The libibverbs of this machine. Has no state of its own. Needs an open library: see {@link VerbsLibrary#failure()}. */
public final class NativeProvider implements Provider {

    private static final Path DEVICES = Path.of("/sys/class/infiniband");

    /** One is enough; another would be the same. */
    public NativeProvider() {}

    private static MemorySegment pointer(long address) {
        return MemorySegment.ofAddress(address);
    }

    /** Most calls answer with the errno value itself. */
    private static int negated(int errno) {
        return -Math.abs(errno);
    }

    @Override
    public DeviceList devices() {
        return DeviceList.read();
    }

    @Override
    public String attribute(String device, String path) {
        Path file = DEVICES.resolve(device).resolve(path);
        try {
            if (Files.isSymbolicLink(file)) {
                return String.valueOf(file.toRealPath().getFileName());
            }
            return Files.isRegularFile(file) ? Files.readString(file).strip() : "";
        } catch (IOException unreadable) {
            return "";
        }
    }

    @Override
    public long openDevice(String device) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = VerbsCalls.newErrno(arena);
            MemorySegment count = arena.allocate(Verbs.C_INT);
            MemorySegment list = VerbsCalls.getDeviceList(errno, count);
            if (list.equals(MemorySegment.NULL)) {
                return -VerbsCalls.errno(errno);
            }
            try {
                for (int i = 0; i < count.get(Verbs.C_INT, 0); i++) {
                    MemorySegment candidate = list.getAtIndex(Verbs.C_POINTER, i);
                    if (Verbs.ibv_get_device_name(candidate).getString(0).equals(device)) {
                        return VerbsCalls.openDevice(candidate);
                    }
                }
                return -Errno.ENODEV;
            } finally {
                Verbs.ibv_free_device_list(list);
            }
        }
    }

    @Override
    public int closeDevice(long context) {
        return negated(Verbs.ibv_close_device(pointer(context)));
    }

    @Override
    public int queryDevice(long context, MemorySegment attributes) {
        return negated(Verbs.ibv_query_device(pointer(context), attributes));
    }

    @Override
    public int queryPort(long context, int port, MemorySegment attributes) {
        return negated(Verbs.ibv_query_port(pointer(context), (byte) port, attributes));
    }

    @Override
    public int queryGid(long context, int port, int index, MemorySegment entry) {
        return negated(Verbs._ibv_query_gid_ex(pointer(context), port, index, entry, 0, ibv_gid_entry.sizeof()));
    }

    @Override
    public long allocPd(long context) {
        return VerbsCalls.allocPd(context);
    }

    @Override
    public int deallocPd(long pd) {
        return negated(Verbs.ibv_dealloc_pd(pointer(pd)));
    }

    @Override
    public long regMr(long pd, long address, long length, int access) {
        return VerbsCalls.regMr(pd, address, length, access);
    }

    @Override
    public long regDmabufMr(long pd, DmaBuf memory, int access) {
        if (!VerbsLibrary.has("ibv_reg_dmabuf_mr")) {
            return -Errno.ENOSYS;
        }
        return VerbsCalls.regDmabufMr(pd, memory.fd(),
                new VerbsCalls.DmaBufRange(memory.offset(), memory.length(), memory.iova()), access);
    }

    @Override
    public int deregMr(long mr) {
        return negated(Verbs.ibv_dereg_mr(pointer(mr)));
    }

    @Override
    public int localKey(long mr) {
        return ibv_mr.lkey(VerbsCalls.struct(mr, ibv_mr.sizeof()));
    }

    @Override
    public int remoteKey(long mr) {
        return ibv_mr.rkey(VerbsCalls.struct(mr, ibv_mr.sizeof()));
    }

    @Override
    public long createCompChannel(long context) {
        return VerbsCalls.createCompChannel(context);
    }

    @Override
    public int destroyCompChannel(long channel) {
        return negated(Verbs.ibv_destroy_comp_channel(pointer(channel)));
    }

    @Override
    public long createCq(long context, int entries, long channel) {
        return VerbsCalls.createCq(context, entries, channel);
    }

    @Override
    public int cqEntries(long cq) {
        return ibv_cq.cqe(VerbsCalls.struct(cq, ibv_cq.sizeof()));
    }

    @Override
    public int destroyCq(long cq) {
        return negated(Verbs.ibv_destroy_cq(pointer(cq)));
    }

    @Override
    public long createQp(long pd, MemorySegment attributes) {
        return VerbsCalls.createQp(pd, attributes);
    }

    @Override
    public int qpNumber(long qp) {
        return ibv_qp.qp_num(VerbsCalls.struct(qp, ibv_qp.sizeof()));
    }

    @Override
    public int modifyQp(long qp, MemorySegment attributes, int mask) {
        return negated(Verbs.ibv_modify_qp(pointer(qp), attributes, mask));
    }

    @Override
    public int queryQp(long qp, MemorySegment attributes, int mask, MemorySegment initial) {
        return negated(Verbs.ibv_query_qp(pointer(qp), attributes, mask, initial));
    }

    @Override
    public int destroyQp(long qp) {
        return negated(Verbs.ibv_destroy_qp(pointer(qp)));
    }

    @Override
    public int channelFd(long channel) {
        return ibv_comp_channel.fd(VerbsCalls.struct(channel, ibv_comp_channel.sizeof()));
    }

    @Override
    public int asyncFd(long context) {
        return ibv_context.async_fd(VerbsCalls.struct(context, ibv_context.sizeof()));
    }

    @Override
    public int eventFd() {
        return FileDescriptors.eventFd();
    }

    @Override
    public int signal(int eventFd) {
        return FileDescriptors.signal(eventFd);
    }

    @Override
    public int closeEventFd(int eventFd) {
        return FileDescriptors.close(eventFd);
    }

    @Override
    public int await(int fd, int eventFd, int timeoutMillis) {
        return FileDescriptors.await(fd, eventFd, timeoutMillis);
    }

    @Override
    public long getCqEvent(long channel) {
        return VerbsCalls.getCqEvent(channel);
    }

    @Override
    public void ackCqEvents(long cq, int events) {
        Verbs.ibv_ack_cq_events(pointer(cq), events);
    }

    @Override
    public int getAsyncEvent(long context, MemorySegment event) {
        return VerbsCalls.getAsyncEvent(context, event);
    }

    @Override
    public void ackAsyncEvent(MemorySegment event) {
        Verbs.ibv_ack_async_event(event);
    }

    @Override
    public DataPath dataPath(long context) {
        return NativeDataPath.of(context);
    }
}
