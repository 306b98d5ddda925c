package io.mooncake.core.transfer.tcp;

import io.mooncake.core.base.ClusterSecret;
import io.mooncake.core.base.NodeId;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Proves to a peer that this node knows the cluster's secret, and checks that the peer does. The poller's.
 *
 * <p>A proof is HMAC-SHA256, under the secret, of
 *
 * <pre>
 *   0   domain              24   "mooncake tcp handshake 2": worth nothing to another protocol or version
 *   24  direction           1    'C' by the client, 'S' by the server: nobody's own proof can be sent back to him
 *   25  client incarnation  8
 *   33  server incarnation  8    as asked for
 *   41  client's nonce      32   fresh for this connection: a recorded proof is worth nothing
 *   73  server's nonce      32
 *   105 cluster, client's name, server's name as asked for, each after a length of 1
 * </pre>
 */
final class Credentials {
    static final byte CLIENT = 'C';
    static final byte SERVER = 'S';

    private static final byte[] DOMAIN = "mooncake tcp handshake 2".getBytes(StandardCharsets.US_ASCII);
    private static final int MOST_BYTES = DOMAIN.length + 1 + 2 * Long.BYTES + 2 * Frames.NONCE_BYTES + 3
            + Frames.MAX_CLUSTER_BYTES + 2 * NodeId.MAX_NAME_BYTES;

    private final @Nullable ClusterSecret secret;
    private final RandomGenerator random;
    private final ByteBuffer said = Buffers.small(MOST_BYTES);

    Credentials(@Nullable ClusterSecret secret, RandomGenerator random) {
        this.secret = secret;
        this.random = random;
    }

    /** Whether there is a secret, so that nobody gets in without it. */
    boolean areNeeded() {
        return secret != null;
    }

    /** A number that was never used before. */
    byte[] newNonce() {
        byte[] nonce = new byte[Frames.NONCE_BYTES];
        random.nextBytes(nonce);
        return nonce;
    }

    /** The proof of one side. */
    byte[] proof(byte direction, Greeting greeting, byte[] serverNonce) {
        ClusterSecret known = secret;
        if (known == null) {
            throw new IllegalStateException("there is no secret to prove");
        }
        said.clear()
                .put(DOMAIN)
                .put(direction)
                .putLong(greeting.sender.incarnation())
                .putLong(greeting.wanted.incarnation())
                .put(greeting.nonce)
                .put(serverNonce);
        for (byte[] text : new byte[][]{greeting.clusterBytes(), greeting.sender.nameBytes(),
                greeting.wanted.nameBytes()}) {
            said.put((byte) text.length).put(text);
        }
        return known.hmacSha256(said.flip());
    }

    /** Whether what came is the proof of one side; takes the same time whatever came. */
    boolean proves(ByteBuffer in, int at, byte direction, Greeting greeting, byte[] serverNonce) {
        byte[] came = new byte[Frames.PROOF_BYTES];
        in.get(at, came);
        return MessageDigest.isEqual(proof(direction, greeting, serverNonce), came);
    }
}
