package io.mooncake.rdma.sim;

import io.mooncake.rdma.verbs.DeviceList;
import io.mooncake.rdma.verbs.Provider;
import io.mooncake.rdma.verbs.ffi.Verbs;
import io.mooncake.rdma.verbs.ffi.ibv_async_event;
import io.mooncake.rdma.verbs.ffi.ibv_device_attr;
import io.mooncake.rdma.verbs.ffi.ibv_gid_entry;
import io.mooncake.rdma.verbs.ffi.ibv_port_attr;
import io.mooncake.rdma.verbs.ffi.ibv_qp_attr;
import io.mooncake.rdma.verbs.ffi.ibv_qp_cap;
import io.mooncake.rdma.verbs.ffi.ibv_qp_init_attr;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What the library of one host shows, over the simulated network. Reads and writes the real structures, refuses what verbs refuse, and
 * fails a test that uses an object after its end. One thread, but for {@link #await}, {@link #signal} and {@link #regMr}.
 */
public final class SimulatedProvider implements Provider, Provider.DataPath {
    private static final int ENODEV = 19;
    private static final int EINVAL = 22;
    private static final int EBUSY = 16;
    private static final int EAGAIN = 11;
    private static final int EOPNOTSUPP = 95;
    private static final int ENODATA = 61;
    private static final int EIO = 5;
    private static final int ENOMEM = 12;
    private static final int MTU_4096 = 5;
    static final int LIMIT = 32_767;
    private static final long NEXT_WR = 8;
    private static final long HANDLE_STEP = 64;

    private final SimulatedNetwork network;
    private final String name;
    private final List<SimulatedDevice> devices = new ArrayList<>();
    private final Map<Long, Object> objects = new HashMap<>();
    private final Object lock = new Object();
    /** Descriptors that are signalled; guarded by the lock. */
    private final Set<Integer> signalled = new HashSet<>();
    private final Set<Integer> eventDescriptors = new HashSet<>();
    private long lastHandle = 0x10000;
    private int lastDescriptor = 1000;
    private boolean floor;

    SimulatedProvider(SimulatedNetwork network, String name) {
        this.network = network;
        this.name = name;
    }

    /** Gives the host a card with an IPv4 address. */
    public SimulatedDevice addDevice(String device, int ipv4) {
        SimulatedDevice added = new SimulatedDevice(this, device, ipv4);
        devices.add(added);
        return added;
    }

    /** From now on opened cards do everything at once and move no byte: for measurements. */
    public void useFloor() {
        floor = true;
    }

    /** Its cards. */
    public List<SimulatedDevice> cards() {
        return devices;
    }

    /** What was made and not given back, in words; empty when there is nothing of it. */
    public String leftovers() {
        synchronized (lock) {
            List<Object> left = objects.values().stream().filter(object -> !isLost(object)).toList();
            boolean lost = left.size() < objects.size();
            return left.isEmpty() && (lost || eventDescriptors.isEmpty())
                    ? ""
                    : left.stream().map(object -> object.getClass().getSimpleName()).sorted().toList()
                            + ", descriptors " + eventDescriptors;
        }
    }

    /** Whether it is of a lost card that takes nothing back. */
    private static boolean isLost(Object object) {
        SimulatedContext context = switch (object) {
            case SimulatedContext own -> own;
            case SimulatedDomain domain -> domain.context;
            case SimulatedMemory memory -> memory.domain.context;
            case SimulatedQueuePair queuePair -> queuePair.domain.context;
            case SimulatedCompletionQueue queue -> queue.context;
            case SimulatedChannel channel -> channel.context;
            default -> throw new AssertionError(object);
        };
        return context.isDead() && context.device.isRefusingWhenDead();
    }

    /** Queue pairs that were not destroyed. */
    public long queuePairs() {
        return objects.values().stream().filter(SimulatedQueuePair.class::isInstance).count();
    }

    String name() {
        return name;
    }

    SimulatedNetwork network() {
        return network;
    }

    private long add(Object object) {
        lastHandle += HANDLE_STEP;
        objects.put(lastHandle, object);
        return lastHandle;
    }

    private <T> T get(long handle, Class<T> type) {
        Object object = objects.get(handle);
        if (!type.isInstance(object)) {
            throw new AssertionError(
                    "0x" + Long.toHexString(handle) + " of host " + name + " is no living " + type.getSimpleName());
        }
        return type.cast(object);
    }

    private int end(long handle, int users) {
        if (users > 0) {
            return -EBUSY;
        }
        objects.remove(handle);
        return 0;
    }

    @Override
    public DeviceList devices() {
        return new DeviceList(devices.stream().map(SimulatedDevice::name).toList(), 0);
    }

    @Override
    public String attribute(String device, String path) {
        return path.equals("device/numa_node")
                ? devices.stream().filter(card -> card.name().equals(device)).findFirst().orElseThrow().numaNode()
                : "";
    }

    @Override
    public long openDevice(String device) {
        for (SimulatedDevice candidate : devices) {
            if (candidate.name().equals(device)) {
                if (candidate.isFatal()) {
                    return -EIO;
                }
                SimulatedContext context = new SimulatedContext(candidate, ++lastDescriptor);
                candidate.onOpened();
                candidate.contexts().add(context);
                return add(context);
            }
        }
        return -ENODEV;
    }

    @Override
    public int closeDevice(long handle) {
        SimulatedContext context = get(handle, SimulatedContext.class);
        boolean used = objects.values()
                .stream()
                .anyMatch(object -> (object instanceof SimulatedDomain domain && domain.context.equals(context))
                        || (object instanceof SimulatedCompletionQueue queue && queue.context.equals(context))
                        || (object instanceof SimulatedChannel channel && channel.context.equals(context)));
        if (!used) {
            context.device.contexts().remove(context);
        }
        return end(handle, used ? 1 : 0);
    }

    @Override
    public int queryDevice(long handle, MemorySegment attributes) {
        SimulatedContext context = get(handle, SimulatedContext.class);
        attributes.fill((byte) 0);
        ibv_device_attr.max_mr_size(attributes, context.device.largestRegistration());
        ibv_device_attr.max_qp(attributes, LIMIT);
        ibv_device_attr.max_qp_wr(attributes, LIMIT);
        ibv_device_attr.max_sge(attributes, 32);
        ibv_device_attr.max_cq(attributes, LIMIT);
        ibv_device_attr.max_cqe(attributes, context.device.largestQueue());
        ibv_device_attr.max_mr(attributes, LIMIT);
        ibv_device_attr.max_pd(attributes, LIMIT);
        ibv_device_attr.max_qp_rd_atom(attributes, 128);
        ibv_device_attr.max_qp_init_rd_atom(attributes, 128);
        ibv_device_attr.phys_port_cnt(attributes, (byte) 1);
        return 0;
    }

    @Override
    public int queryPort(long handle, int port, MemorySegment attributes) {
        SimulatedContext context = get(handle, SimulatedContext.class);
        if (port != 1) {
            return -EINVAL;
        }
        ibv_port_attr.state(attributes,
                context.device.isPortActive() ? Verbs.IBV_PORT_ACTIVE() : Verbs.IBV_PORT_DOWN());
        ibv_port_attr.max_mtu(attributes, MTU_4096);
        ibv_port_attr.active_mtu(attributes, MTU_4096);
        ibv_port_attr.gid_tbl_len(attributes, 16);
        ibv_port_attr.max_msg_sz(attributes, 1 << 30);
        ibv_port_attr.lid(attributes, (short) context.device.lid());
        ibv_port_attr.link_layer(attributes, (byte) Verbs.IBV_LINK_LAYER_ETHERNET());
        return 0;
    }

    @Override
    public int queryGid(long handle, int port, int index, MemorySegment entry) {
        List<SimulatedDevice.GidEntry> gids = get(handle, SimulatedContext.class).device.gids();
        if (index >= gids.size()) {
            return -ENODATA;
        }
        MemorySegment.copy(gids.get(index).gid(), 0, ibv_gid_entry.gid(entry), ValueLayout.JAVA_BYTE, 0, 16);
        ibv_gid_entry.gid_index(entry, index);
        ibv_gid_entry.port_num(entry, port);
        ibv_gid_entry.gid_type(entry, gids.get(index).type());
        return 0;
    }

    @Override
    public long allocPd(long handle) {
        SimulatedContext context = get(handle, SimulatedContext.class);
        SimulatedDomain domain = new SimulatedDomain(context);
        context.domains.add(domain);
        return add(domain);
    }

    @Override
    public int deallocPd(long pd) {
        SimulatedDomain domain = get(pd, SimulatedDomain.class);
        int ended = end(pd, domain.users);
        if (ended == 0) {
            domain.context.domains.remove(domain);
        }
        return ended;
    }

    @Override
    public synchronized long regMr(long pd, long address, long length, int access) {
        SimulatedDomain domain = get(pd, SimulatedDomain.class);
        if (length <= 0 || domain.context.isDead()) {
            return length <= 0 ? -EINVAL : -EIO;
        }
        if (length > domain.context.device.largestRegistration()) {
            return -ENOMEM;
        }
        int error = domain.context.device.nextRegistration();
        if (error != 0) {
            return -error;
        }
        SimulatedMemory memory = new SimulatedMemory(domain, address, length, access, network.newKey());
        domain.add(memory);
        return add(memory);
    }

    @Override
    public long regDmabufMr(long pd, DmaBuf memory, int access) {
        return get(pd, SimulatedDomain.class).context.device.takesDmaBufs()
                ? regMr(pd, memory.iova(), memory.length(), access)
                : -EOPNOTSUPP;
    }

    @Override
    public int deregMr(long mr) {
        SimulatedMemory memory = get(mr, SimulatedMemory.class);
        if (isLost(memory) || memory.domain.context.device.takeRefusedDeregistration()) {
            return -EIO;
        }
        memory.domain.remove(memory);
        return end(mr, 0);
    }

    @Override
    public int localKey(long mr) {
        return get(mr, SimulatedMemory.class).localKey;
    }

    @Override
    public int remoteKey(long mr) {
        SimulatedMemory memory = get(mr, SimulatedMemory.class);
        return (memory.access & ~1) == 0 ? 0 : memory.remoteKey;
    }

    @Override
    public long createCompChannel(long context) {
        return add(new SimulatedChannel(get(context, SimulatedContext.class), ++lastDescriptor));
    }

    @Override
    public int destroyCompChannel(long channel) {
        return end(channel, get(channel, SimulatedChannel.class).users);
    }

    @Override
    public long createCq(long handle, int entries, long channel) {
        SimulatedContext context = get(handle, SimulatedContext.class);
        if (entries < 1 || entries > context.device.largestQueue()) {
            return -EINVAL;
        }
        SimulatedChannel events = channel == 0 ? null : get(channel, SimulatedChannel.class);
        if (events != null) {
            events.users++;
        }
        SimulatedCompletionQueue queue = new SimulatedCompletionQueue(context, events, lastHandle + HANDLE_STEP,
                entries);
        context.queues.add(queue);
        return add(queue);
    }

    @Override
    public int cqEntries(long cq) {
        return get(cq, SimulatedCompletionQueue.class).capacity();
    }

    @Override
    public int destroyCq(long cq) {
        SimulatedCompletionQueue queue = get(cq, SimulatedCompletionQueue.class);
        int ended = end(cq, queue.users);
        if (ended == 0 && queue.channel != null) {
            queue.channel.users--;
            queue.channel.events.remove(queue);
        }
        return ended;
    }

    @Override
    public long createQp(long pd, MemorySegment attributes) {
        SimulatedDomain domain = get(pd, SimulatedDomain.class);
        if (domain.context.isDead()) {
            return -EIO;
        }
        int requests = ibv_qp_cap.max_send_wr(ibv_qp_init_attr.cap(attributes));
        int receives = ibv_qp_cap.max_recv_wr(ibv_qp_init_attr.cap(attributes));
        if (ibv_qp_init_attr.qp_type(attributes) != Verbs.IBV_QPT_RC() || requests > LIMIT) {
            return -EINVAL;
        }
        SimulatedQueuePair queuePair = new SimulatedQueuePair(domain,
                get(ibv_qp_init_attr.send_cq(attributes).address(), SimulatedCompletionQueue.class),
                get(ibv_qp_init_attr.recv_cq(attributes).address(), SimulatedCompletionQueue.class),
                lastHandle + HANDLE_STEP, new SimulatedQueuePair.Sizes(requests, receives),
                ibv_qp_init_attr.sq_sig_all(attributes) != 0);
        network.add(queuePair);
        return add(queuePair);
    }

    @Override
    public int qpNumber(long qp) {
        return get(qp, SimulatedQueuePair.class).number();
    }

    @Override
    public int modifyQp(long qp, MemorySegment attributes, int mask) {
        SimulatedQueuePair queuePair = get(qp, SimulatedQueuePair.class);
        return queuePair.domain.context.isDead() ? -EIO : -queuePair.modify(attributes, mask);
    }

    @Override
    public int queryQp(long qp, MemorySegment attributes, int mask, MemorySegment initial) {
        ibv_qp_attr.qp_state(attributes, get(qp, SimulatedQueuePair.class).state());
        return 0;
    }

    @Override
    public int destroyQp(long qp) {
        SimulatedQueuePair queuePair = get(qp, SimulatedQueuePair.class);
        if (isLost(queuePair)) {
            return -EIO;
        }
        if (queuePair.domain.context.device.takeRefusedDestroy()) {
            return -EBUSY;
        }
        queuePair.destroy();
        // What nobody took of its events is gone with it.
        queuePair.domain.context.events.removeIf(event -> event.element() == qp);
        return end(qp, 0);
    }

    @Override
    public int channelFd(long channel) {
        return get(channel, SimulatedChannel.class).descriptor;
    }

    @Override
    public int asyncFd(long context) {
        return get(context, SimulatedContext.class).descriptor;
    }

    @Override
    public int eventFd() {
        synchronized (lock) {
            eventDescriptors.add(++lastDescriptor);
            return lastDescriptor;
        }
    }

    @Override
    public int signal(int eventFd) {
        synchronized (lock) {
            signalled.add(eventFd);
            lock.notifyAll();
        }
        return 8;
    }

    @Override
    public int closeEventFd(int eventFd) {
        synchronized (lock) {
            return eventDescriptors.remove(eventFd) ? 0 : -EINVAL;
        }
    }

    /** Something can be read now. */
    void signalled() {
        synchronized (lock) {
            lock.notifyAll();
        }
    }

    @Override
    public int await(int fd, int eventFd, int timeoutMillis) {
        long endNs = System.nanoTime() + timeoutMillis * 1_000_000L;
        synchronized (lock) {
            while (!isReadable(fd) && !signalled.contains(eventFd)) {
                long leftMs = (endNs - System.nanoTime()) / 1_000_000;
                if (timeoutMillis >= 0 && leftMs <= 0) {
                    return 0;
                }
                try {
                    lock.wait(timeoutMillis < 0 ? 0 : leftMs);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    return 0;
                }
            }
            signalled.remove(eventFd);
            return isReadable(fd) ? 1 : 0;
        }
    }

    private boolean isReadable(int fd) {
        for (Object object : objects.values()) {
            if (object instanceof SimulatedChannel channel && channel.descriptor == fd) {
                return !channel.events.isEmpty();
            }
            if (object instanceof SimulatedContext context && context.descriptor == fd) {
                return !context.events.isEmpty();
            }
        }
        return false;
    }

    @Override
    public long getCqEvent(long channel) {
        SimulatedCompletionQueue queue = get(channel, SimulatedChannel.class).events.poll();
        return queue == null ? -EAGAIN : queue.handle;
    }

    @Override
    public void ackCqEvents(long cq, int events) {
        get(cq, SimulatedCompletionQueue.class);
    }

    @Override
    public int getAsyncEvent(long context, MemorySegment event) {
        SimulatedContext.Event next = get(context, SimulatedContext.class).events.poll();
        if (next == null) {
            return -EAGAIN;
        }
        event.fill((byte) 0);
        ibv_async_event.event_type(event, next.type());
        event.set(ValueLayout.JAVA_LONG, ibv_async_event.element$offset(), next.element());
        return 0;
    }

    @Override
    public void ackAsyncEvent(MemorySegment event) {
        // Nobody waits for it here.
    }

    @Override
    public DataPath dataPath(long context) {
        return floor ? new FloorDataPath(this::qpNumber) : this;
    }

    @Override
    public int postSend(long qp, long first, long bad) {
        SimulatedQueuePair queuePair = get(qp, SimulatedQueuePair.class);
        if (queuePair.domain.context.device.takeFailedDoorbell()) {
            queuePair.standStill();
        }
        for (long wr = first; wr != 0; wr = SimulatedMemory.ALL.get(ValueLayout.JAVA_LONG, wr + NEXT_WR)) {
            int error = queuePair.post(SimulatedMemory.ALL.asSlice(wr, 128));
            if (error != 0) {
                SimulatedMemory.ALL.set(ValueLayout.JAVA_LONG, bad, wr);
                return -error;
            }
        }
        return queuePair.isStandingStill() ? -EIO : 0;
    }

    @Override
    public int postRecv(long qp, long wr, long bad) {
        int error = get(qp, SimulatedQueuePair.class).postReceive(SimulatedMemory.ALL.asSlice(wr, 32));
        if (error != 0) {
            SimulatedMemory.ALL.set(ValueLayout.JAVA_LONG, bad, wr);
        }
        return -error;
    }

    @Override
    public int pollCq(long cq, int entries, long wc) {
        SimulatedCompletionQueue queue = get(cq, SimulatedCompletionQueue.class);
        return queue.context.device.areQueuesDead() ? -EIO : queue.poll(entries, wc);
    }

    @Override
    public int requestNotify(long cq, boolean solicitedOnly) {
        get(cq, SimulatedCompletionQueue.class).arm();
        return 0;
    }

}
