package io.mooncake.rdma.verbs;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.mooncake.rdma.verbs.ffi.ibv_ah_attr;
import io.mooncake.rdma.verbs.ffi.ibv_global_route;
import io.mooncake.rdma.verbs.ffi.ibv_qp_attr;
import io.mooncake.rdma.verbs.ffi.ibv_qp_cap;
import io.mooncake.rdma.verbs.ffi.ibv_qp_init_attr;
import io.mooncake.rdma.verbs.ffi.ibv_recv_wr;
import io.mooncake.rdma.verbs.ffi.ibv_sge;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * A reliable connected queue pair: RESET, INIT, RTR, RTS and at last ERR, in this order and once. It is never used again after an error,
 * nor is its packet number: packets of the old connection may still be under way. Posted to by the one thread that polls its completion
 * queue; its state is changed by one thread at a time, any.
 *
 * <pre>
 *   RESET ──toInit──▶ INIT ──toReadyToReceive──▶ RTR ──toReadyToSend──▶ RTS ──a failed request, or toError──▶ ERR
 * </pre>
 */
public final class QueuePair extends NativeObject {

    /**
     * What the queues hold.
     *
     * @param sends requests of this side
     * @param receives RECVs
     * @param inlineBytes of a SEND whose bytes are copied when it is posted
     */
    public record Capacity(int sends, int receives, int inlineBytes) {}

    /** {@code enum ibv_qp_state}, by its numbers. */
    public enum State {
        /** Just made. */
        RESET,
        /** Takes RECVs. */
        INIT,
        /** Answers the peer. */
        RTR,
        /** Sends, too. */
        RTS,
        /** Drained. */
        SQD,
        /** Its send queue failed. */
        SQE,
        /** Failed: everything posted is flushed. */
        ERR,
        /** One that this library does not know. */
        UNKNOWN;

        static State of(int number) {
            return number >= 0 && number < UNKNOWN.ordinal() ? values()[number] : UNKNOWN;
        }
    }

    private final int number;
    private final int inlineBytes;
    private final Provider.DataPath dataPath;
    private final long qp;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment receive = ibv_recv_wr.allocate(arena);
    private final MemorySegment receiveElement = ibv_sge.allocate(arena);
    private final MemorySegment bad = arena.allocate(JAVA_LONG);

