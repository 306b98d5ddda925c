package io.mooncake.core.base;

import io.mooncake.core.base.MooncakeException.Kind;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * What the nodes of a cluster share and nobody else knows: with it they prove to each other who they are. Immutable, for any thread.
 * No message and no {@code toString} shows it.
 */
public final class ClusterSecret {
    /** Fewer bytes could be guessed by whoever was shown one proof. */
    public static final int MIN_BYTES = 16;
    /** More bytes are no secret but a wrong file. */
    public static final int MAX_BYTES = 4096;

    private static final String ALGORITHM = "HmacSHA256";

    private final SecretKeySpec key;

    private ClusterSecret(byte[] bytes, String where) {
        if (bytes.length < MIN_BYTES || bytes.length > MAX_BYTES) {
            throw new MooncakeException(Kind.CONFIG_ERROR, where + ": " + bytes.length + " bytes, must be " + MIN_BYTES
                    + " to " + MAX_BYTES + ": make one with 'openssl rand -hex 32'");
        }
        key = new SecretKeySpec(bytes, ALGORITHM);
    }

    /**
     * Takes a text, without the white space around it.
     *
     * @param text {@value #MIN_BYTES} to {@value #MAX_BYTES} bytes as UTF-8, drawn at random
     * @return the secret
     * @throws MooncakeException CONFIG_ERROR, which says only how long the text is
     */
    public static ClusterSecret of(String text) {
        return new ClusterSecret(text.strip().getBytes(StandardCharsets.UTF_8), "cluster.secret");
    }

    /**
     * Reads a file, without the white space around its content. Nobody but the node's user should be able to read it (mode 0600).
     *
     * @param file whose content {@link #of} would take
     * @return the secret
     * @throws MooncakeException CONFIG_ERROR naming the file
     */
    public static ClusterSecret fromFile(Path file) {
        try (InputStream in = Files.newInputStream(file)) {
            String text = new String(in.readNBytes(2 * MAX_BYTES), StandardCharsets.UTF_8);
            return new ClusterSecret(text.strip().getBytes(StandardCharsets.UTF_8), "cluster.secretFile " + file);
        } catch (IOException e) {
            throw new MooncakeException(Kind.CONFIG_ERROR, "cluster.secretFile " + file + " cannot be read: " + e, e);
        }
    }

    /**
     * The authentication code of a text under the secret.
     *
     * @param text its remaining bytes are taken
     * @return HMAC-SHA256, 32 bytes
     */
    public byte[] hmacSha256(ByteBuffer text) {
        try {
            Mac mac = Mac.getInstance(ALGORITHM);
            mac.init(key);
            mac.update(text);
            return mac.doFinal();
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every Java has " + ALGORITHM, e);
        }
    }

    /** Says that there is one, not which. */
    @Override
    public String toString() {
        return "(secret)";
    }
}
