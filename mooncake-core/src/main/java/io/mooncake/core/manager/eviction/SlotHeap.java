package io.mooncake.core.manager.eviction;

import java.util.Arrays;

/**
 * Slots by key: the lowest key at the top; of equal keys the lower tie, then the lower slot. Keys are compared by their difference, so they
 * may be ticks of a clock that wraps. Allocates only while it grows.
 */
final class SlotHeap {
    private static final int ABSENT = -1;

    private int size;
    private int[] slots = new int[16];
    private long[] keys = new long[16];
    private int[] ties = new int[16];
    /** Where in the heap a slot is. */
    private int[] places = new int[0];

    int size() {
        return size;
    }

    boolean contains(int slot) {
        return slot < places.length && places[slot] != ABSENT;
    }

    /** The slot at a place, 0 the top; the others in no order that matters. */
    int slotAt(int place) {
        return slots[place];
    }

    long topKey() {
        return keys[0];
    }

    void add(int slot, long key, int tie) {
        if (slot >= places.length) {
            int known = places.length;
            places = Arrays.copyOf(places, Math.max(slot + 1, 2 * known));
            Arrays.fill(places, known, places.length, ABSENT);
        }
        if (size == slots.length) {
            slots = Arrays.copyOf(slots, 2 * size);
            keys = Arrays.copyOf(keys, 2 * size);
            ties = Arrays.copyOf(ties, 2 * size);
        }
        size++;
        rise(size - 1, slot, key, tie);
    }

    void remove(int slot) {
        int place = places[slot];
        places[slot] = ABSENT;
        size--;
        if (place == size) {
            return;
        }
        int moved = slots[size];
        long key = keys[size];
        int tie = ties[size];
        if (sink(place, moved, key, tie) == place) {
            rise(place, moved, key, tie);
        }
    }

    /** Gives the top a key that is not lower than its own. */
    void lowerTop(long key, int tie) {
        sink(0, slots[0], key, tie);
    }

    private void rise(int from, int slot, long key, int tie) {
        int place = from;
        while (place > 0) {
            int above = (place - 1) / 2;
            if (!before(slot, key, tie, above)) {
                break;
            }
            move(above, place);
            place = above;
        }
        put(place, slot, key, tie);
    }

    private int sink(int from, int slot, long key, int tie) {
        int place = from;
        while (2 * place + 1 < size) {
            int below = 2 * place + 1;
            if (below + 1 < size && before(slots[below + 1], keys[below + 1], ties[below + 1], below)) {
                below++;
            }
            if (before(slot, key, tie, below)) {
                break;
            }
            move(below, place);
            place = below;
        }
        put(place, slot, key, tie);
        return place;
    }

    private boolean before(int slot, long key, int tie, int place) {
        long order = key - keys[place];
        if (order != 0) {
            return order < 0;
        }
        return tie != ties[place] ? tie < ties[place] : slot < slots[place];
    }

    private void move(int from, int to) {
        put(to, slots[from], keys[from], ties[from]);
    }

    private void put(int place, int slot, long key, int tie) {
        slots[place] = slot;
        keys[place] = key;
        ties[place] = tie;
        places[slot] = place;
    }
}
