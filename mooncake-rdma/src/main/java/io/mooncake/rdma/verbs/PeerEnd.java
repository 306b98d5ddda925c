package io.mooncake.rdma.verbs;

import java.util.Arrays;
import java.util.HexFormat;

/**
 * The peer's end of a connection, as it told it. Immutable.
 *
 * @param queuePair the peer's queue pair, 24 bits
 * @param packetNumber of the first packet that it sends, 24 bits
 * @param mtu of its port
 * @param lid its InfiniBand address; 0 on Ethernet
 * @param gid its 16 bytes, not to be changed
 */
@SuppressWarnings("ArrayRecordComponent") // Equality is defined below.
public record PeerEnd(int queuePair, int packetNumber, PathMtu mtu, int lid, byte[] gid) {

    private static final int BITS_24 = 0xff_ffff;

    /** Checks what a peer may have told wrongly. */
    public PeerEnd {
        if ((queuePair & ~BITS_24) != 0 || (packetNumber & ~BITS_24) != 0 || (lid & ~0xffff) != 0
                || gid.length != Gid.BYTES) {
            throw new IllegalArgumentException("queue pair " + queuePair + " and packet number " + packetNumber
                    + " have 24 bits, LID " + lid + " has 16, and a GID of " + gid.length + " bytes has 16");
        }
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof PeerEnd o && queuePair == o.queuePair && packetNumber == o.packetNumber && mtu == o.mtu
                && lid == o.lid && Arrays.equals(gid, o.gid);
    }

    @Override
    public int hashCode() {
        return 31 * queuePair + packetNumber;
    }

    @Override
    public String toString() {
        return "queue pair " + queuePair + " at " + HexFormat.of().formatHex(gid) + ", LID " + lid + ", " + mtu;
    }
}
