package io.mooncake.core;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Parts by the deadlines of their reads, the next one first: a binary heap in which each part knows its place, so that it can be taken out from
 * anywhere. One thread.
 */
final class PartHeap {
    private @Nullable Part[] parts = new @Nullable Part[16];
    private int size;

    @Nullable
    Part first() {
        return parts[0];
    }

    /** One that is in no heap, and whose deadline stays what it is as long as it is here. */
    void add(Part part) {
        if (size == parts.length) {
            parts = Arrays.copyOf(parts, 2 * size);
        }
        rise(size++, part);
    }

    /** Does nothing where it is not here. */
    void remove(Part part) {
        int at = part.heapIndex;
        if (at == Part.IN_NO_HEAP) {
            return;
        }
        part.heapIndex = Part.IN_NO_HEAP;
        Part moved = parts[--size];
        parts[size] = null;
        if (moved != null && at < size) {
            sink(at, moved);
            if (moved.heapIndex == at) {
                rise(at, moved);
            }
        }
    }

    private void rise(int from, Part part) {
        int at = from;
        for (Part above; at > 0 && (above = parts[(at - 1) / 2]) != null && isBefore(part, above); at = (at - 1) / 2) {
            put(at, above);
        }
        put(at, part);
    }

    private void sink(int from, Part part) {
        int at = from;
        for (int child; (child = 2 * at + 1) < size;) {
            Part below = parts[child];
            Part right = child + 1 < size ? parts[child + 1] : null;
            if (right != null && below != null && isBefore(right, below)) {
                child++;
                below = right;
            }
            if (below == null || !isBefore(below, part)) {
                break;
            }
            put(at, below);
            at = child;
        }
        put(at, part);
    }

    private void put(int at, Part part) {
        parts[at] = part;
        part.heapIndex = at;
    }

    private static boolean isBefore(Part part, Part other) {
        return part.read.deadlineNs() - other.read.deadlineNs() < 0;
    }
}
