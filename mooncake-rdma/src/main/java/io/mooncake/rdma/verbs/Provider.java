package io.mooncake.rdma.verbs;

import java.lang.foreign.MemorySegment;

/**
 * What libibverbs offers, flat: the one seam below the facade, so that a simulated device drives everything above it. Objects are the
 * addresses that the library gave ({@code ibv_context*}, {@code ibv_pd*}, ...), structures are native memory laid out as in
 * {@code <infiniband/verbs.h>}, flags and states are its numbers.
 *
 * <p>Every call answers with 0 or more, or with the negated errno. As safe for threads as libibverbs: everything may be called from any
 * thread, but for one object by one thread at a time, and never for one that is being destroyed.
 */
public interface Provider {

    /**
     * The devices seen now.
     *
     * @return their names, or why they cannot be told
     */
    DeviceList devices();

    /**
     * What the kernel says of a device in a file below {@code /sys/class/infiniband/NAME}.
     *
     * @param device its name
     * @param path for example {@code device/numa_node}
     * @return the text without the white space around it; for a link, the last part of what it points to; empty where there is none
     */
    String attribute(String device, String path);

    /**
     * {@code ibv_open_device}.
     *
     * @param device its name
     * @return the {@code ibv_context*}; ENODEV when no device has that name
     */
    long openDevice(String device);

    /**
     * {@code ibv_close_device}.
     *
     * @param context an {@code ibv_context*}
     * @return 0
     */
    int closeDevice(long context);

    /**
     * {@code ibv_query_device}.
     *
     * @param context an {@code ibv_context*}
     * @param attributes receives {@code struct ibv_device_attr}
     * @return 0
     */
    int queryDevice(long context, MemorySegment attributes);

    /**
     * {@code ibv_query_port}.
     *
     * @param context an {@code ibv_context*}
     * @param port from 1
     * @param attributes receives {@code struct ibv_port_attr}; zeroed before
     * @return 0
     */
    int queryPort(long context, int port, MemorySegment attributes);

    /**
     * {@code ibv_query_gid_ex}.
     *
     * @param context an {@code ibv_context*}
     * @param port from 1
     * @param index from 0
     * @param entry receives {@code struct ibv_gid_entry}
     * @return 0; ENODATA for an empty entry
     */
    int queryGid(long context, int port, int index, MemorySegment entry);

    /**
     * {@code ibv_alloc_pd}.
     *
     * @param context an {@code ibv_context*}
     * @return the {@code ibv_pd*}
     */
    long allocPd(long context);

    /**
     * {@code ibv_dealloc_pd}.
     *
     * @param pd an {@code ibv_pd*}
     * @return 0; EBUSY while something made from it lives
     */
    int deallocPd(long pd);

    /**
     * {@code ibv_reg_mr}. Slow: it pins every page.
     *
     * @param pd an {@code ibv_pd*}
     * @param address of the first byte, which is also how peers name it
     * @param length bytes
     * @param access {@link Access} flags
     * @return the {@code ibv_mr*}
     */
    long regMr(long pd, long address, long length, int access);

    /**
     * {@code ibv_reg_dmabuf_mr}.
     *
     * @param pd an {@code ibv_pd*}
     * @param memory of another device
     * @param access {@link Access} flags
     * @return the {@code ibv_mr*}; ENOSYS when the library lacks the call
     */
    long regDmabufMr(long pd, DmaBuf memory, int access);

    /**
     * {@code ibv_dereg_mr}.
     *
     * @param mr an {@code ibv_mr*}
     * @return 0
     */
    int deregMr(long mr);

    /**
     * {@code ibv_mr.lkey}.
     *
     * @param mr an {@code ibv_mr*}
     * @return the key for work requests of this process; any int, never an error
     */
    int localKey(long mr);

    /**
     * {@code ibv_mr.rkey}.
     *
     * @param mr an {@code ibv_mr*}
     * @return the key for peers; any int, never an error
     */
    int remoteKey(long mr);

    /**
     * {@code ibv_create_comp_channel}.
     *
     * @param context an {@code ibv_context*}
     * @return the {@code ibv_comp_channel*}
     */
    long createCompChannel(long context);

    /**
     * {@code ibv_destroy_comp_channel}.
     *
     * @param channel an {@code ibv_comp_channel*}
     * @return 0; EBUSY while a completion queue uses it
     */
    int destroyCompChannel(long channel);

    /**
     * {@code ibv_create_cq}.
     *
     * @param context an {@code ibv_context*}
     * @param entries at least
     * @param channel an {@code ibv_comp_channel*}, or 0
     * @return the {@code ibv_cq*}
     */
    long createCq(long context, int entries, long channel);

    /**
     * {@code ibv_cq.cqe}.
     *
     * @param cq an {@code ibv_cq*}
     * @return completions that it holds
     */
    int cqEntries(long cq);

    /**
     * {@code ibv_destroy_cq}. Waits until every event of it was acknowledged.
     *
     * @param cq an {@code ibv_cq*}
     * @return 0; EBUSY while a queue pair uses it
     */
    int destroyCq(long cq);

    /**
     * {@code ibv_create_qp}.
     *
     * @param pd an {@code ibv_pd*}
     * @param attributes {@code struct ibv_qp_init_attr}; its capacities become what was granted
     * @return the {@code ibv_qp*}
     */
    long createQp(long pd, MemorySegment attributes);

