package io.mooncake.core.manager.eviction;

import java.util.Arrays;

/** A number for each slot, 0 until one is set. Allocates only while it grows. */
final class SlotNumbers {
    private int[] numbers = new int[0];

    int get(int slot) {
        return slot < numbers.length ? numbers[slot] : 0;
    }

    void set(int slot, int number) {
        if (slot >= numbers.length) {
            numbers = Arrays.copyOf(numbers, Math.max(slot + 1, 2 * numbers.length));
        }
        numbers[slot] = number;
    }
}
