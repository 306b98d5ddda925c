package io.mooncake.core.transfer.tcp;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.NodeId;
import java.net.ProtocolException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** What HELLO says: who dials, whom it wants, and a number never used before. */
final class Greeting {
    final String cluster;
    final NodeId sender;
    final NodeId wanted;
    final byte[] nonce;

    Greeting(String cluster, NodeId sender, NodeId wanted, byte[] nonce) {
        this.cluster = cluster;
        this.sender = sender;
        this.wanted = wanted;
        this.nonce = nonce;
    }

    byte[] clusterBytes() {
        return cluster.getBytes(StandardCharsets.UTF_8);
    }

    /** Appends HELLO. */
    void put(ByteBuffer out) {
        byte[] clusterBytes = clusterBytes();
        byte[] name = sender.nameBytes();
        byte[] wantedName = wanted.nameBytes();
        Frames.header(out, Frames.HELLO,
                Frames.HELLO_FIXED_BYTES + clusterBytes.length + name.length + wantedName.length, 0,
                wanted.incarnation());
        out.putLong(sender.incarnation())
                .put(nonce)
                .put((byte) clusterBytes.length)
                .put((byte) name.length)
                .put((byte) wantedName.length)
                .put(clusterBytes)
                .put(name)
                .put(wantedName);
    }

    /** Reads a whole HELLO. */
    static Greeting parse(ByteBuffer in, int at, int body) throws ProtocolException {
        int from = at + Frames.HEADER_BYTES;
        int lengths = from + Long.BYTES + Frames.NONCE_BYTES;
        int clusterBytes = in.get(lengths) & 0xFF;
        int nameBytes = in.get(lengths + 1) & 0xFF;
        int wantedBytes = in.get(lengths + 2) & 0xFF;
        if (body != Frames.HELLO_FIXED_BYTES + clusterBytes + nameBytes + wantedBytes) {
            throw new ProtocolException("a handshake of " + body + " bytes has texts of " + clusterBytes + ", "
                    + nameBytes + " and " + wantedBytes + " bytes");
        }
        byte[] nonce = new byte[Frames.NONCE_BYTES];
        in.get(from + Long.BYTES, nonce);
        int texts = from + Frames.HELLO_FIXED_BYTES;
        try {
            Greeting greeting = new Greeting(Frames.utf8(in, texts, clusterBytes),
                    new NodeId(Frames.utf8(in, texts + clusterBytes, nameBytes), in.getLong(from)),
                    new NodeId(Frames.utf8(in, texts + clusterBytes + nameBytes, wantedBytes),
                            in.getLong(at + Frames.INCARNATION_AT)),
                    nonce);
            // What is no UTF-8 becomes longer by being read.
            if (greeting.clusterBytes().length > Frames.MAX_CLUSTER_BYTES) {
                throw new ProtocolException("a handshake names a cluster of " + greeting.clusterBytes().length
                        + " bytes, more than " + Frames.MAX_CLUSTER_BYTES);
            }
            return greeting;
        } catch (MooncakeException e) {
            throw (ProtocolException) new ProtocolException(e.getMessage()).initCause(e);
        }
    }
}
