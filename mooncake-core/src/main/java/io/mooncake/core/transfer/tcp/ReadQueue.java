package io.mooncake.core.transfer.tcp;

import io.mooncake.core.transfer.GuardedRead;
import org.jspecify.annotations.Nullable;

/** Reads in order, linked through themselves: adding and removing allocates nothing. The poller's. */
final class ReadQueue {
    private @Nullable GuardedRead head;
    private @Nullable GuardedRead tail;

    void add(GuardedRead read) {
        read.engineState = null;
        if (tail == null) {
            head = read;
        } else {
            tail.engineState = read;
        }
        tail = read;
    }

    @Nullable
    GuardedRead poll() {
        GuardedRead first = head;
        if (first != null) {
            head = next(first);
            tail = head == null ? null : tail;
            first.engineState = null;
        }
        return first;
    }

    @Nullable
    GuardedRead peek() {
        return head;
    }

    static @Nullable GuardedRead next(GuardedRead read) {
        return (GuardedRead) read.engineState;
    }

    /** Takes one out. */
    void remove(@Nullable GuardedRead before, GuardedRead read) {
        GuardedRead after = next(read);
        if (before == null) {
            head = after;
        } else {
            before.engineState = after;
        }
        if (after == null) {
            tail = before;
        }
        read.engineState = null;
    }
}
