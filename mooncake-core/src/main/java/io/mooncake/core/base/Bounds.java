package io.mooncake.core.base;

import io.mooncake.core.base.MooncakeException.Kind;

/** The one bounds check: no sum in it can overflow. Any thread. */
public final class Bounds {
    private Bounds() {}

    /**
     * Whether {@code [offset, offset + length)} lies in {@code [0, limit]}.
     *
     * @param offset first byte
     * @param length bytes; 0 is inside anywhere up to and including limit
     * @param limit bytes there are
     * @return false also for negative numbers
     */
    public static boolean contains(long offset, long length, long limit) {
        return offset >= 0 && length >= 0 && offset <= limit && length <= limit - offset;
    }

    /**
     * Refuses a range that is not inside.
     *
     * @param what names the thing in the message, for example {@code region r17}
     * @param offset first byte
     * @param length bytes
     * @param limit bytes there are
     * @throws MooncakeException OUT_OF_BOUNDS
     */
    public static void check(Object what, long offset, long length, long limit) {
        if (!contains(offset, length, limit)) {
            throw new MooncakeException(Kind.OUT_OF_BOUNDS,
                    what + ": offset " + offset + " + " + length + " > length " + limit + " (or negative)");
        }
    }
}
