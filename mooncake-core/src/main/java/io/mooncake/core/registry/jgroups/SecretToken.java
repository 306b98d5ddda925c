package io.mooncake.core.registry.jgroups;

import io.mooncake.core.base.ClusterSecret;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Objects;
import org.jgroups.Address;
import org.jgroups.Message;
import org.jgroups.auth.AuthToken;
import org.jgroups.util.Util;
import org.jspecify.annotations.Nullable;

/**
 * What a node shows when it joins or merges: that it knows the cluster secret, for its own address only. JGroups makes received ones by
 * reflection, hence it is public and has a constructor without arguments; those carry a proof and no secret.
 *
 * <pre>
 *   0    proof    32   HMAC-SHA256 of "mooncake.jgroups.auth.1" | cluster | 0 | address as JGroups writes it
 * </pre>
 */
public final class SecretToken extends AuthToken {
    private static final String DOMAIN = "mooncake.jgroups.auth.1";
    private static final int PROOF_BYTES = 32;

    private final @Nullable ClusterSecret secret;
    private final String cluster;
    private byte[] proof = new byte[PROOF_BYTES];

    /** For JGroups, which reads one from a message. */
    public SecretToken() {
        secret = null;
        cluster = "";
    }

    SecretToken(ClusterSecret secret, String cluster) {
        this.secret = secret;
        this.cluster = cluster;
    }

    @Override
    public String getName() {
        return SecretToken.class.getName();
    }

    @Override
    public int size() {
        return PROOF_BYTES;
    }

    @Override
    public boolean authenticate(AuthToken shown, Message message) {
        return shown instanceof SecretToken token && MessageDigest.isEqual(token.shown(), proofOf(message.getSrc()));
    }

    /** What a node sends to itself, as the leader of a merge does, is never written: then the token is the one that knows the secret. */
    private byte[] shown() {
        return secret == null ? proof : proofOf(auth.getAddress());
    }

    private byte[] proofOf(Address address) {
        byte[] name;
        try {
            name = Util.objectToByteBuffer(address);
        } catch (IOException e) {
            throw new IllegalStateException("JGroups cannot write its own address " + address, e);
        }
        byte[] domain = (DOMAIN + cluster + '\0').getBytes(StandardCharsets.UTF_8);
        ByteBuffer text = ByteBuffer.allocate(domain.length + name.length).put(domain).put(name).flip();
        return Objects.requireNonNull(secret, "a token that was received proves nothing itself").hmacSha256(text);
    }

    @Override
    public void writeTo(DataOutput out) throws IOException {
        out.write(shown());
    }

    @Override
    public void readFrom(DataInput in) throws IOException {
        in.readFully(proof);
    }
}
