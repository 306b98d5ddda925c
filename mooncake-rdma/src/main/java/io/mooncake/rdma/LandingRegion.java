package io.mooncake.rdma;

import io.mooncake.core.transfer.EngineContext;
import io.mooncake.rdma.verbs.Access;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;

/**
 * The one registration of a card that peers may WRITE: cut into pieces, each granted to one lane at a time, for one message. Its memory is never
 * adopted: what was sealed is copied, and the copy is checked. The poller's, but for its making and end.
 *
 * <pre>
 *   free ──give──▶ granted to a lane, until a deadline ──SEAL, copied──▶ free
 *                            │
 *                            └──deadline, lane lost──▶ its queue pair goes to ERR here ──it has──▶ free
 * </pre>
 */
final class LandingRegion implements AutoCloseable {
    /** Of each piece: the longest message. */
    static final int PIECE_BYTES = EngineContext.MAX_MESSAGE_BYTES;
    /** For which a piece is granted; that only starts taking it back. */
    static final long GRANT_NS = 2_000_000_000;
    private static final int NANOS_PER_MILLI = 1_000_000;

    /**
     * A piece that one lane may write.
     *
     * @param number never used again for another grant of this region
     * @param piece which
     * @param deadlineNs when it is taken back
     */
    record Grant(int number, int piece, long deadlineNs) {}

    private final NicMemory memory;
    private final ArrayDeque<Integer> free = new ArrayDeque<>();
    private final ArrayDeque<IncomingLane> waiting = new ArrayDeque<>();
    private int lastNumber;

    LandingRegion(Nic nic, long bytes) {
        int pieces = Math.toIntExact(bytes / PIECE_BYTES);
        memory = new NicMemory(nic, (long) pieces * PIECE_BYTES, PIECE_BYTES,
                Access.LOCAL_WRITE | Access.REMOTE_WRITE);
        for (int i = 0; i < pieces; i++) {
            free.add(i);
        }
    }

    /** A lane wants a grant: it gets one, now or when it is its turn. */
    void ask(IncomingLane lane, long nowNs) {
        waiting.add(lane);
        giveAll(nowNs);
    }

    /** A lane wants none any more. */
    void forget(IncomingLane lane) {
        waiting.remove(lane);
    }

    /** A grant's lane has sealed it and the bytes were copied, or the lane is in ERR here: nobody writes there any more. */
    void end(Grant grant, long nowNs) {
        free.add(grant.piece);
        giveAll(nowNs);
    }

    private void giveAll(long nowNs) {
        for (IncomingLane lane; !free.isEmpty() && (lane = waiting.poll()) != null;) {
            lastNumber = lastNumber == Integer.MAX_VALUE ? 1 : lastNumber + 1;
            lane.onGranted(new Grant(lastNumber, free.remove(), nowNs + GRANT_NS));
        }
    }

    /** What a peer has to know of a grant. */
    Frames.Grant told(Grant grant, long nowNs) {
        return new Frames.Grant(grant.number, memory.address((long) grant.piece * PIECE_BYTES),
                memory.remoteKey(), (int) ((grant.deadlineNs - nowNs) / NANOS_PER_MILLI));
    }

    /** What stands in a grant now. */
    byte[] copy(Grant grant, int length) {
        return memory.segment.asSlice((long) grant.piece * PIECE_BYTES, length).toArray(ValueLayout.JAVA_BYTE);
    }

    @Override
    public void close() {
        memory.close();
    }
}
