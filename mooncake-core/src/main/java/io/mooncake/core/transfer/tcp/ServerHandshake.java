package io.mooncake.core.transfer.tcp;

import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.EngineContext;
import java.net.ProtocolException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * The server's half of the handshake. Whoever has not proven the secret learns nothing: not this node's name, life or cluster.
 *
 * <pre>
 *   no secret    HELLO ──────────────────────────────────────► checks ──► WELCOME
 *   a secret     HELLO ──► CHALLENGE ──► PROOF ──► proven? ──► checks ──► WELCOME with the server's proof
 * </pre>
 */
final class ServerHandshake {
    private final EngineContext context;
    private final Credentials credentials;
    private @Nullable Greeting greeting;
    private byte @Nullable [] nonce;

    ServerHandshake(EngineContext context, Credentials credentials) {
        this.context = context;
        this.credentials = credentials;
    }

    /** What a frame of this node may say of its incarnation to somebody who has proven nothing. */
    long shownIncarnation() {
        return credentials.areNeeded() ? 0 : context.self().incarnation();
    }

    /** Refuses a client of another version. */
    Refusal otherVersion(int version) {
        String text = " speaks version " + Frames.VERSION + " of the protocol, not " + version
                + ": run the same release everywhere";
        return new Refusal(Frames.WHY_VERSION,
                (credentials.areNeeded() ? "this node" : "node " + context.self()) + text);
    }

    /** Handles a whole frame, appends the answer, and says who the peer is once that is settled. */
    @Nullable
    NodeId onFrame(ByteBuffer in, int at, int body, ByteBuffer out) throws ProtocolException, Refusal {
        byte type = in.get(at + Frames.TYPE_AT);
        Greeting hello = greeting;
        byte[] challenge = nonce;
        if (hello == null && type == Frames.HELLO) {
            hello = Greeting.parse(in, at, body);
            greeting = hello;
            return credentials.areNeeded() ? challenge(hello, out) : welcome(hello, out, new byte[0]);
        }
        if (hello != null && challenge != null && type == Frames.PROOF) {
            if (!credentials.proves(in, at + Frames.HEADER_BYTES, Credentials.CLIENT, hello, challenge)) {
                throw new Refusal(Frames.WHY_SECRET,
                        "the cluster's secret was not proven: give every node the same cluster.secret",
                        "whoever calls itself node " + hello.sender
                                + " does not know this cluster's secret: give every node the same cluster.secret");
            }
            return welcome(hello, out, credentials.proof(Credentials.SERVER, hello, challenge));
        }
        throw new ProtocolException(
                "a connection begins with one handshake, a frame of type " + type + " came instead");
    }

    private @Nullable NodeId challenge(Greeting hello, ByteBuffer out) {
        byte[] fresh = credentials.newNonce();
        nonce = fresh;
        Frames.header(out, Frames.CHALLENGE, Frames.NONCE_BYTES, 0, hello.wanted.incarnation());
        out.put(fresh);
        return null;
    }

    private NodeId welcome(Greeting hello, ByteBuffer out, byte[] proof) throws Refusal {
        NodeId self = context.self();
        if (!hello.cluster.equals(context.cluster())) {
            throw new Refusal(Frames.WHY_CLUSTER, "node " + self + " belongs to cluster '" + context.cluster()
                    + "', node " + hello.sender + " to '" + hello.cluster + "': give both the same cluster name");
        }
        if (!hello.wanted.equals(self)) {
            throw new Refusal(Frames.WHY_INCARNATION, "node " + self + " answers here, node " + hello.wanted
                    + " was asked for: that process life has ended, or the address is another's");
        }
        Frames.header(out, Frames.WELCOME, proof.length, 0, self.incarnation());
        out.put(proof);
        return hello.sender;
    }
}
