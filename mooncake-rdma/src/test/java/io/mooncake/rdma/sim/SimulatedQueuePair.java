package io.mooncake.rdma.sim;

import io.mooncake.rdma.sim.SimulatedRequest.Kind;
import io.mooncake.rdma.verbs.Access;
import io.mooncake.rdma.verbs.ffi.Verbs;
import io.mooncake.rdma.verbs.ffi.ibv_ah_attr;
import io.mooncake.rdma.verbs.ffi.ibv_global_route;
import io.mooncake.rdma.verbs.ffi.ibv_qp_attr;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A reliably connected queue pair: reads and writes in any order, but what was written lies there when a message after it is received; completes in
 * the order of posting, is broken by its first error.
 */
final class SimulatedQueuePair {
    private static final int SUCCESS = 0;
    private static final int LOCAL_OPERATION = 2;
    private static final int LOCAL_PROTECTION = 4;
    private static final int FLUSHED = 5;
    private static final int REMOTE_ACCESS = 10;
    private static final int RETRIES_EXCEEDED = 12;
    private static final int REMOTE_INVALID = 9;
    private static final int NOT_READY = 13;
    private static final int EINVAL = 22;
    private static final int ENOMEM = 12;
    private static final long TIMEOUT_UNIT_NS = 4096;
    private static final int NOT_READY_RETRIES = 6;
    private static final long NOT_READY_NS = 640_000;
    private static final long MOST_DOUBLED_AFTER_NS = 1_000_000;

    /** {@code struct ibv_send_wr} and {@code struct ibv_sge}. */
    private static final long WR_SG_LIST = 16;
    private static final long WR_NUM_SGE = 24;
    private static final long WR_OPCODE = 28;
    private static final long WR_FLAGS = 32;

    /** What its queues hold. */
    record Sizes(int sends, int receives) {}

    final SimulatedDomain domain;
    final SimulatedCompletionQueue sendQueue;
    final SimulatedCompletionQueue receiveQueue;
    private final SimulatedNetwork network;
    private final long handle;
    private final int number;
    private final int capacity;
    private final boolean signalAll;
    private final SimulatedReceives receives;
    private final ArrayDeque<SimulatedRequest> outstanding = new ArrayDeque<>();
    private int state = Verbs.IBV_QPS_RESET();
    private int accessFlags;
    private int peerNumber;
    private byte[] peerGid = new byte[0];
    private int firstSent;
    private int firstExpected;
    private long retryNs;
    private boolean destroyed;
    private boolean standing;

