package io.mooncake.rdma.sim;

import io.mooncake.rdma.verbs.ffi.Verbs;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** One request on its way: pieces are sampled at some moments and land at others, in any order. */
final class SimulatedRequest {
    /** What it does. */
    enum Kind {
        READ, WRITE, SEND
    }

    private static final int PIECE_BYTES = 64;

    /** {@code struct ibv_send_wr} and {@code struct ibv_sge}. */
    private static final long WR_ID = 0;
    private static final long WR_FLAGS = 32;
    private static final long WR_REMOTE_ADDRESS = 40;
    private static final long WR_REMOTE_KEY = 48;
    private static final long SGE_LENGTH = 8;
    private static final long SGE_LOCAL_KEY = 12;

    final Kind kind;
    final long id;
    final boolean signalled;
    final long remote;
    final int remoteKey;
    final long local;
    final int localKey;
    final boolean inline;
    final byte[] bytes;
    private final int stride;

    /** Held back until those before it have completed. */
    boolean heldBack;
    /** The status that it is to fail with, once it has begun. */
    int planned;
    int burstsLeft;
    boolean landed;
    /** Of a SEND: its packets are there, and wait for what is before it and for a RECV. */
    boolean arrived;
    int notReady;
    /** Its completion's status. */
    int status;
    /** Nothing lands for it any more. */
    boolean over;

    SimulatedRequest(Kind kind, MemorySegment wr, MemorySegment sge, boolean signalled, int random) {
        this.kind = kind;
        this.signalled = signalled;
        id = wr.get(ValueLayout.JAVA_LONG, WR_ID);
        inline = (wr.get(ValueLayout.JAVA_INT, WR_FLAGS) & Verbs.IBV_SEND_INLINE()) != 0;
        remote = kind == Kind.SEND ? 0 : wr.get(ValueLayout.JAVA_LONG, WR_REMOTE_ADDRESS);
        remoteKey = wr.get(ValueLayout.JAVA_INT, WR_REMOTE_KEY);
        local = sge.get(ValueLayout.JAVA_LONG, 0);
        localKey = sge.get(ValueLayout.JAVA_INT, SGE_LOCAL_KEY);
        bytes = new byte[sge.get(ValueLayout.JAVA_INT, SGE_LENGTH)];
        int candidate = 1 + random % pieces();
        while (gcd(candidate, pieces()) != 1) {
            candidate++;
        }
        stride = candidate;
    }

    /** An inline request's bytes are taken when it is posted. */
    void takeInline() {
        MemorySegment.copy(SimulatedMemory.ALL, local, MemorySegment.ofArray(bytes), 0, bytes.length);
    }

    int pieces() {
        return Math.max(1, (int) ((remote % PIECE_BYTES + bytes.length + PIECE_BYTES - 1) / PIECE_BYTES));
    }

    /** Fetches the pieces of one burst out of the memory that they come from. */
    void sample(int burst, int bursts) {
        if (!inline) {
            copyBurst(burst, bursts, kind == Kind.READ ? remote : local, true);
        }
    }

    /** Writes them into that where they go. */
    void land(int burst, int bursts) {
        copyBurst(burst, bursts, kind == Kind.READ ? local : remote, false);
    }

    private void copyBurst(int burst, int bursts, long at, boolean sample) {
        int pieces = pieces();
        MemorySegment staged = MemorySegment.ofArray(bytes);
        int first = (int) ((long) burst * pieces / bursts);
        int end = (int) ((burst + 1L) * pieces / bursts);
        for (int i = first; i < end; i++) {
            int piece = (int) ((long) i * stride % pieces);
            long skew = remote % PIECE_BYTES;
            long from = Math.max(0, (long) piece * PIECE_BYTES - skew);
            long to = Math.min(bytes.length, (piece + 1L) * PIECE_BYTES - skew);
            if (sample) {
                MemorySegment.copy(SimulatedMemory.ALL, at + from, staged, from, to - from);
            } else {
                MemorySegment.copy(staged, from, SimulatedMemory.ALL, at + from, to - from);
            }
        }
    }

    private static int gcd(int a, int b) {
        return b == 0 ? a : gcd(b, a % b);
    }
}
