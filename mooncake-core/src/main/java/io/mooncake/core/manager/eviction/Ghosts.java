package io.mooncake.core.manager.eviction;

import org.agrona.collections.Long2LongHashMap;

/** Keys of blocks that were evicted, the last so many: whether one that comes was here not long ago. Allocates only while it grows. */
final class Ghosts {
    static final long NOT_HERE = -1;

    /** Key to the number of its eviction. */
    private final Long2LongHashMap numbers = new Long2LongHashMap(NOT_HERE);
    /** By number modulo length: a key that came again, or left, meanwhile has another number. */
    private long[] order = new long[64];
    private long next;
    private long first;

    /** Remembers a key, and forgets the oldest beyond so many. */
    void add(long key, int limit) {
        if (next - first == order.length) {
            makeRoom();
        }
        numbers.put(key, next);
        order[(int) (next++ % order.length)] = key;
        while (numbers.size() > limit) {
            forgetOldest();
        }
    }

    /** Forgets a key; says how many came after it, or {@link #NOT_HERE}. */
    long remove(long key) {
        long number = numbers.remove(key);
        return number == NOT_HERE ? NOT_HERE : next - 1 - number;
    }

    private void forgetOldest() {
        long number = first++;
        long key = order[(int) (number % order.length)];
        if (numbers.get(key) == number) {
            numbers.remove(key);
        }
    }

    private void makeRoom() {
        // Those that are out of date at the old end take no room for long.
        while (first < next && numbers.get(order[(int) (first % order.length)]) != first) {
            first++;
        }
        if (next - first == order.length) {
            long[] wider = new long[2 * order.length];
            for (long number = first; number < next; number++) {
                wider[(int) (number % wider.length)] = order[(int) (number % order.length)];
            }
            order = wider;
        }
    }
}
