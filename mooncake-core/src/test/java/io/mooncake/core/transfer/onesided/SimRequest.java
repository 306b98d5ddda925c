package io.mooncake.core.transfer.onesided;

import java.lang.foreign.MemorySegment;

/** One READ on its way: pieces are sampled into {@code bytes} at some moments and copied to the destination at others. */
final class SimRequest {
    static final int PIECE_BYTES = 64;

    final long cookie;
    final SimRegion source;
    final RemoteRegion.Part part;
    final long sourceOffset;
    final MemorySegment destination;
    final long destinationOffset;
    final byte[] bytes;
    /** Pieces are numbered by multiples of this, modulo their count: any order, found without a table. */
    final int stride;

    /** Sampled only when it is the first one outstanding. */
    boolean heldBack;
    int burstsLeft;
    boolean landed;
    /** Whose the destination was when it was posted. */
    long owner;
    RequestEnd end = RequestEnd.OK;
    /** Nothing lands for it any more: its completion was polled, or its lane was destroyed. */
    boolean over;

    SimRequest(ReadRequest request, MemorySegment destination, int bursts, int random) {
        cookie = request.cookie();
        source = (SimRegion) request.source();
        part = request.part();
        sourceOffset = request.sourceOffset();
        this.destination = destination;
        destinationOffset = request.destinationOffset();
        bytes = new byte[Math.toIntExact(request.bytes())];
        burstsLeft = Math.min(bursts, pieces());
        int candidate = 1 + random % pieces();
        while (gcd(candidate, pieces()) != 1) {
            candidate++;
        }
        stride = candidate;
    }

    /** Pieces end at multiples of their size in the source, as cache lines do. */
    int pieces() {
        return (int) ((sourceOffset % PIECE_BYTES + bytes.length + PIECE_BYTES - 1) / PIECE_BYTES);
    }

    /** Copies the pieces of one burst, from the source or to the destination. */
    void copyBurst(int burst, int bursts, MemorySegment memory, boolean sample) {
        int pieces = pieces();
        MemorySegment staged = MemorySegment.ofArray(bytes);
        int first = (int) ((long) burst * pieces / bursts);
        int end1 = (int) ((burst + 1L) * pieces / bursts);
        for (int i = first; i < end1; i++) {
            int piece = (int) ((long) i * stride % pieces);
            long from = Math.max(0, (long) piece * PIECE_BYTES - sourceOffset % PIECE_BYTES);
            long to = Math.min(bytes.length, (piece + 1L) * PIECE_BYTES - sourceOffset % PIECE_BYTES);
            if (sample) {
                MemorySegment.copy(memory, sourceOffset + from, staged, from, to - from);
            } else {
                MemorySegment.copy(staged, from, memory, destinationOffset + from, to - from);
            }
        }
    }

    private static int gcd(int a, int b) {
        return b == 0 ? a : gcd(b, a % b);
    }

    @Override
    public String toString() {
        return "request " + Long.toHexString(cookie) + " (" + part + " " + sourceOffset + " + " + bytes.length + " of r"
                + source.number() + ")";
    }
}
