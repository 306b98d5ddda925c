package io.mooncake.core.pool;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The free slots of the size classes of a pool: one Treiber stack a class over one array of links. Last in, first out, so that the
 * slot whose bytes are still in the caches goes first. Any thread; no lock, no allocation.
 *
 * <pre>
 *   head   tag:32 | slot + 1:32     0 in the low half = empty
 * </pre>
 *
 * <p>The tag rises with every change, so that a pop that looked at a head, and then slept while that slot was popped and pushed
 * back, does not install a link that is out of date.
 */
final class FreeStack {
    private static final VarHandle HEAD = MethodHandles.arrayElementVarHandle(long[].class);
    private static final VarHandle NEXT = MethodHandles.arrayElementVarHandle(int[].class);
    /** Two cache lines: neighbours' heads never share one that prefetchers bring together. */
    private static final int HEAD_STRIDE = 16;
    private static final long TAG = 1L << 32;
    private static final long TAG_MASK = -TAG;

    private final long[] heads;
    private final int[] next;

    FreeStack(int classes, int slots) {
        heads = new long[Math.multiplyExact(classes, HEAD_STRIDE)];
        next = new int[slots];
    }

    void push(int sizeClass, int slot) {
        int at = sizeClass * HEAD_STRIDE;
        long head = (long) HEAD.getVolatile(heads, at);
        while (true) {
            NEXT.setOpaque(next, slot, (int) head);
            long seen = (long) HEAD.compareAndExchange(heads, at, head, (head & TAG_MASK) + TAG | slot + 1);
            if (seen == head) {
                return;
            }
            head = seen;
        }
    }

    /** Returns a slot that is the caller's alone, or {@link BlockPool#NONE}. */
    int pop(int sizeClass) {
        int at = sizeClass * HEAD_STRIDE;
        long head = (long) HEAD.getVolatile(heads, at);
        while ((int) head != 0) {
            int slot = (int) head - 1;
            int below = (int) NEXT.getOpaque(next, slot);
            long seen = (long) HEAD.compareAndExchange(heads, at, head, (head & TAG_MASK) + TAG | below);
            if (seen == head) {
                return slot;
            }
            head = seen;
        }
        return BlockPool.NONE;
    }
}
