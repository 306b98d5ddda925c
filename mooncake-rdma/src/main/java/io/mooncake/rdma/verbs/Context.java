package io.mooncake.rdma.verbs;

import io.mooncake.rdma.verbs.ffi.ibv_async_event;
import io.mooncake.rdma.verbs.ffi.ibv_device_attr;
import io.mooncake.rdma.verbs.ffi.ibv_gid_entry;
import io.mooncake.rdma.verbs.ffi.ibv_port_attr;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An open device: what protection domains, completion queues and channels are made from, and where its events come. Any thread; events
 * are taken by one thread. Closed by its owner, after everything made from it.
 */
public final class Context extends NativeObject {

    private final Device device;
    private final Provider.DataPath dataPath;
    private final int eventFd;

    Context(Device device) {
        super(device.provider(), device.toString(), List.of(), "ibv_open_device",
                () -> device.provider().openDevice(device.name()));
        this.device = device;
        dataPath = provider.dataPath(handle());
        eventFd = provider.eventFd();
        if (eventFd < 0) {
            close();
            throw new VerbsException("eventfd", device.toString(), -eventFd);
        }
    }

    /**
     * Which device is open.
     *
     * @return the device
     */
    public Device device() {
        return device;
    }

    Provider.DataPath dataPath() {
        return dataPath;
    }

    /**
     * The device's limits.
     *
     * @return as the driver says now
     */
    public DeviceAttributes attributes() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment a = ibv_device_attr.allocate(arena);
            VerbsException.check(provider.queryDevice(handle(), a), "ibv_query_device", this);
            return new DeviceAttributes(ibv_device_attr.fw_ver(a).getString(0), ibv_device_attr.vendor_id(a),
                    Byte.toUnsignedInt(ibv_device_attr.phys_port_cnt(a)), ibv_device_attr.max_mr_size(a),
                    ibv_device_attr.max_mr(a), ibv_device_attr.max_qp(a), ibv_device_attr.max_qp_wr(a),
                    ibv_device_attr.max_cqe(a), ibv_device_attr.max_qp_rd_atom(a),
                    ibv_device_attr.max_qp_init_rd_atom(a));
        }
    }

    /**
     * A port as it is now.
     *
     * @param number from 1
     * @return its state
     */
    public Port port(int number) {
        try (Arena arena = Arena.ofConfined()) {
            // Zeroed, since the exported function fills 48 of 52 bytes.
            MemorySegment a = ibv_port_attr.allocate(arena);
            VerbsException.check(provider.queryPort(handle(), number, a), "ibv_query_port", this + ", port " + number);
            return new Port(number, Port.PortState.of(ibv_port_attr.state(a)), PathMtu.of(ibv_port_attr.active_mtu(a)),
                    ibv_port_attr.link_layer(a) == Constants.LINK_LAYER_ETHERNET,
                    Short.toUnsignedInt(ibv_port_attr.lid(a)), ibv_port_attr.gid_tbl_len(a),
                    Integer.toUnsignedLong(ibv_port_attr.max_msg_sz(a)),
                    Port.mbits(Byte.toUnsignedInt(ibv_port_attr.active_width(a)),
                            Byte.toUnsignedInt(ibv_port_attr.active_speed(a))));
        }
    }

    /**
     * A port's GID table as it is now, without its empty entries.
     *
     * @param port from {@link #port}
     * @return in the order of their indexes
     */
    public List<Gid> gids(Port port) {
        List<Gid> gids = new ArrayList<>();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment entry = ibv_gid_entry.allocate(arena);
            for (int i = 0; i < port.gids(); i++) {
                entry.fill((byte) 0);
                int result = provider.queryGid(handle(), port.number(), i, entry);
                if (result == -Errno.ENODATA) {
                    continue;
                }
                VerbsException.check(result, "ibv_query_gid_ex", this + ", port " + port.number() + ", index " + i);
                Gid gid = new Gid(i, ibv_gid_entry.gid(entry).toArray(ValueLayout.JAVA_BYTE),
                        Gid.Type.of(ibv_gid_entry.gid_type(entry)), ibv_gid_entry.ndev_ifindex(entry));
                if (!gid.isZero()) {
                    gids.add(gid);
                }
            }
        }
        return gids;
    }

    /**
     * A protection domain: what memory regions and queue pairs belong to.
     *
     * @return to be closed
     */
    public ProtectionDomain newProtectionDomain() {
        return new ProtectionDomain(this);
    }

    /**
     * A channel for the events of completion queues.
     *
     * @return to be closed
     */
    public CompletionChannel newCompletionChannel() {
        return new CompletionChannel(this);
    }

    /**
     * A completion queue.
     *
     * @param entries completions that it holds, at least: as many as there may be requests outstanding on all its queue pairs, since an
     *     overflow kills it
     * @param channel where its events go, or null for none
     * @return to be closed
     */
    public CompletionQueue newCompletionQueue(int entries, @Nullable CompletionChannel channel) {
        return new CompletionQueue(this, entries, channel);
    }

    /**
     * Waits for an event of the device and takes it. Blocks its thread, which is a platform thread for choice.
     *
     * @param timeoutMillis at most; less than 0 for ever
     * @return the event; null when there was none in time, or {@link #wakeup} came
     */
    public @Nullable AsyncEvent awaitEvent(int timeoutMillis) {
        long ready = VerbsException.check(provider.await(provider.asyncFd(handle()), eventFd, timeoutMillis), "poll",
                this);
        if (ready == 0) {
            return null;
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment event = ibv_async_event.allocate(arena);
            VerbsException.check(provider.getAsyncEvent(handle(), event), "ibv_get_async_event", this);
            try {
                return eventOf(event);
            } finally {
                // At once: destroying what the event is about waits for this.
                provider.ackAsyncEvent(event);
            }
        }
    }

    private AsyncEvent eventOf(MemorySegment event) {
        int code = ibv_async_event.event_type(event);
        AsyncEvent.Type type = AsyncEvent.Type.of(code);
        MemorySegment element = ibv_async_event.element(event);
        return switch (type.about) {
            case PORT -> new AsyncEvent(type, element.get(ValueLayout.JAVA_INT, 0), 0, code);
            case QP -> new AsyncEvent(type, 0, provider.qpNumber(element.get(ValueLayout.JAVA_LONG, 0)), code);
            case CQ, SRQ, WQ, DEVICE -> new AsyncEvent(type, 0, 0, code);
        };
    }

    /** Ends {@link #awaitEvent}, now or the next one. Any thread, also while it is closed: its descriptor may be another file's from then on. */
    public synchronized void wakeup() {
        if (!isClosed()) {
            VerbsException.check(provider.signal(eventFd), "write", "eventfd of " + this);
        }
    }

    @Override
    String destroyCall() {
        return "ibv_close_device";
    }

    @Override
    int destroy(long object) {
        return provider.closeDevice(object);
    }

    @Override
    void release() {
        if (eventFd >= 0) {
            VerbsException.check(provider.closeEventFd(eventFd), "close", "eventfd of " + this);
        }
    }
}
