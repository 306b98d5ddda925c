package io.mooncake.rdma;

import java.nio.ByteBuffer;
import java.util.HexFormat;

/**
 * A port's address, 128 bits in network order: with RoCE an IPv6 address, or an IPv4 one as {@code ::ffff:a.b.c.d}. Immutable.
 *
 * @param high the first eight bytes
 * @param low the last eight
 */
record Gid(long high, long low) {
    static final int BYTES = 16;
    private static final int HEX_DIGITS = 2 * BYTES;
    private static final long MAPPED = 0xFFFFL;

    static Gid of(byte[] raw) {
        ByteBuffer bytes = ByteBuffer.wrap(raw);
        return new Gid(bytes.getLong(), bytes.getLong());
    }

    /** What {@link #toString} made. */
    static Gid parse(String text) {
        if (text.length() != HEX_DIGITS) {
            throw new IllegalArgumentException("'" + text + "' has not " + HEX_DIGITS + " hexadecimal digits");
        }
        return of(HexFormat.of().parseHex(text));
    }

    byte[] toBytes() {
        return ByteBuffer.allocate(BYTES).putLong(high).putLong(low).array();
    }

    boolean isNone() {
        return high == 0 && low == 0;
    }

    boolean isIpv4() {
        return high == 0 && low >>> 32 == MAPPED;
    }

    /** Whether packets with it are routed: no link-local and no loopback address. */
    boolean isRoutable() {
        if (isIpv4()) {
            int first = (int) (low >>> 24) & 0xFF;
            int second = (int) (low >>> 16) & 0xFF;
            return first != 127 && !(first == 169 && second == 254);
        }
        return high >>> 54 != 0xFE80L >>> 6 && !(high == 0 && low == 1);
    }

    /** How many leading bits two have in common: the more, the likelier they share a wire. */
    int commonBits(Gid other) {
        return high != other.high
                ? Long.numberOfLeadingZeros(high ^ other.high)
                : Long.SIZE + Long.numberOfLeadingZeros(low ^ other.low);
    }

    /** 32 hexadecimal digits. */
    @Override
    public String toString() {
        return HexFormat.of().formatHex(toBytes());
    }
}
