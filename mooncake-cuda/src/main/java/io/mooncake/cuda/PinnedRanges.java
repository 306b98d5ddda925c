package io.mooncake.cuda;

import java.util.Arrays;

/** Which host memory is pinned, part by part: a copy may not span two parts. Any thread; looking allocates nothing. */
final class PinnedRanges {
    /** Ascending, start and end in turn. */
    private volatile long[] bounds = new long[0];

    synchronized void add(long address, long bytes) {
        long[] grown = Arrays.copyOf(bounds, bounds.length + 2);
        int at = grown.length - 2;
        while (at > 0 && grown[at - 2] > address) {
            grown[at] = grown[at - 2];
            grown[at + 1] = grown[at - 1];
            at -= 2;
        }
        grown[at] = address;
        grown[at + 1] = address + bytes;
        bounds = grown;
    }

    synchronized void remove(long address) {
        long[] now = bounds;
        int at = last(now, address);
        long[] left = new long[now.length - 2];
        System.arraycopy(now, 0, left, 0, at);
        System.arraycopy(now, at + 2, left, at, left.length - at);
        bounds = left;
    }

    /** Whether a part holds all of it. */
    boolean contains(long address, long bytes) {
        long[] now = bounds;
        int at = last(now, address);
        return at >= 0 && address + bytes <= now[at + 1];
    }

    /** Where the last part stands that begins at or before the address; negative when none does. */
    private static int last(long[] bounds, long address) {
        int low = 0;
        int high = bounds.length / 2 - 1;
        while (low <= high) {
            int middle = (low + high) >>> 1;
            if (bounds[2 * middle] <= address) {
                low = middle + 1;
            } else {
                high = middle - 1;
            }
        }
        return 2 * high;
    }
}
