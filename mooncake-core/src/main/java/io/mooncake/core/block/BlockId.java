package io.mooncake.core.block;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * The globally routable name of a block: 32 bytes. Immutable.
 *
 * <p>The first bits tell the three kinds apart, so that one kind never collides with another:
 *
 * <pre>
 *   byte 0      bytes 1..31
 *   0LLLLLLL    a caller's key of L = 0 to 31 bytes, zero padded
 *   01000000    the first 31 bytes of SHA-256("mooncake.key.1" | key), for keys of 32 bytes and more
 *   1hhhhhhh    the end of a {@link PrefixChain}: SHA-256 with its first bit set; of a salted one, the next 31 bits are those of its salt
 * </pre>
 */
public final class BlockId implements Comparable<BlockId> {
    /** Bytes of every id. */
    public static final int BYTES = 32;

    private static final byte HASHED_KEY = 0x40;
    private static final byte[] KEY_DOMAIN = "mooncake.key.1".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] SALT_DOMAIN = "mooncake.salt.1".getBytes(StandardCharsets.US_ASCII);

    private final long w0;
    private final long w1;
    private final long w2;
    private final long w3;

    private BlockId(ByteBuffer bigEndian) {
        w0 = bigEndian.getLong();
        w1 = bigEndian.getLong();
        w2 = bigEndian.getLong();
        w3 = bigEndian.getLong();
    }

    /**
     * Names a block by a key of the caller's.
     *
     * @param key any text; equal texts are equal ids in the whole cluster
     * @return its id
     */
    public static BlockId of(String key) {
        return of(key.getBytes(StandardCharsets.UTF_8));
    }

    /**
     * Names a block by a key of the caller's.
     *
     * @param key any bytes
     * @return its id
     */
    public static BlockId of(byte[] key) {
        byte[] id = new byte[BYTES];
        if (key.length < BYTES) {
            id[0] = (byte) key.length;
            System.arraycopy(key, 0, id, 1, key.length);
        } else {
            MessageDigest sha = sha256();
            sha.update(KEY_DOMAIN);
            id[0] = HASHED_KEY;
            System.arraycopy(sha.digest(key), 0, id, 1, BYTES - 1);
        }
        return fromBytes(id);
    }

    /**
     * Reads an id as {@link #toBytes()} wrote it.
     *
     * @param bytes exactly 32
     * @return the id
     * @throws MooncakeException INVALID_ARGUMENT for another length
     */
    public static BlockId fromBytes(byte[] bytes) {
        if (bytes.length != BYTES) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT, "a block id has " + BYTES + " bytes, not " + bytes.length
                    + ": use BlockId.of(key) for keys of other lengths");
        }
        return new BlockId(ByteBuffer.wrap(bytes).order(ByteOrder.BIG_ENDIAN));
    }

    /**
     * Reads the next 32 bytes of a buffer.
     *
     * @param buffer moved by 32
     * @return the id
     */
    public static BlockId read(ByteBuffer buffer) {
        byte[] bytes = new byte[BYTES];
        buffer.get(bytes);
        return fromBytes(bytes);
    }

    /** @param saltTag what the ids of its salt have in common; negative where there is no salt */
    static BlockId ofChain(byte[] sha, int saltTag) {
        if (saltTag >= 0) {
            ByteBuffer.wrap(sha).putInt(saltTag);
        }
        sha[0] |= (byte) 0x80;
        return fromBytes(sha);
    }

    /**
     * What the ids of all chains with a salt have in common: the first 31 bits of SHA-256("mooncake.salt.1" | salt), after the first one.
     *
     * @param salt of a {@link PrefixChain}, not empty
     * @return 0 to 2^31 - 1
     */
    public static int saltTag(String salt) {
        MessageDigest sha = sha256();
        sha.update(SALT_DOMAIN);
        return ByteBuffer.wrap(sha.digest(salt.getBytes(StandardCharsets.UTF_8))).getInt() & Integer.MAX_VALUE;
    }

    /**
     * Which salt the id's chain had, if it had one.
     *
     * @return {@link #saltTag(String)} of it; any number for a chain without a salt; -1 for a caller's key
     */
    public int saltTag() {
        return isContentAddressed() ? (int) (w0 >>> 32) & Integer.MAX_VALUE : -1;
    }

    static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    /**
     * Whether the id is the end of a prefix chain, so that every block of it has the same content, whoever wrote it.
     *
     * @return false for a caller's key
     */
    public boolean isContentAddressed() {
        return w0 < 0;
    }

    /**
     * The 32 bytes.
     *
     * @return a new array
     */
    public byte[] toBytes() {
        return ByteBuffer.allocate(BYTES).putLong(w0).putLong(w1).putLong(w2).putLong(w3).array();
    }

    /**
     * Writes the 32 bytes.
     *
     * @param buffer moved by 32
     */
    public void write(ByteBuffer buffer) {
        buffer.put(toBytes());
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof BlockId that && w0 == that.w0 && w1 == that.w1 && w2 == that.w2 && w3 == that.w3;
    }

    @Override
    public int hashCode() {
        return (int) (hash() >>> 32);
    }

    /**
     * Stands for the id where its 32 bytes are too many and one mistake in 2^64 does no harm.
     *
     * @return equal for equal ids
     */
    public long hash() {
        // Short keys differ in few bits: each word has a multiplier of its own (the golden ratio's and three odd ones),
        // else digits in two words cancel out; and the upper half, where all bits arrive, is folded down and spread again.
        long sum = w0 * 0x9E3779B97F4A7C15L + w1 * 0xC2B2AE3D27D4EB4FL + w2 * 0x165667B19E3779F9L
                + w3 * 0xD6E8FEB86659FD93L;
        return (sum ^ (sum >>> 32)) * 0x9E3779B97F4A7C15L;
    }

    @Override
    public int compareTo(BlockId that) {
        int order = Long.compareUnsigned(w0, that.w0);
        order = order != 0 ? order : Long.compareUnsigned(w1, that.w1);
        order = order != 0 ? order : Long.compareUnsigned(w2, that.w2);
        return order != 0 ? order : Long.compareUnsigned(w3, that.w3);
    }

    /** The caller's key where it is short printable text, else 64 hexadecimal digits. */
    @Override
    public String toString() {
        byte[] bytes = toBytes();
        int length = bytes[0];
        if (length > 0 && length < BYTES) {
            for (int i = 1; i <= length; i++) {
                if (bytes[i] <= ' ' || bytes[i] > '~') {
                    return HexFormat.of().formatHex(bytes);
                }
            }
            return new String(bytes, 1, length, StandardCharsets.US_ASCII);
        }
        return HexFormat.of().formatHex(bytes);
    }
}
