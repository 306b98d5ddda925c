package io.mooncake.core.transfer.onesided;

/**
 * What comes back with a completion: which post of which slot it was.
 *
 * <pre>
 *   63 ............ 24   23 ......... 4   3 .. 0
 *   ┌──────────────────┬────────────────┬────────┐
 *   │ generation: 40   │ slot: 20       │ op: 4  │
 *   └──────────────────┴────────────────┴────────┘
 * </pre>
 *
 * <p>The generation rises with every post, so that no two posts have the same cookie for 2^40 posts. What is reported with another cookie than
 * the slot's present one belongs to an earlier post.
 */
final class Cookies {
    /** A chunk of a read. */
    static final int CHUNK = 1;
    /** The guard, or what stands for it. */
    static final int PROOF = 2;

    static final int MAX_SLOTS = 1 << 20;

    private static final int OP_BITS = 4;
    private static final int SLOT_BITS = 20;

    private Cookies() {}

    static long of(long generation, int slot, int op) {
        return (generation << (SLOT_BITS + OP_BITS)) | ((long) slot << OP_BITS) | op;
    }

    static int slot(long cookie) {
        return (int) (cookie >>> OP_BITS) & (MAX_SLOTS - 1);
    }

    static int op(long cookie) {
        return (int) cookie & ((1 << OP_BITS) - 1);
    }
}