    /**
     * {@code ibv_qp.qp_num}.
     *
     * @param qp an {@code ibv_qp*}
     * @return 24 bits
     */
    int qpNumber(long qp);

    /**
     * {@code ibv_modify_qp}.
     *
     * @param qp an {@code ibv_qp*}
     * @param attributes {@code struct ibv_qp_attr}
     * @param mask {@code IBV_QP_} flags: which members count
     * @return 0
     */
    int modifyQp(long qp, MemorySegment attributes, int mask);

    /**
     * {@code ibv_query_qp}.
     *
     * @param qp an {@code ibv_qp*}
     * @param attributes receives {@code struct ibv_qp_attr}
     * @param mask {@code IBV_QP_} flags: what is asked for
     * @param initial receives {@code struct ibv_qp_init_attr}
     * @return 0
     */
    int queryQp(long qp, MemorySegment attributes, int mask, MemorySegment initial);

    /**
     * {@code ibv_destroy_qp}. When it returns, no work request of the queue pair touches memory any more. Waits until every event of it
     * was acknowledged.
     *
     * @param qp an {@code ibv_qp*}
     * @return 0
     */
    int destroyQp(long qp);

    /**
     * {@code ibv_comp_channel.fd}.
     *
     * @param channel an {@code ibv_comp_channel*}
     * @return a descriptor for {@link #await}
     */
    int channelFd(long channel);

    /**
     * {@code ibv_context.async_fd}.
     *
     * @param context an {@code ibv_context*}
     * @return a descriptor for {@link #await}
     */
    int asyncFd(long context);

    /**
     * A new descriptor that ends an {@link #await}.
     *
     * @return the descriptor
     */
    int eventFd();

    /**
     * Makes a descriptor of {@link #eventFd} readable. Any thread.
     *
     * @param eventFd the descriptor
     * @return 0 or more
     */
    int signal(int eventFd);

    /**
     * Closes a descriptor of {@link #eventFd}.
     *
     * @param eventFd the descriptor
     * @return 0
     */
    int closeEventFd(int eventFd);

    /**
     * Waits until one of two descriptors can be read; a signalled event descriptor is read empty.
     *
     * @param fd of a channel or a device
     * @param eventFd from {@link #eventFd}
     * @param timeoutMillis at most; 0 only looks, less than 0 waits for ever
     * @return 1 when {@code fd} can be read, else 0
     */
    int await(int fd, int eventFd, int timeoutMillis);

    /**
     * {@code ibv_get_cq_event}. Blocks until there is one.
     *
     * @param channel an {@code ibv_comp_channel*}
     * @return the {@code ibv_cq*} that it is about
     */
    long getCqEvent(long channel);

    /**
     * {@code ibv_ack_cq_events}.
     *
     * @param cq an {@code ibv_cq*}
     * @param events taken by {@link #getCqEvent} and not acknowledged yet
     */
    void ackCqEvents(long cq, int events);

    /**
     * {@code ibv_get_async_event}. Blocks until there is one.
     *
     * @param context an {@code ibv_context*}
     * @param event receives {@code struct ibv_async_event}
     * @return 0
     */
    int getAsyncEvent(long context, MemorySegment event);

    /**
     * {@code ibv_ack_async_event}.
     *
     * @param event as {@link #getAsyncEvent} gave it
     */
    void ackAsyncEvent(MemorySegment event);

    /**
     * The calls of the data path. Asked for once, when a queue is made.
     *
     * @param context an {@code ibv_context*}
     * @return {@code ibv_context.ops}; valid until the context is closed
     */
    DataPath dataPath(long context);

    /**
     * The data path of one device. Nothing is allocated; one thread at a time a queue. Each answers with 0 or more, or with the negated
     * errno.
     */
    interface DataPath {
        /**
         * {@code ibv_post_send}. The requests may be overwritten when it returns.
         *
         * @param qp an {@code ibv_qp*}
         * @param wr the first {@code struct ibv_send_wr} of a chain
         * @param bad 8 bytes that receive the address of the first request that was not taken
         * @return 0
         */
        int postSend(long qp, long wr, long bad);

        /**
         * {@code ibv_post_recv}. The requests may be overwritten when it returns.
         *
         * @param qp an {@code ibv_qp*}
         * @param wr the first {@code struct ibv_recv_wr} of a chain
         * @param bad 8 bytes that receive the address of the first request that was not taken
         * @return 0
         */
        int postRecv(long qp, long wr, long bad);

        /**
         * {@code ibv_poll_cq}.
         *
         * @param cq an {@code ibv_cq*}
         * @param entries at most
         * @param wc an array of {@code struct ibv_wc}
         * @return completions taken
         */
        int pollCq(long cq, int entries, long wc);

        /**
         * {@code ibv_req_notify_cq}: the next completion makes an event on the queue's channel.
         *
         * @param cq an {@code ibv_cq*}
         * @param solicitedOnly whether only completions that the sender marked count
         * @return 0
         */
        int requestNotify(long cq, boolean solicitedOnly);
    }

    /**
     * A part of another device's memory, shared by dma-buf.
     *
     * @param fd the buffer's file descriptor
     * @param offset of the first byte in the buffer
     * @param length bytes
     * @param iova the address by which work requests and peers name the first byte
     */
    record DmaBuf(int fd, long offset, long length, long iova) {}
}
