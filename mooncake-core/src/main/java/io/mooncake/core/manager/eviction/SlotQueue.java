package io.mooncake.core.manager.eviction;

import java.util.Arrays;

/** Slots in the order in which they came; any of them can leave. Allocates only while it grows. */
final class SlotQueue {
    private static final int END = -1;
    private static final int ABSENT = -2;

    private int[] older = new int[0];
    private int[] younger = new int[0];
    private int oldest = END;
    private int youngest = END;
    private int size;

    int size() {
        return size;
    }

    boolean contains(int slot) {
        return slot < older.length && older[slot] != ABSENT;
    }

    /** Of a queue that is not empty. */
    int oldest() {
        return oldest;
    }

    void add(int slot) {
        if (slot >= older.length) {
            int known = older.length;
            older = Arrays.copyOf(older, Math.max(slot + 1, 2 * known));
            younger = Arrays.copyOf(younger, older.length);
            Arrays.fill(older, known, older.length, ABSENT);
        }
        older[slot] = youngest;
        younger[slot] = END;
        if (youngest == END) {
            oldest = slot;
        } else {
            younger[youngest] = slot;
        }
        youngest = slot;
        size++;
    }

    void remove(int slot) {
        int before = older[slot];
        int after = younger[slot];
        if (before == END) {
            oldest = after;
        } else {
            younger[before] = after;
        }
        if (after == END) {
            youngest = before;
        } else {
            older[after] = before;
        }
        older[slot] = ABSENT;
        size--;
    }
}
