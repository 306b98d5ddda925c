package io.mooncake.core.base;

import io.mooncake.core.base.MooncakeException.Kind;
import java.nio.charset.StandardCharsets;
import java.time.InstantSource;
import java.util.random.RandomGenerator;
import java.util.regex.Pattern;

/**
 * One process life of a named node. Immutable.
 *
 * <p>The incarnation stands in every reference and handshake, so that what an earlier life of the same name published is
 * never mistaken for what this one did. It is {@code wall milliseconds << 20 | 20 random bits}, hence grows from life to life.
 *
 * @param name 1 to 32 characters of {@code A-Za-z0-9._-}
 * @param incarnation positive; which life of that name
 */
public record NodeId(String name, long incarnation) {
    /** A name's bytes at most; what a {@code BlockRef} has room for. */
    public static final int MAX_NAME_BYTES = 32;

    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._-]{1," + MAX_NAME_BYTES + "}");
    private static final int RANDOM_BITS = 20;

    /**
     * Checks both parts.
     *
     * @throws MooncakeException INVALID_ARGUMENT
     */
    public NodeId {
        if (!NAME.matcher(name).matches()) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT,
                    "node name '" + name + "' must be 1 to " + MAX_NAME_BYTES + " characters of A-Z a-z 0-9 . _ -");
        }
        if (incarnation <= 0) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT,
                    "incarnation " + incarnation + " of node " + name + " must be positive");
        }
    }

    /**
     * A new life of a name.
     *
     * @param name the node's name
     * @param wall the wall clock
     * @param random tells apart lives that start in the same millisecond
     * @return an identity never used before
     */
    public static NodeId newLife(String name, InstantSource wall, RandomGenerator random) {
        return new NodeId(name, (wall.millis() << RANDOM_BITS) | random.nextInt(1 << RANDOM_BITS));
    }

    /**
     * The name's bytes as they stand on the wire.
     *
     * @return at most {@value #MAX_NAME_BYTES} bytes
     */
    public byte[] nameBytes() {
        return name.getBytes(StandardCharsets.US_ASCII);
    }

    /** {@code name#incarnation}, the incarnation in hexadecimal. */
    @Override
    public String toString() {
        return name + "#" + Long.toHexString(incarnation);
    }
}
