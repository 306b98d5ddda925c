package io.mooncake.core.transfer.tcp;

/**
 * What a request carries and its answer repeats: which slot of the lane's {@link InFlight} table it took, and for which time.
 *
 * <pre>
 *   63              8 7    0
 *   | generation:56  | slot:8 |     generations rise by one a request and lane: none comes twice
 * </pre>
 */
final class Cookie {
    static final int SLOT_BITS = 8;

    private Cookie() {}

    static long of(long generation, int slot) {
        return generation << SLOT_BITS | slot;
    }

    static int slot(long cookie) {
        return (int) cookie & (1 << SLOT_BITS) - 1;
    }

    static long generation(long cookie) {
        return cookie >>> SLOT_BITS;
    }
}
