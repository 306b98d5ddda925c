package io.mooncake.rdma.sim;

import io.mooncake.rdma.verbs.Access;
import io.mooncake.rdma.verbs.ffi.Verbs;
import io.mooncake.rdma.verbs.ffi.ibv_ah_attr;
import io.mooncake.rdma.verbs.ffi.ibv_global_route;
import io.mooncake.rdma.verbs.ffi.ibv_qp_attr;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** A reliably connected queue pair: reads in any order, completes in the order of posting, is broken by its first error. */
final class SimulatedQueuePair {
    private static final int SUCCESS = 0;
    private static final int LOCAL_OPERATION = 2;
    private static final int LOCAL_PROTECTION = 4;
    private static final int FLUSHED = 5;
    private static final int REMOTE_ACCESS = 10;
    private static final int RETRIES_EXCEEDED = 12;
    private static final int EINVAL = 22;
    private static final int ENOMEM = 12;
    private static final long TIMEOUT_UNIT_NS = 4096;

    /** {@code struct ibv_send_wr} and {@code struct ibv_sge}. */
    private static final long WR_ID = 0;
    private static final long WR_SG_LIST = 16;
    private static final long WR_NUM_SGE = 24;
    private static final long WR_OPCODE = 28;
    private static final long WR_FLAGS = 32;
    private static final long WR_REMOTE_ADDRESS = 40;
    private static final long WR_REMOTE_KEY = 48;
    private static final long SGE_LENGTH = 8;
    private static final long SGE_LOCAL_KEY = 12;

    final SimulatedDomain domain;
    final SimulatedCompletionQueue sendQueue;
    final SimulatedCompletionQueue receiveQueue;
    private final SimulatedNetwork network;
    private final long handle;
    private final int number;
    private final int capacity;
    private final boolean signalAll;
    private final ArrayDeque<SimulatedRead> outstanding = new ArrayDeque<>();
    private int state = Verbs.IBV_QPS_RESET();
    private int accessFlags;
    private int peerNumber;
    private byte[] peerGid = new byte[0];
    private int firstSent;
    private int firstExpected;
    private long retryNs;
    private boolean destroyed;

    SimulatedQueuePair(SimulatedDomain domain, SimulatedCompletionQueue sendQueue,
            SimulatedCompletionQueue receiveQueue, long handle, int capacity, boolean signalAll) {
        this.domain = domain;
        this.sendQueue = sendQueue;
        this.receiveQueue = receiveQueue;
        this.handle = handle;
        this.capacity = capacity;
        this.signalAll = signalAll;
        network = domain.context.device.host().network();
        number = network.newQueuePairNumber();
        domain.users++;
        sendQueue.users++;
        receiveQueue.users++;
    }

    int number() {
        return number;
    }

    int state() {
        return state;
    }

    private SimulatedDevice device() {
        return domain.context.device;
    }

    private boolean isDead() {
        return domain.context.isDead();
    }

    /** {@code ibv_modify_qp}: 0, or an errno for a transition or a mask that verbs refuse. */
    int modify(MemorySegment attributes, int mask) {
        if ((mask & Verbs.IBV_QP_STATE()) == 0) {
            return EINVAL;
        }
        int wanted = ibv_qp_attr.qp_state(attributes);
        if (wanted == Verbs.IBV_QPS_ERR()) {
            breakDown(FLUSHED);
            return 0;
        }
        if (wanted != state + 1 || mask != maskOf(wanted)) {
            return EINVAL;
        }
        if (wanted == Verbs.IBV_QPS_INIT()) {
            accessFlags = ibv_qp_attr.qp_access_flags(attributes);
        } else if (wanted == Verbs.IBV_QPS_RTR()) {
            MemorySegment path = ibv_qp_attr.ah_attr(attributes);
            MemorySegment route = ibv_ah_attr.grh(path);
            int ownGid = ibv_global_route.sgid_index(route) & 0xFF;
            if (ibv_ah_attr.is_global(path) != 1 || ownGid >= device().gids().size()) {
                return EINVAL;
            }
            peerGid = ibv_global_route.dgid(route).toArray(ValueLayout.JAVA_BYTE);
            peerNumber = ibv_qp_attr.dest_qp_num(attributes);
            firstExpected = ibv_qp_attr.rq_psn(attributes);
        } else {
            firstSent = ibv_qp_attr.sq_psn(attributes);
            int retries = ibv_qp_attr.retry_cnt(attributes);
            retryNs = retries == 7
                    ? Long.MAX_VALUE / 4
                    : (TIMEOUT_UNIT_NS << ibv_qp_attr.timeout(attributes)) * (retries + 1);
        }
        state = wanted;
        return 0;
    }

