package io.mooncake.rdma.verbs;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;

/**
 * One entry of a port's GID table: the address by which peers reach it. Immutable.
 *
 * @param index in the table; it shifts when addresses come and go, so it is searched each time and never configured blindly
 * @param raw 16 bytes, not to be changed
 * @param type how packets with it travel
 * @param interfaceIndex the kernel's number of the network interface; 0 for none (InfiniBand)
 */
@SuppressWarnings("ArrayRecordComponent") // Equality is defined below.
public record Gid(int index, byte[] raw, Type type, int interfaceIndex) {

    /** Bytes of a GID. */
    public static final int BYTES = 16;

    /** {@code enum ibv_gid_type}, by its numbers. */
    public enum Type {
        /** InfiniBand. */
        INFINIBAND,
        /** RoCE version 1: Ethernet frames, not routable. */
        ROCE_V1,
        /** RoCE version 2: UDP, routable. */
        ROCE_V2;

        static Type of(int number) {
            return number >= 0 && number < values().length ? values()[number] : INFINIBAND;
        }
    }

    /** Checks the length. */
    public Gid {
        if (raw.length != BYTES) {
            throw new IllegalArgumentException("a GID has " + BYTES + " bytes, not " + raw.length);
        }
    }

    /**
     * Whether it is the IPv4 address of its interface, written as IPv6.
     *
     * @return true for {@code ::ffff:a.b.c.d}
     */
    public boolean isIpv4() {
        for (int i = 0; i < 10; i++) {
            if (raw[i] != 0) {
                return false;
            }
        }
        return raw[10] == (byte) 0xff && raw[11] == (byte) 0xff;
    }

    /**
     * Whether it is valid on its own link only.
     *
     * @return true for {@code fe80::/10} and for {@code ::ffff:169.254.0.0/112}
     */
    public boolean isLinkLocal() {
        boolean ipv6 = raw[0] == (byte) 0xfe && (raw[1] & 0xc0) == 0x80;
        return ipv6 || (isIpv4() && raw[12] == (byte) 169 && raw[13] == (byte) 254);
    }

    /**
     * Whether nothing is there.
     *
     * @return true for an empty entry
     */
    public boolean isZero() {
        for (byte b : raw) {
            if (b != 0) {
                return false;
            }
        }
        return true;
    }

    /**
     * The address as text.
     *
     * @return {@code 10.0.0.1} for an IPv4 one, else IPv6
     */
    public String address() {
        try {
            return InetAddress.getByAddress(raw).getHostAddress();
        } catch (UnknownHostException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Gid o && index == o.index && type == o.type && interfaceIndex == o.interfaceIndex
                && Arrays.equals(raw, o.raw);
    }

    @Override
    public int hashCode() {
        return 31 * index + Arrays.hashCode(raw);
    }

    @Override
    public String toString() {
        return "GID " + index + " " + address() + " " + type;
    }
}
