package io.mooncake.rdma.sim;

import io.mooncake.rdma.verbs.Provider;
import io.mooncake.rdma.verbs.ffi.ibv_send_wr;
import io.mooncake.rdma.verbs.ffi.ibv_wc;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.function.LongToIntFunction;

/**
 * A card that costs next to nothing: what is posted is done at once, and no byte moves. What remains of a measurement over it is Java's own
 * share. One queue pair at a time posts; allocates nothing.
 */
final class FloorDataPath implements Provider.DataPath {
    private static final MemorySegment ALL = SimulatedMemory.ALL;
    private static final long WR_ID = ibv_send_wr.wr_id$offset();
    private static final long NEXT = ibv_send_wr.next$offset();
    private static final long WC_BYTES = ibv_wc.sizeof();
    private static final long WC_ID = ibv_wc.wr_id$offset();
    private static final long WC_STATUS = ibv_wc.status$offset();
    private static final long WC_QUEUE_PAIR = ibv_wc.qp_num$offset();
    private static final int CAPACITY = 4096;

    private final LongToIntFunction numbers;
    private final long[] ids = new long[CAPACITY];
    private long lastQueuePair;
    private int lastNumber;
    private int posted;
    private int polled;

    /**
     * A path.
     *
     * @param numbers finds a queue pair's number
     */
    FloorDataPath(LongToIntFunction numbers) {
        this.numbers = numbers;
    }

    @Override
    public int postSend(long qp, long first, long bad) {
        if (qp != lastQueuePair) {
            lastNumber = numbers.applyAsInt(qp);
            lastQueuePair = qp;
        }
        for (long wr = first; wr != 0; wr = ALL.get(ValueLayout.JAVA_LONG, wr + NEXT)) {
            ids[posted++ & (CAPACITY - 1)] = ALL.get(ValueLayout.JAVA_LONG, wr + WR_ID);
        }
        return 0;
    }

    @Override
    public int postRecv(long qp, long wr, long bad) {
        throw new UnsupportedOperationException("only READs are measured");
    }

    @Override
    public int pollCq(long cq, int entries, long wc) {
        int taken = Math.min(entries, posted - polled);
        for (int i = 0; i < taken; i++) {
            long at = wc + i * WC_BYTES;
            ALL.set(ValueLayout.JAVA_LONG, at + WC_ID, ids[polled++ & (CAPACITY - 1)]);
            ALL.set(ValueLayout.JAVA_INT, at + WC_STATUS, 0);
            ALL.set(ValueLayout.JAVA_INT, at + WC_QUEUE_PAIR, lastNumber);
        }
        return taken;
    }

    @Override
    public int requestNotify(long cq, boolean solicitedOnly) {
        return 0;
    }
}
