package io.mooncake.core.transfer.tcp;

import org.jspecify.annotations.Nullable;

/** Reads in order, linked through their {@link Ranges}: adding and removing allocates nothing. The poller's. */
final class RangesQueue {
    private @Nullable Ranges head;
    private @Nullable Ranges tail;

    void add(Ranges ranges) {
        ranges.next = null;
        ranges.queued = true;
        if (tail == null) {
            head = ranges;
        } else {
            tail.next = ranges;
        }
        tail = ranges;
    }

    @Nullable
    Ranges peek() {
        return head;
    }

    @Nullable
    Ranges poll() {
        Ranges first = head;
        if (first != null) {
            remove(null, first);
        }
        return first;
    }

    /** Takes one out, whose predecessor is given. */
    void remove(@Nullable Ranges before, Ranges ranges) {
        Ranges after = ranges.next;
        if (before == null) {
            head = after;
        } else {
            before.next = after;
        }
        if (after == null) {
            tail = before;
        }
        ranges.next = null;
        ranges.queued = false;
    }
}
