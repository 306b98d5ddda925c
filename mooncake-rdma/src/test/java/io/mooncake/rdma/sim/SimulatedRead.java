package io.mooncake.rdma.sim;

import java.lang.foreign.MemorySegment;

/** One READ on its way: pieces are sampled at some moments and land at others, in any order. */
final class SimulatedRead {
    private static final int PIECE_BYTES = 64;

    final long id;
    final boolean signalled;
    final long remote;
    final int remoteKey;
    final long local;
    final byte[] bytes;
    private final int stride;

    /** Held back until those before it have completed. */
    boolean heldBack;
    int burstsLeft;
    boolean landed;
    /** The status that it is to fail with, once it has begun. */
    int planned;
    /** Its completion's status. */
    int status;
    /** Nothing lands for it any more. */
    boolean over;

    SimulatedRead(long id, boolean signalled, long remote, int remoteKey, long local, int length, int random) {
        this.id = id;
        this.signalled = signalled;
        this.remote = remote;
        this.remoteKey = remoteKey;
        this.local = local;
        bytes = new byte[length];
        int candidate = 1 + random % pieces();
        while (gcd(candidate, pieces()) != 1) {
            candidate++;
        }
        stride = candidate;
    }

    int pieces() {
        return (int) ((remote % PIECE_BYTES + bytes.length + PIECE_BYTES - 1) / PIECE_BYTES);
    }

    /** Fetches the pieces of one burst out of the owner's memory. */
    void sample(int burst, int bursts) {
        copyBurst(burst, bursts, true);
    }

    /** Writes them into the reader's. */
    void land(int burst, int bursts) {
        copyBurst(burst, bursts, false);
    }

    private void copyBurst(int burst, int bursts, boolean sample) {
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
                MemorySegment.copy(SimulatedMemory.ALL, remote + from, staged, from, to - from);
            } else {
                MemorySegment.copy(staged, from, SimulatedMemory.ALL, local + from, to - from);
            }
        }
    }

    private static int gcd(int a, int b) {
        return b == 0 ? a : gcd(b, a % b);
    }
}
