package io.mooncake.core.base;

import io.mooncake.core.base.MooncakeException.Kind;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/**
 * How the KV cache of {@code tokens} tokens lies in a block: layer by layer, in each layer plane by plane (K, then V), in
 * each plane token by token. Immutable.
 *
 * <pre>
 *   | layer 0                         | layer 1        ...
 *   | K: token 0, 1, ... | V: 0, 1 ...| K ...
 * </pre>
 *
 * <p>Every (layer, plane) is one contiguous range, so that a transfer can bring layers in the order they are computed. The
 * layout's fingerprint is part of every prefix chain's root: blocks of another shape or data type never match.
 *
 * @param layers transformer layers
 * @param planes 2 for K and V, 1 where they are stored as one (MLA)
 * @param tokens tokens a block
 * @param rowBytes bytes of one token in one plane
 * @param dtype the numbers' type, for example {@code bf16}
 */
public record Layout(int layers, int planes, int tokens, long rowBytes, String dtype) {
    /**
     * Checks the numbers.
     *
     * @throws MooncakeException INVALID_ARGUMENT
     */
    public Layout {
        if (layers <= 0 || planes <= 0 || tokens <= 0 || rowBytes <= 0 || dtype.isBlank()) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT,
                    "layout: layers " + layers + ", planes " + planes + ", tokens "
                            + tokens + " and row bytes " + rowBytes + " must be positive, dtype '" + dtype
                            + "' not blank");
        }
        try {
            Math.multiplyExact(Math.multiplyExact((long) layers * planes, tokens), rowBytes);
        } catch (ArithmeticException e) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT, "layout: a block of " + layers + " x " + planes + " x "
                    + tokens + " x " + rowBytes + " bytes passes 2^63", e);
        }
    }

    /**
     * Bytes of one (layer, plane).
     *
     * @return tokens times row bytes
     */
    public long planeBytes() {
        return rowBytes * tokens;
    }

    /**
     * Bytes of a full block.
     *
     * @return layers times planes times plane bytes
     */
    public long blockBytes() {
        return (long) layers * planes * planeBytes();
    }

    /**
     * Where a (layer, plane) starts in the block; it is {@link #planeBytes()} long.
     *
     * @param layer 0 to layers - 1
     * @param plane 0 to planes - 1
     * @return an offset
     * @throws MooncakeException OUT_OF_BOUNDS
     */
    public long offset(int layer, int plane) {
        if (layer < 0 || layer >= layers || plane < 0 || plane >= planes) {
            throw new MooncakeException(Kind.OUT_OF_BOUNDS, this + ": layer " + layer + " must be 0 to " + (layers - 1)
                    + ", plane " + plane + " 0 to " + (planes - 1));
        }
        return ((long) layer * planes + plane) * planeBytes();
    }

    /**
     * SHA-256 over {@code "mooncake.layout.1"}, layers, planes, tokens (4 bytes each), row bytes (8) and the dtype's UTF-8
     * bytes, numbers little-endian.
     *
     * @return 32 bytes
     */
    public byte[] fingerprint() {
        try {
            MessageDigest sha = MessageDigest.getInstance("SHA-256");
            sha.update("mooncake.layout.1".getBytes(StandardCharsets.US_ASCII));
            sha.update(ByteBuffer.allocate(20)
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .putInt(layers)
                    .putInt(planes)
                    .putInt(tokens)
                    .putLong(rowBytes)
                    .array());
            return sha.digest(dtype.getBytes(StandardCharsets.UTF_8));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }
}
