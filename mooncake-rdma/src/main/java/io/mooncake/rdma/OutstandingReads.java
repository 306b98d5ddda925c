package io.mooncake.rdma;

import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.onesided.ReadRequest;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The READs of one lane that have not ended, in the order of posting, which is that of their ends: where each lands. The poller's; allocates
 * nothing.
 */
final class OutstandingReads {
    private static final class Entry {
        @Nullable
        Registration direct;
        @Nullable
        BounceRing ring;
        @Nullable
        Region destination;
        long cookie;
        int place;
        long offset;
        long bytes;
    }

    private final Entry[] entries;
    private long first;
    private long next;

    OutstandingReads(int most) {
        entries = new Entry[most];
        for (int i = 0; i < most; i++) {
            entries[i] = new Entry();
        }
    }

    int size() {
        return (int) (next - first);
    }

    boolean isFull() {
        return size() == entries.length;
    }

    /** One lands where it goes; its registration stays until it has ended. */
    void addDirect(long cookie, Registration registration) {
        registration.reads++;
        add(cookie).direct = registration;
    }

    /** One lands in a place of the ring. */
    void addBounced(BounceRing ring, int place, ReadRequest request) {
        Entry entry = add(request.cookie());
        entry.ring = ring;
        entry.place = place;
        entry.destination = request.destination();
        entry.offset = request.destinationOffset();
        entry.bytes = request.bytes();
    }

    private Entry add(long cookie) {
        Entry entry = entries[(int) (next++ % entries.length)];
        entry.cookie = cookie;
        return entry;
    }

    /**
     * One has ended: that which was posted first. What has landed in the ring is where it goes when this returns.
     *
     * @return false when it is none of these: numbers of queue pairs come again, and a completion may be left of an earlier one
     * @throws IllegalStateException when where it goes was freed; it has ended
     */
    boolean end(long cookie, boolean arrived) {
        if (size() == 0 || entries[(int) (first % entries.length)].cookie != cookie) {
            return false;
        }
        endFirst(arrived);
        return true;
    }

    private void endFirst(boolean arrived) {
        end(entries[(int) (first++ % entries.length)], arrived);
    }

    /** The one posted last was not taken. */
    void dropLast() {
        end(entries[(int) (--next % entries.length)], false);
    }

    /** Nothing lands any more. */
    void dropAll() {
        while (size() > 0) {
            endFirst(false);
        }
    }

    private static void end(Entry entry, boolean arrived) {
        Registration direct = entry.direct;
        if (direct != null) {
            direct.reads--;
        }
        BounceRing ring = entry.ring;
        Region destination = entry.destination;
        entry.direct = null;
        entry.ring = null;
        entry.destination = null;
        if (ring != null) {
            try {
                if (arrived) {
                    ring.copy(entry.place, Objects.requireNonNull(destination), entry.offset, entry.bytes);
                }
            } finally {
                ring.give(entry.place);
            }
        }
    }
}
