package io.mooncake.rdma.verbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.mooncake.rdma.verbs.ffi.ibv_wc;
import java.lang.foreign.MemorySegment;

/**
 * What became of one request: a view of a {@code struct ibv_wc} that the next poll of its queue overwrites. The queue's thread.
 *
 * <p>Of a failed one only {@link #cookie}, {@link #status}, {@link #queuePair} and {@link #vendorError} are valid.
 */
public final class Completion {

    private static final long WR_ID = ibv_wc.wr_id$offset();
    private static final long STATUS = ibv_wc.status$offset();
    private static final long OPCODE = ibv_wc.opcode$offset();
    private static final long VENDOR_ERR = ibv_wc.vendor_err$offset();
    private static final long BYTE_LEN = ibv_wc.byte_len$offset();
    private static final long QP_NUM = ibv_wc.qp_num$offset();
    /** {@code IBV_WC_RECV}: the bit that receives have. */
    private static final int RECV = 1 << 7;

    private final MemorySegment wc;

    Completion(MemorySegment wc) {
        this.wc = wc;
    }

    /**
     * As posted.
     *
     * @return the request's cookie
     */
    public long cookie() {
        return wc.get(JAVA_LONG, WR_ID);
    }

    /**
     * Whether the request did what it should.
     *
     * @return true for {@link WorkStatus#SUCCESS}
     */
    public boolean isSuccess() {
        return wc.get(JAVA_INT, STATUS) == 0;
    }

    /**
     * How it ended.
     *
     * @return the status
     */
    public WorkStatus status() {
        return WorkStatus.of(wc.get(JAVA_INT, STATUS));
    }

    /**
     * Whether a peer's SEND was received. Valid after success.
     *
     * @return false for what this side began
     */
    public boolean isReceive() {
        return (wc.get(JAVA_INT, OPCODE) & RECV) != 0;
    }

    /**
     * Bytes received or read. Valid after success.
     *
     * @return 0 or more
     */
    public int bytes() {
        return wc.get(JAVA_INT, BYTE_LEN);
    }

    /**
     * Whose request.
     *
     * @return the local queue pair's number
     */
    public int queuePair() {
        return wc.get(JAVA_INT, QP_NUM);
    }

    /**
     * The vendor's own number of an error, for support.
     *
     * @return 0 when there is none
     */
    public int vendorError() {
        return wc.get(JAVA_INT, VENDOR_ERR);
    }

    @Override
    public String toString() {
        return "completion " + Long.toHexString(cookie()) + " of queue pair " + queuePair() + ": " + status()
                + (isSuccess() ? "" : " (" + status().meaning() + "; vendor error " + vendorError() + ")");
    }
}