    static QueuePair make(ProtectionDomain domain, CompletionQueue completions, Capacity capacity) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attributes = ibv_qp_init_attr.allocate(arena);
            MemorySegment cq = MemorySegment.ofAddress(completions.handle());
            ibv_qp_init_attr.send_cq(attributes, cq);
            ibv_qp_init_attr.recv_cq(attributes, cq);
            ibv_qp_init_attr.qp_type(attributes, Constants.QPT_RC);
            MemorySegment cap = ibv_qp_init_attr.cap(attributes);
            ibv_qp_cap.max_send_wr(cap, capacity.sends);
            ibv_qp_cap.max_recv_wr(cap, capacity.receives);
            ibv_qp_cap.max_send_sge(cap, 1);
            ibv_qp_cap.max_recv_sge(cap, 1);
            ibv_qp_cap.max_inline_data(cap, capacity.inlineBytes);
            return new QueuePair(domain, completions, capacity, attributes);
        }
    }

    private QueuePair(ProtectionDomain domain, CompletionQueue completions, Capacity capacity,
            MemorySegment attributes) {
        super(domain.provider, "queue pair (" + capacity.sends + " sends, " + capacity.receives + " receives) of "
                + domain.context(), List.of(domain, completions), "ibv_create_qp",
                () -> domain.provider.createQp(domain.handle(), attributes));
        qp = handle();
        dataPath = domain.context().dataPath();
        number = provider.qpNumber(qp);
        inlineBytes = ibv_qp_cap.max_inline_data(ibv_qp_init_attr.cap(attributes));
        ibv_recv_wr.sg_list(receive, receiveElement);
        ibv_recv_wr.num_sge(receive, 1);
    }

    /**
     * Its number, by which the peer and events name it.
     *
     * @return 24 bits
     */
    public int number() {
        return number;
    }

    /**
     * Bytes of an inline SEND.
     *
     * @return as granted, at least as asked for
     */
    public int inlineBytes() {
        return inlineBytes;
    }

    /**
     * RESET to INIT.
     *
     * @param port the port it uses, from 1
     * @param access what the peer may do: {@link Access} flags
     */
    public void toInit(int port, int access) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment a = ibv_qp_attr.allocate(arena);
            ibv_qp_attr.qp_state(a, State.INIT.ordinal());
            ibv_qp_attr.port_num(a, (byte) port);
            ibv_qp_attr.qp_access_flags(a, access);
            modify(a, Constants.QP_STATE | Constants.QP_PKEY_INDEX | Constants.QP_PORT | Constants.QP_ACCESS_FLAGS,
                    State.INIT);
        }
    }

    /**
     * INIT to RTR: from now on it answers the peer. RECVs that the peer may need were posted before.
     *
     * @param path this side's end
     * @param peer the peer's end
     * @param settings timers and limits
     */
    public void toReadyToReceive(LocalPath path, PeerEnd peer, ConnectionSettings settings) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment a = ibv_qp_attr.allocate(arena);
            ibv_qp_attr.qp_state(a, State.RTR.ordinal());
            ibv_qp_attr.path_mtu(a, path.mtu().min(peer.mtu()).code());
            ibv_qp_attr.dest_qp_num(a, peer.queuePair());
            ibv_qp_attr.rq_psn(a, peer.packetNumber());
            ibv_qp_attr.max_dest_rd_atomic(a, (byte) settings.answeredReads());
            ibv_qp_attr.min_rnr_timer(a, (byte) settings.notReadyTimer());
            addressHandle(ibv_qp_attr.ah_attr(a), path, peer, settings);
            modify(a, Constants.QP_STATE | Constants.QP_AV | Constants.QP_PATH_MTU | Constants.QP_DEST_QPN
                    | Constants.QP_RQ_PSN | Constants.QP_MAX_DEST_RD_ATOMIC | Constants.QP_MIN_RNR_TIMER, State.RTR);
        }
    }

    private static void addressHandle(MemorySegment ah, LocalPath path, PeerEnd peer, ConnectionSettings settings) {
        ibv_ah_attr.port_num(ah, (byte) path.port());
        ibv_ah_attr.sl(ah, (byte) settings.serviceLevel());
        ibv_ah_attr.dlid(ah, (short) peer.lid());
        // RoCE has no other address than the GID; on InfiniBand the LID is enough within the subnet.
        ibv_ah_attr.is_global(ah, (byte) (path.ethernet() || peer.lid() == 0 ? 1 : 0));
        MemorySegment route = ibv_ah_attr.grh(ah);
        MemorySegment.copy(peer.gid(), 0, ibv_global_route.dgid(route), JAVA_BYTE, 0, Gid.BYTES);
        ibv_global_route.sgid_index(route, (byte) path.gidIndex());
        ibv_global_route.hop_limit(route, (byte) settings.hopLimit());
        ibv_global_route.traffic_class(route, (byte) settings.trafficClass());
    }

    /**
     * RTR to RTS: from now on it sends.
     *
     * @param packetNumber its first packet's number, 24 bits, which the peer was told; never one of an earlier connection
     * @param settings timers and limits
     */
    public void toReadyToSend(int packetNumber, ConnectionSettings settings) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment a = ibv_qp_attr.allocate(arena);
            ibv_qp_attr.qp_state(a, State.RTS.ordinal());
            ibv_qp_attr.timeout(a, (byte) settings.timeout());
            ibv_qp_attr.retry_cnt(a, (byte) settings.retries());
            ibv_qp_attr.rnr_retry(a, (byte) settings.notReadyRetries());
            ibv_qp_attr.sq_psn(a, packetNumber);
            ibv_qp_attr.max_rd_atomic(a, (byte) settings.initiatedReads());
            modify(a, Constants.QP_STATE | Constants.QP_TIMEOUT | Constants.QP_RETRY_CNT | Constants.QP_RNR_RETRY
                    | Constants.QP_SQ_PSN | Constants.QP_MAX_QP_RD_ATOMIC, State.RTS);
        }
    }

    /** To ERR: everything posted completes, flushed or as it was; only then may its memory be used again. Takes milliseconds. */
    public void toError() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment a = ibv_qp_attr.allocate(arena);
            ibv_qp_attr.qp_state(a, State.ERR.ordinal());
            modify(a, Constants.QP_STATE, State.ERR);
        }
    }

    /**
     * Back to RESET, from any state: nothing of what was posted touches memory any more, and no completion of it comes. For one that the device
     * does not destroy; it is not used again.
     */
    public void toReset() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment a = ibv_qp_attr.allocate(arena);
            ibv_qp_attr.qp_state(a, State.RESET.ordinal());
            modify(a, Constants.QP_STATE, State.RESET);
        }
    }

    private void modify(MemorySegment attributes, int mask, State to) {
        VerbsException.check(provider.modifyQp(handle(), attributes, mask), "ibv_modify_qp",
                this + " number " + number + " to " + to);
    }

    /**
     * Asks the driver.
     *
     * @return its state now
     */
    public State state() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment a = ibv_qp_attr.allocate(arena);
            VerbsException.check(
                    provider.queryQp(handle(), a, Constants.QP_STATE, ibv_qp_init_attr.allocate(arena)),
                    "ibv_query_qp", this + " number " + number);
            return State.of(ibv_qp_attr.qp_state(a));
        }
    }

    /**
     * Posts a batch with one doorbell and empties it. The poller's thread; on Soft-RoCE a system call that may take milliseconds.
     *
     * @param ring the batch
     * @return how many requests were taken, from the first on; {@link WorkRequestRing#refusal} says what failed, and may do so even when all
     *     were taken
     */
    public int post(WorkRequestRing ring) {
        requireOpen();
        return ring.post(dataPath, qp);
    }

    /**
     * Posts a RECV for one message of the peer. The poller's thread.
     *
     * @param cookie comes back with the completion
     * @param address where the message goes
     * @param length bytes there
     * @param key the local key
     * @throws VerbsException ENOMEM when the queue takes no more
     */
    public void postReceive(long cookie, long address, int length, int key) {
        requireOpen();
        receive.set(JAVA_LONG, ibv_recv_wr.wr_id$offset(), cookie);
        receiveElement.set(JAVA_LONG, ibv_sge.addr$offset(), address);
        receiveElement.set(JAVA_INT, ibv_sge.length$offset(), length);
        receiveElement.set(JAVA_INT, ibv_sge.lkey$offset(), key);
        VerbsException.check(dataPath.postRecv(qp, receive.address(), bad.address()), "ibv_post_recv", this);
    }

    @Override
    String destroyCall() {
        return "ibv_destroy_qp";
    }

    @Override
    int destroy(long object) {
        return provider.destroyQp(object);
    }

    @Override
    void release() {
        arena.close();
    }
}
