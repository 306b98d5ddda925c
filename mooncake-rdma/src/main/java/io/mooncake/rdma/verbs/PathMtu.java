package io.mooncake.rdma.verbs;

/** Payload bytes of one packet: {@code enum ibv_mtu}. */
public enum PathMtu {
    /** 256 bytes. */
    MTU_256,
    /** 512 bytes. */
    MTU_512,
    /** 1024 bytes: what fits an Ethernet frame of 1500. */
    MTU_1024,
    /** 2048 bytes. */
    MTU_2048,
    /** 4096 bytes: takes an Ethernet MTU of 4200 or more. */
    MTU_4096;

    /**
     * The number on the wire and in the library.
     *
     * @return 1 to 5
     */
    public int code() {
        return ordinal() + 1;
    }

    /**
     * Payload bytes.
     *
     * @return 256 to 4096
     */
    public int bytes() {
        return 128 << code();
    }

    /**
     * By its number.
     *
     * @param code 1 to 5; others are taken for the nearest
     * @return the MTU
     */
    public static PathMtu of(int code) {
        return values()[Math.clamp(code, 1, values().length) - 1];
    }

    /**
     * What both ends can.
     *
     * @param other the peer's
     * @return the smaller one
     */
    public PathMtu min(PathMtu other) {
        return compareTo(other) <= 0 ? this : other;
    }
}
