package io.mooncake.core;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Parts in the order in which they came, linked through themselves; each in one ring at a time. One thread. */
final class PartRing {
    private @Nullable Part first;
    private @Nullable Part last;
    private int size;

    @Nullable
    Part first() {
        return first;
    }

    int size() {
        return size;
    }

    void add(Part part) {
        part.ring = this;
        part.previous = last;
        part.next = null;
        if (last == null) {
            first = part;
        } else {
            last.next = part;
        }
        last = part;
        size++;
    }

    /** Out of the ring that it is in. */
    static void remove(Part part) {
        PartRing ring = Objects.requireNonNull(part.ring);
        Part before = part.previous;
        Part after = part.next;
        if (before == null) {
            ring.first = after;
        } else {
            before.next = after;
        }
        if (after == null) {
            ring.last = before;
        } else {
            after.previous = before;
        }
        ring.size--;
        part.ring = null;
        part.previous = null;
        part.next = null;
    }
}
