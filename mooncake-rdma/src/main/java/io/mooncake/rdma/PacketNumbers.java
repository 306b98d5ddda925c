package io.mooncake.rdma;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * First packet numbers of queue pairs: from a random one on, in steps that come back to a number only after all 2^24 others, so that packets
 * of an earlier queue pair are never taken for a later one's. Any thread.
 */
final class PacketNumbers {
    private static final int MASK = 0xFFFFFF;
    private static final int ODD_STEP = 0x9E3779;

    private final AtomicInteger last;

    PacketNumbers(int seed) {
        last = new AtomicInteger(seed);
    }

    int next() {
        return last.addAndGet(ODD_STEP) & MASK;
    }
}