    SimulatedQueuePair(SimulatedDomain domain, SimulatedCompletionQueue sendQueue,
            SimulatedCompletionQueue receiveQueue, long handle, Sizes sizes, boolean signalAll) {
        this.domain = domain;
        this.sendQueue = sendQueue;
        this.receiveQueue = receiveQueue;
        this.handle = handle;
        capacity = sizes.sends;
        this.signalAll = signalAll;
        network = domain.context.device.host().network();
        number = network.newQueuePairNumber();
        receives = new SimulatedReceives(domain, receiveQueue, number, sizes.receives);
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
        if (wanted == Verbs.IBV_QPS_RESET()) {
            if (mask != Verbs.IBV_QP_STATE() || device().takeRefusedReset()) {
                return EINVAL;
            }
            state = wanted;
            endAll();
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

    /** Its doorbell is broken: from now on it takes requests, and begins none. */
    void standStill() {
        standing = true;
    }

    boolean isStandingStill() {
        return standing && state == Verbs.IBV_QPS_RTS();
    }

    /** Takes one work request; 0 or an errno. */
    int post(MemorySegment wr) {
        boolean ready = state == Verbs.IBV_QPS_RTS() || state == Verbs.IBV_QPS_ERR();
        Kind kind = kindOf(wr.get(ValueLayout.JAVA_INT, WR_OPCODE));
        if (!ready || kind == null || wr.get(ValueLayout.JAVA_INT, WR_NUM_SGE) != 1) {
            return EINVAL;
        }
        if (outstanding.size() == capacity || device().takeRefusal()) {
            return ENOMEM;
        }
        MemorySegment sge = SimulatedMemory.ALL.asSlice(wr.get(ValueLayout.JAVA_LONG, WR_SG_LIST), 16);
        SimulatedRequest request = new SimulatedRequest(kind, wr, sge,
                signalAll || (wr.get(ValueLayout.JAVA_INT, WR_FLAGS) & Verbs.IBV_SEND_SIGNALED()) != 0,
                network.below(1 << 20));
        outstanding.add(request);
        if (isDead()) {
            return 0;
        }
        if (state == Verbs.IBV_QPS_ERR()) {
            request.status = FLUSHED;
            if (outstanding.size() == 1) {
                flushLater();
            }
            return 0;
        }
        if (request.inline) {
            request.takeInline();
        }
        request.planned = request.inline || covers(request) ? device().takeNextStatus() : LOCAL_PROTECTION;
        boolean fenced = (wr.get(ValueLayout.JAVA_INT, WR_FLAGS) & Verbs.IBV_SEND_FENCE()) != 0;
        request.heldBack = fenced && outstanding.size() > 1;
        if (!request.heldBack && !standing) {
            network.inTurn(request.bytes.length, () -> begin(request, request.planned));
        }
        return 0;
    }

    private boolean covers(SimulatedRequest request) {
        return domain.local(request.localKey, request.local, request.bytes.length,
                request.kind == Kind.READ ? Access.LOCAL_WRITE : Access.LOCAL_READ) != null;
    }

    private static @Nullable Kind kindOf(int opcode) {
        if (opcode == Verbs.IBV_WR_RDMA_READ()) {
            return Kind.READ;
        }
        if (opcode == Verbs.IBV_WR_RDMA_WRITE()) {
            return Kind.WRITE;
        }
        return opcode == Verbs.IBV_WR_SEND() ? Kind.SEND : null;
    }

    /** Takes one RECV; 0 or an errno. */
    int postReceive(MemorySegment wr) {
        if (state == Verbs.IBV_QPS_RESET()) {
            return EINVAL;
        }
        if (receives.isFull()) {
            return ENOMEM;
        }
        receives.post(wr);
        if (state == Verbs.IBV_QPS_ERR()) {
            flushReceivesLater();
        }
        return 0;
    }

    private void begin(SimulatedRequest request, int status) {
        SimulatedTiming timing = network.timing();
        if (status != SUCCESS) {
            network.time().after(network.upTo(timing.sampleNs()), () -> fail(request, status));
            return;
        }
        int bursts = request.kind == Kind.SEND ? 1 : Math.min(timing.bursts(), request.pieces());
        request.burstsLeft = bursts;
        for (int i = 0; i < bursts; i++) {
            int burst = i;
            network.time().after(network.upTo(timing.sampleNs()), () -> sample(request, burst, bursts));
        }
    }

    private boolean isUnderWay(SimulatedRequest request) {
        return !request.over && state == Verbs.IBV_QPS_RTS() && !destroyed && !isDead();
    }

    private void sample(SimulatedRequest request, int burst, int bursts) {
        if (!isUnderWay(request)) {
            return;
        }
        if (!device().isPortActive()) {
            fail(request, LOCAL_OPERATION);
            return;
        }
        SimulatedQueuePair there = peer();
        if (there == null) {
            network.time().after(retryNs, () -> sampleAgain(request, burst, bursts));
            return;
        }
        if (!there.allows(request)) {
            there.onViolated();
            fail(request, REMOTE_ACCESS);
            return;
        }
        request.sample(burst, bursts);
        network.time().after(network.upTo(network.timing().landNs()), () -> land(request, burst, bursts));
    }

    private void sampleAgain(SimulatedRequest request, int burst, int bursts) {
        if (isUnderWay(request) && peer() == null) {
            fail(request, RETRIES_EXCEEDED);
        } else {
            sample(request, burst, bursts);
        }
    }

    private boolean allows(SimulatedRequest request) {
        int right = switch (request.kind) {
            case READ -> Access.REMOTE_READ;
            case WRITE -> Access.REMOTE_WRITE;
            case SEND -> 0;
        };
        return right == 0 || ((accessFlags & right) != 0
                && domain.remote(request.remoteKey, request.remote, request.bytes.length, right) != null);
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

    private void land(SimulatedRequest request, int burst, int bursts) {
        if (request.kind != Kind.READ) {
            // Packets under way arrive, whatever has become of their sender meanwhile; they are taken by a queue pair that receives.
            arrive(request, burst, bursts);
            return;
        }
        // A broken queue pair may still write what it has, until the flush is reported.
        if (request.over || destroyed || isDead()) {
            return;
        }
        if (!covers(request)) {
            fail(request, LOCAL_PROTECTION);
            return;
        }
        request.land(burst, bursts);
        onLanded(request);
    }

    private void onLanded(SimulatedRequest request) {
        if (--request.burstsLeft == 0) {
            request.landed = true;
            if (state == Verbs.IBV_QPS_RTS()) {
                network.time().after(network.upTo(network.timing().completeNs()), this::completeInOrder);
            }
        }
    }

    private void arrive(SimulatedRequest request, int burst, int bursts) {
        SimulatedQueuePair there = receiver();
        if (there == null) {
            network.time().after(retryNs, () -> fail(request, RETRIES_EXCEEDED));
            return;
        }
        if (request.kind == Kind.SEND) {
            request.arrived = true;
        } else if (there.allows(request)) {
            request.land(burst, bursts);
            if (device().doublesWrites()) {
                network.time().after(network.upTo(MOST_DOUBLED_AFTER_NS), () -> arriveAgain(request, burst, bursts));
            }
            onLanded(request);
        } else {
            there.onViolated();
            fail(request, REMOTE_ACCESS);
        }
        deliverInOrder();
    }

    private void arriveAgain(SimulatedRequest request, int burst, int bursts) {
        SimulatedQueuePair there = receiver();
        if (there != null && there.allows(request)) {
            request.land(burst, bursts);
        }
    }

    /** Who takes packets that are past every cut; null when nobody does. */
    private @Nullable SimulatedQueuePair receiver() {
        SimulatedQueuePair there = network.find(peerNumber);
        boolean receives = there != null && !there.isDead() && there.peerNumber == number
                && (there.state == Verbs.IBV_QPS_RTR() || there.state == Verbs.IBV_QPS_RTS());
        return receives ? there : null;
    }

    /** A message is received when every WRITE and SEND before it is done. */
    private void deliverInOrder() {
        for (SimulatedRequest request : List.copyOf(outstanding)) {
            if (request.kind == Kind.SEND && request.arrived && !request.landed && !deliver(request)) {
                return;
            }
            if (request.kind != Kind.READ && !request.landed) {
                return;
            }
        }
    }

    private boolean deliver(SimulatedRequest request) {
        SimulatedQueuePair there = receiver();
        if (there == null || !isUnderWay(request)) {
            network.time().after(retryNs, () -> fail(request, RETRIES_EXCEEDED));
            return false;
        }
        switch (there.receives.take(request.bytes)) {
            case YES -> {
                onLanded(request);
                return true;
            }
            case TOO_LONG -> {
                there.breakDown(FLUSHED);
                fail(request, REMOTE_INVALID);
            }
            case NO_RECV -> {
                if (++request.notReady > NOT_READY_RETRIES) {
                    fail(request, NOT_READY);
                } else {
                    network.time().after(NOT_READY_NS, this::deliverInOrder);
                }
            }
        }
        return false;
    }

    private void completeInOrder() {
        for (SimulatedRequest first; state == Verbs.IBV_QPS_RTS() && (first = outstanding.peek()) != null
                && first.landed;) {
            outstanding.remove();
            complete(first);
        }
        SimulatedRequest next = outstanding.peek();
        if (state == Verbs.IBV_QPS_RTS() && next != null && next.heldBack) {
            next.heldBack = false;
            begin(next, next.planned);
        }
    }

    private void complete(SimulatedRequest request) {
        request.over = true;
        if (request.signalled || request.status != SUCCESS) {
            int opcode = switch (request.kind) {
                case READ -> Verbs.IBV_WC_RDMA_READ();
                case WRITE -> Verbs.IBV_WC_RDMA_WRITE();
                case SEND -> Verbs.IBV_WC_SEND();
            };
            sendQueue.add(request.id, opcode, request.status, request.bytes.length, number);
        }
    }

    private void fail(SimulatedRequest request, int status) {
        if (isUnderWay(request)) {
            request.status = status;
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
        for (SimulatedRequest request : outstanding) {
            boolean first = request.equals(outstanding.peek());
            if (request.status == SUCCESS && !(first && falseOk)) {
                request.status = statusOfRest;
            }
        }
        flushLater();
        flushReceivesLater();
    }

    private void flushLater() {
        network.time().after(network.upTo(network.timing().flushNs()), () -> {
            if (destroyed || isDead()) {
                return;
            }
            SimulatedRequest first = outstanding.poll();
            if (first != null) {
                complete(first);
                flushLater();
            }
        });
    }

    private void flushReceivesLater() {
        network.time().after(network.upTo(network.timing().flushNs()), () -> {
            if (!destroyed && !isDead()) {
                receives.flush();
            }
        });
    }

    /** {@code ibv_destroy_qp}. */
    void destroy() {
        destroyed = true;
        network.remove(this);
        domain.users--;
        sendQueue.users--;
        receiveQueue.users--;
        endAll();
    }

    /** One that an earlier queue pair of this number has left in the queue. */
    void leaveCompletion(long cookie, int status) {
        if (state == Verbs.IBV_QPS_RTS()) {
            sendQueue.add(cookie, Verbs.IBV_WC_RDMA_READ(), status, 0, number);
        }
    }

    /** Nothing of it touches memory any more; what completed before may stand in the queue or not. */
    private void endAll() {
        outstanding.forEach(request -> request.over = true);
        outstanding.clear();
        if (network.below(2) == 0) {
            sendQueue.forget(number);
            receiveQueue.forget(number);
        }
    }
}