    private static int maskOf(int wanted) {
        if (wanted == Verbs.IBV_QPS_INIT()) {
            return Verbs.IBV_QP_STATE() | Verbs.IBV_QP_PKEY_INDEX() | Verbs.IBV_QP_PORT() | Verbs.IBV_QP_ACCESS_FLAGS();
        }
        if (wanted == Verbs.IBV_QPS_RTR()) {
            return Verbs.IBV_QP_STATE() | Verbs.IBV_QP_AV() | Verbs.IBV_QP_PATH_MTU() | Verbs.IBV_QP_DEST_QPN()
                    | Verbs.IBV_QP_RQ_PSN() | Verbs.IBV_QP_MAX_DEST_RD_ATOMIC() | Verbs.IBV_QP_MIN_RNR_TIMER();
        }
        return Verbs.IBV_QP_STATE() | Verbs.IBV_QP_TIMEOUT() | Verbs.IBV_QP_RETRY_CNT() | Verbs.IBV_QP_RNR_RETRY()
                | Verbs.IBV_QP_SQ_PSN() | Verbs.IBV_QP_MAX_QP_RD_ATOMIC();
    }

    /** Takes one work request; 0 or an errno. */
    int post(MemorySegment wr) {
        boolean ready = state == Verbs.IBV_QPS_RTS() || state == Verbs.IBV_QPS_ERR();
        if (!ready || wr.get(ValueLayout.JAVA_INT, WR_OPCODE) != Verbs.IBV_WR_RDMA_READ()
                || wr.get(ValueLayout.JAVA_INT, WR_NUM_SGE) != 1) {
            return EINVAL;
        }
        if (outstanding.size() == capacity || device().takeRefusal()) {
            return ENOMEM;
        }
        MemorySegment sge = SimulatedMemory.ALL.asSlice(wr.get(ValueLayout.JAVA_LONG, WR_SG_LIST), 16);
        long local = sge.get(ValueLayout.JAVA_LONG, 0);
        int length = sge.get(ValueLayout.JAVA_INT, SGE_LENGTH);
        SimulatedRead read = new SimulatedRead(wr.get(ValueLayout.JAVA_LONG, WR_ID),
                signalAll || (wr.get(ValueLayout.JAVA_INT, WR_FLAGS) & Verbs.IBV_SEND_SIGNALED()) != 0,
                wr.get(ValueLayout.JAVA_LONG, WR_REMOTE_ADDRESS), wr.get(ValueLayout.JAVA_INT, WR_REMOTE_KEY), local,
                length, network.below(1 << 20));
        outstanding.add(read);
        if (isDead()) {
            return 0;
        }
        if (state == Verbs.IBV_QPS_ERR()) {
            read.status = FLUSHED;
            if (outstanding.size() == 1) {
                flushLater();
            }
            return 0;
        }
        int localKey = sge.get(ValueLayout.JAVA_INT, SGE_LOCAL_KEY);
        read.planned = domain.local(localKey, local, length, Access.LOCAL_WRITE) == null
                ? LOCAL_PROTECTION
                : device().takeNextStatus();
        boolean fenced = (wr.get(ValueLayout.JAVA_INT, WR_FLAGS) & Verbs.IBV_SEND_FENCE()) != 0;
        read.heldBack = fenced && outstanding.size() > 1;
        if (!read.heldBack) {
            begin(read, read.planned);
        }
        return 0;
    }

    private void begin(SimulatedRead read, int status) {
        SimulatedTiming timing = network.timing();
        if (status != SUCCESS) {
            network.time().after(network.upTo(timing.sampleNs()), () -> fail(read, status));
            return;
        }
        int bursts = Math.min(timing.bursts(), read.pieces());
        read.burstsLeft = bursts;
        for (int i = 0; i < bursts; i++) {
            int burst = i;
            network.time().after(network.upTo(timing.sampleNs()), () -> sample(read, burst, bursts));
        }
    }

    private boolean isUnderWay(SimulatedRead read) {
        return !read.over && state == Verbs.IBV_QPS_RTS() && !destroyed && !isDead();
    }

