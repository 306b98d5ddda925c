package io.mooncake.core.manager;

import java.util.Arrays;
import java.util.function.IntToLongFunction;

/**
 * The least recently used goes first; of equals the lowest slot.
 *
 * <p>Exact although a use only stores a tick: a heap holds every slot with the tick that it had when it was put there, and a top whose
 * tick has grown since sinks to its place before it is believed. Ticks only grow, so what lies below can't be older than it claims.
 */
final class LruPolicy implements EvictionPolicy {
    private static final int ABSENT = -1;

    private int size;
    private int[] slots = new int[16];
    private long[] ticks = new long[16];
    /** Where in the heap a slot is. */
    private int[] places = new int[0];

    @Override
    public void add(int slot, long lastUse) {
        if (slot >= places.length) {
            int known = places.length;
            places = Arrays.copyOf(places, Math.max(slot + 1, 2 * known));
            Arrays.fill(places, known, places.length, ABSENT);
        }
        if (size == slots.length) {
            slots = Arrays.copyOf(slots, 2 * size);
            ticks = Arrays.copyOf(ticks, 2 * size);
        }
        size++;
        rise(size - 1, slot, lastUse);
    }

    @Override
    public void remove(int slot) {
        int place = places[slot];
        places[slot] = ABSENT;
        size--;
        if (place == size) {
            return;
        }
        int moved = slots[size];
        long tick = ticks[size];
        if (sink(place, moved, tick) == place) {
            rise(place, moved, tick);
        }
    }

    @Override
    public int candidate(IntToLongFunction lastUse) {
        while (size > 0) {
            long now = lastUse.applyAsLong(slots[0]);
            if (now == ticks[0]) {
                return slots[0];
            }
            sink(0, slots[0], now);
        }
        return NONE;
    }

    private void rise(int from, int slot, long tick) {
        int place = from;
        while (place > 0) {
            int above = (place - 1) / 2;
            if (!before(slot, tick, above)) {
                break;
            }
            put(place, slots[above], ticks[above]);
            place = above;
        }
        put(place, slot, tick);
    }

    private int sink(int from, int slot, long tick) {
        int place = from;
        while (2 * place + 1 < size) {
            int below = 2 * place + 1;
            if (below + 1 < size && before(slots[below + 1], ticks[below + 1], below)) {
                below++;
            }
            if (before(slot, tick, below)) {
                break;
            }
            put(place, slots[below], ticks[below]);
            place = below;
        }
        put(place, slot, tick);
        return place;
    }

    private boolean before(int slot, long tick, int place) {
        // The difference, since ticks are of a clock that may wrap.
        long order = tick - ticks[place];
        return order != 0 ? order < 0 : slot < slots[place];
    }

    private void put(int place, int slot, long tick) {
        slots[place] = slot;
        ticks[place] = tick;
        places[slot] = place;
    }
}
