package io.mooncake.core.transfer.tcp;

import io.mooncake.core.base.MooncakeException.Kind;
import java.net.ProtocolException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * The client's half of the handshake. Nothing but HELLO and PROOF leaves before the server has proven the secret.
 *
 * <pre>
 *   no secret    HELLO ──► WELCOME ──► open              CHALLENGE: lost, this node has no secret
 *   a secret     HELLO ──► CHALLENGE ──► PROOF ──► WELCOME with the server's proof ──► open
 * </pre>
 */
final class ClientHandshake {
    private final Credentials credentials;
    private final Greeting greeting;
    private byte @Nullable [] challenge;

    ClientHandshake(Credentials credentials, Greeting greeting) {
        this.credentials = credentials;
        this.greeting = greeting;
    }

    /** Appends HELLO. */
    void begin(ByteBuffer out) {
        greeting.put(out);
    }

    /** Handles a whole frame and appends the answer; says whether the connection is open now. */
    boolean onFrame(ByteBuffer in, int at, int body, ByteBuffer out) throws ProtocolException, LaneLost {
        byte type = in.get(at + Frames.TYPE_AT);
        switch (type) {
            case Frames.REFUSED -> throw refused(in, at + Frames.HEADER_BYTES, body);
            case Frames.CHALLENGE -> onChallenge(in, at + Frames.HEADER_BYTES, out);
            case Frames.WELCOME -> {
                onWelcome(in, at + Frames.HEADER_BYTES, body);
                return true;
            }
            default ->
                throw new ProtocolException("a frame of type " + type + " came before the handshake's end");
        }
        return false;
    }

    private static LaneLost refused(ByteBuffer in, int at, int body) {
        Kind kind = switch (in.getInt(at)) {
            case Frames.WHY_VERSION -> Kind.PROTOCOL_ERROR;
            case Frames.WHY_CLUSTER, Frames.WHY_SECRET -> Kind.UNAUTHORIZED;
            case Frames.WHY_INCARNATION -> Kind.STALE_INCARNATION;
            default -> Kind.PEER_UNREACHABLE;
        };
        return new LaneLost(kind, Frames.text(in, at, body));
    }

    private void onChallenge(ByteBuffer in, int at, ByteBuffer out) throws ProtocolException, LaneLost {
        if (challenge != null) {
            throw new ProtocolException("a second challenge");
        }
        if (!credentials.areNeeded()) {
            throw new LaneLost(Kind.UNAUTHORIZED,
                    "it asks for the cluster's secret and this node has none: set cluster.secret");
        }
        byte[] nonce = new byte[Frames.NONCE_BYTES];
        in.get(at, nonce);
        challenge = nonce;
        Frames.header(out, Frames.PROOF, Frames.PROOF_BYTES, 0, greeting.wanted.incarnation());
        out.put(credentials.proof(Credentials.CLIENT, greeting, nonce));
    }

    private void onWelcome(ByteBuffer in, int at, int body) throws LaneLost {
        byte[] nonce = challenge;
        if (credentials.areNeeded() && (nonce == null || body != Frames.PROOF_BYTES
                || !credentials.proves(in, at, Credentials.SERVER, greeting, nonce))) {
            throw new LaneLost(Kind.UNAUTHORIZED, nonce == null
                    ? "it has no cluster secret and this node has: give every node the same cluster.secret"
                    : "it did not prove the cluster's secret: somebody else answers there");
        }
    }
}