    private void sample(SimulatedRead read, int burst, int bursts) {
        if (!isUnderWay(read)) {
            return;
        }
        if (!device().isPortActive()) {
            fail(read, LOCAL_OPERATION);
            return;
        }
        SimulatedQueuePair there = peer();
        if (there == null) {
            network.time().after(retryNs, () -> sampleAgain(read, burst, bursts));
            return;
        }
        boolean allowed = (there.accessFlags & Access.REMOTE_READ) != 0
                && there.domain.remote(read.remoteKey, read.remote, read.bytes.length, Access.REMOTE_READ) != null;
        if (!allowed) {
            there.onViolated();
            fail(read, REMOTE_ACCESS);
            return;
        }
        read.sample(burst, bursts);
        network.time().after(network.upTo(network.timing().landNs()), () -> land(read, burst, bursts));
    }

    private void sampleAgain(SimulatedRead read, int burst, int bursts) {
        if (isUnderWay(read) && peer() == null) {
            fail(read, RETRIES_EXCEEDED);
        } else {
            sample(read, burst, bursts);
        }
    }

    /** The queue pair that answers; null when nobody does. */
    private @Nullable SimulatedQueuePair peer() {
        SimulatedQueuePair there = network.find(peerNumber);
        boolean answers = there != null && !there.isDead() && there.device().isPortActive()
                && (there.state == Verbs.IBV_QPS_RTR() || there.state == Verbs.IBV_QPS_RTS())
                && there.peerNumber == number && there.firstExpected == firstSent
                && there.device().gids().stream().anyMatch(entry -> Arrays.equals(entry.gid(), peerGid))
                && !network.isCut(device().host().name(), there.device().host().name());
        return answers ? there : null;
    }

    /** A peer asked for what it may not: this end is broken too, and some cards say so. */
    private void onViolated() {
        breakDown(FLUSHED);
        if (network.below(2) == 0) {
            domain.context.event(Verbs.IBV_EVENT_QP_ACCESS_ERR(), handle);
        }
    }

    private void land(SimulatedRead read, int burst, int bursts) {
        // A broken queue pair may still write what it has, until the flush is reported.
        if (read.over || destroyed || isDead()) {
            return;
        }
        read.land(burst, bursts);
        if (--read.burstsLeft == 0) {
            read.landed = true;
            if (state == Verbs.IBV_QPS_RTS()) {
                network.time().after(network.upTo(network.timing().completeNs()), this::completeInOrder);
            }
        }
    }

    private void completeInOrder() {
        for (SimulatedRead first; state == Verbs.IBV_QPS_RTS() && (first = outstanding.peek()) != null
                && first.landed;) {
            outstanding.remove();
            complete(first);
        }
        SimulatedRead next = outstanding.peek();
        if (state == Verbs.IBV_QPS_RTS() && next != null && next.heldBack) {
            next.heldBack = false;
            begin(next, next.planned);
        }
    }

    private void complete(SimulatedRead read) {
        read.over = true;
        if (read.signalled || read.status != SUCCESS) {
            sendQueue.add(read.id, read.status, read.bytes.length, number);
        }
    }

    private void fail(SimulatedRead read, int status) {
        if (isUnderWay(read)) {
            read.status = status;
            breakDown(FLUSHED);
        }
    }

    /** From now on what is outstanding is flushed one after the other. */
    private void breakDown(int statusOfRest) {
        if (state == Verbs.IBV_QPS_ERR() || destroyed) {
            return;
        }
        state = Verbs.IBV_QPS_ERR();
        boolean falseOk = network.below(100) < network.timing().falseOkPercent();
        for (SimulatedRead read : outstanding) {
            boolean first = read.equals(outstanding.peek());
            if (read.status == SUCCESS && !(first && falseOk)) {
                read.status = statusOfRest;
            }
        }
        flushLater();
    }

    private void flushLater() {
        network.time().after(network.upTo(network.timing().flushNs()), () -> {
            if (destroyed || isDead()) {
                return;
            }
            SimulatedRead first = outstanding.poll();
            if (first != null) {
                complete(first);
                flushLater();
            }
        });
    }

    /** {@code ibv_destroy_qp}. */
    void destroy() {
        destroyed = true;
        outstanding.forEach(read -> read.over = true);
        outstanding.clear();
        network.remove(this);
        domain.users--;
        sendQueue.users--;
        receiveQueue.users--;
        if (network.below(2) == 0) {
            sendQueue.forget(number);
        }
    }
}
