package io.mooncake.rdma.verbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.mooncake.rdma.verbs.ffi.ibv_send_wr;
import io.mooncake.rdma.verbs.ffi.ibv_sge;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Work requests, built once and patched in place: a batch is filled request by request and posted by {@link QueuePair#post} with one
 * doorbell. Whoever posts copies them, so the ring is free again when that returns, and one ring serves all queue pairs of a
 * thread. That thread's alone; nothing is allocated.
 *
 * <pre>
 *   ring.read(cookie, true).remote(address, remoteKey).local(address, length, localKey);
 *   ring.read(...)...
 *   queuePair.post(ring);
 * </pre>
 */
public final class WorkRequestRing implements AutoCloseable {

    private static final long WR_BYTES = ibv_send_wr.sizeof();
    private static final long SGE_BYTES = ibv_sge.sizeof();
    private static final long WR_ID = ibv_send_wr.wr_id$offset();
    private static final long NEXT = ibv_send_wr.next$offset();
    private static final long SG_LIST = ibv_send_wr.sg_list$offset();
    private static final long NUM_SGE = ibv_send_wr.num_sge$offset();
    private static final long OPCODE = ibv_send_wr.opcode$offset();
    private static final long SEND_FLAGS = ibv_send_wr.send_flags$offset();
    /** {@code wr.rdma}: the address, and 8 bytes further the key. */
    private static final long REMOTE_ADDR = ibv_send_wr.wr$offset();
    private static final long RKEY = REMOTE_ADDR + JAVA_LONG.byteSize();
    private static final long LENGTH = ibv_sge.length$offset();
    private static final long LKEY = ibv_sge.lkey$offset();

    private final int capacity;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment requests;
    private final MemorySegment elements;
    private final MemorySegment bad;
    private int filled;
    private long request;
    private long element;
    private int refusal;

    /**
     * A ring.
     *
     * @param capacity requests of one batch, at most
     */
    public WorkRequestRing(int capacity) {
        this.capacity = capacity;
        requests = arena.allocate(capacity * WR_BYTES, Long.SIZE);
        elements = arena.allocate(capacity * SGE_BYTES, Long.SIZE);
        bad = arena.allocate(JAVA_LONG);
        for (int i = 0; i < capacity; i++) {
            requests.set(JAVA_LONG, i * WR_BYTES + NEXT, address(i + 1));
            requests.set(JAVA_LONG, i * WR_BYTES + SG_LIST, elements.address() + i * SGE_BYTES);
            requests.set(JAVA_INT, i * WR_BYTES + NUM_SGE, 1);
        }
    }

    private long address(int index) {
        return requests.address() + index * WR_BYTES;
    }

    /**
     * Whether the batch takes another request.
     *
     * @return false when it must be posted first
     */
    public boolean hasRoom() {
        return filled < capacity;
    }

    /**
     * Requests filled since the last post.
     *
     * @return 0 to the capacity
     */
    public int filled() {
        return filled;
    }

    private WorkRequestRing next(long cookie, int opcode, int flags) {
        request = filled * WR_BYTES;
        element = filled * SGE_BYTES;
        filled++;
        requests.set(JAVA_LONG, request + WR_ID, cookie);
        requests.set(JAVA_INT, request + OPCODE, opcode);
        requests.set(JAVA_INT, request + SEND_FLAGS, flags);
        return this;
    }

    /**
     * Begins a READ: memory of the peer comes here. {@link #remote} and {@link #local} say which.
     *
     * @param cookie comes back with the completion
     * @param signaled whether success makes a completion; a failure always does
     * @return this
     * @throws IndexOutOfBoundsException without room
     */
    public WorkRequestRing read(long cookie, boolean signaled) {
        return next(cookie, Constants.WR_RDMA_READ, signaled ? Constants.SEND_SIGNALED : 0);
    }

    /**
     * Begins a WRITE: memory of this process goes to the peer. {@link #local} and {@link #remote} say which.
     *
     * @param cookie comes back with the completion
     * @param signaled whether success makes a completion; a failure always does
     * @return this
     * @throws IndexOutOfBoundsException without room
     */
    public WorkRequestRing write(long cookie, boolean signaled) {
        return next(cookie, Constants.WR_RDMA_WRITE, signaled ? Constants.SEND_SIGNALED : 0);
    }

    /**
     * Begins a SEND: a message for the peer's next RECV. {@link #local} says which bytes.
     *
     * @param cookie comes back with the completion
     * @param signaled whether success makes a completion; a failure always does
     * @param inline whether the bytes are copied when it is posted, so that they need no key and may be overwritten at once; at most
     *     {@link QueuePair#inlineBytes}
     * @return this
     * @throws IndexOutOfBoundsException without room
     */
    public WorkRequestRing send(long cookie, boolean signaled, boolean inline) {
        return next(cookie, Constants.WR_SEND,
                (signaled ? Constants.SEND_SIGNALED : 0) | (inline ? Constants.SEND_INLINE : 0));
    }

    /**
     * Has the request just begun wait until every READ before it on its queue pair has completed ({@code IBV_SEND_FENCE}).
     *
     * @return this
     */
    public WorkRequestRing fenced() {
        long at = request + SEND_FLAGS;
        requests.set(JAVA_INT, at, requests.get(JAVA_INT, at) | Constants.SEND_FENCE);
        return this;
    }

    /**
     * The peer's memory of the request just begun.
     *
     * @param address as the peer registered it
     * @param key the peer's remote key
     * @return this
     */
    public WorkRequestRing remote(long address, int key) {
        requests.set(JAVA_LONG, request + REMOTE_ADDR, address);
        requests.set(JAVA_INT, request + RKEY, key);
        return this;
    }

    /**
     * This process's memory of the request just begun.
     *
     * @param address of the first byte
     * @param length bytes, an unsigned int
     * @param key the local key
     * @return this
     */
    public WorkRequestRing local(long address, int length, int key) {
        elements.set(JAVA_LONG, element, address);
        elements.set(JAVA_INT, element + LENGTH, length);
        elements.set(JAVA_INT, element + LKEY, key);
        return this;
    }

    /** Forgets what was filled since the last post. */
    public void clear() {
        filled = 0;
    }

    /** Posts the batch and empties it; how many requests were taken. */
    int post(Provider.DataPath dataPath, long qp) {
        int count = filled;
        if (count == 0) {
            return 0;
        }
        filled = 0;
        long last = (count - 1) * WR_BYTES + NEXT;
        requests.set(JAVA_LONG, last, 0);
        bad.set(JAVA_LONG, 0, 0);
        refusal = -dataPath.postSend(qp, requests.address(), bad.address());
        requests.set(JAVA_LONG, last, address(count));
        long refused = bad.get(JAVA_LONG, 0);
        // A driver that queued all and then could not ring the doorbell names none: they may yet be done.
        return refusal == 0 || refused == 0 ? count : (int) ((refused - requests.address()) / WR_BYTES);
    }

    /**
     * Why the last post failed: ENOMEM for a full queue, which took the first ones and never touches the others. With all of them taken the
     * doorbell failed, and whether they are done is unknown: then the queue pair is to be given up.
     *
     * @return the errno value; 0 when nothing failed
     */
    public int refusal() {
        return refusal;
    }

    /** Gives the memory back. Nothing that was posted needs it. */
    @Override
    public void close() {
        if (arena.scope().isAlive()) {
            arena.close();
        }
    }
}
