package io.mooncake.core.block;

import io.mooncake.core.base.Layout;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;

/**
 * Names blocks by what is in them: the id of a block covers its tokens and all tokens before them, so that two requests
 * with the same beginning have the same ids there. Immutable; any thread.
 *
 * <p>Bytes that are hashed, all numbers little-endian, {@code str} = 4 bytes of length and then UTF-8:
 *
 * <pre>
 *   root  = SHA-256("mooncake.chain.1" | str model | str dtype | layout fingerprint (32) | str engine | str salt)
 *   block = SHA-256("mooncake.block.1" | root or parent id (32) | 4 bytes token count | 4 bytes a token)
 * </pre>
 *
 * <p>The first bit of a block's id is set ({@link BlockId#isContentAddressed()}); where there is a salt, the next 31 bits are the
 * {@linkplain BlockId#saltTag(String) salt's}, so that every node can tell tenants apart. Another model, data type, layout, engine build
 * or salt (tenant) has another root, hence never a block in common.
 */
public final class PrefixChain {
    private static final byte[] ROOT_DOMAIN = "mooncake.chain.1".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] BLOCK_DOMAIN = "mooncake.block.1".getBytes(StandardCharsets.US_ASCII);

    private final Layout layout;
    private final byte[] root;
    private final int saltTag;

    /**
     * A chain's root.
     *
     * @param model the model's id
     * @param layout how a block's bytes lie; with its dtype
     * @param engine the engine's fingerprint: whatever else changes the bytes, for example its build
     * @param salt separates tenants; empty for none
     */
    public PrefixChain(String model, Layout layout, String engine, String salt) {
        this.layout = layout;
        MessageDigest sha = BlockId.sha256();
        sha.update(ROOT_DOMAIN);
        update(sha, model);
        update(sha, layout.dtype());
        sha.update(layout.fingerprint());
        update(sha, engine);
        update(sha, salt);
        root = sha.digest();
        saltTag = salt.isEmpty() ? -1 : BlockId.saltTag(salt);
    }

    private static void update(MessageDigest sha, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        sha.update(ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(0, bytes.length));
        sha.update(bytes);
    }

    /**
     * The first block's id.
     *
     * @param tokens its tokens, 1 to {@code layout.tokens()}
     * @return the id
     * @throws MooncakeException INVALID_ARGUMENT for another number of tokens
     */
    public BlockId first(int... tokens) {
        checkCount(tokens);
        return block(root, tokens, 0, tokens.length);
    }

    /**
     * The id of the block that follows another.
     *
     * @param parent the block before
     * @param tokens its tokens, 1 to {@code layout.tokens()}
     * @return the id
     * @throws MooncakeException INVALID_ARGUMENT for another number of tokens
     */
    public BlockId next(BlockId parent, int... tokens) {
        checkCount(tokens);
        return block(parent.toBytes(), tokens, 0, tokens.length);
    }

    private void checkCount(int[] tokens) {
        if (tokens.length == 0 || tokens.length > layout.tokens()) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT,
                    "a block of " + tokens.length + " tokens: the layout has 1 to " + layout.tokens() + " a block");
        }
    }

    /**
     * The ids of a request's full blocks; tokens beyond the last full block have none yet.
     *
     * @param tokens the request's tokens
     * @return one id for every {@code layout.tokens()} of them
     */
    public List<BlockId> ids(int[] tokens) {
        List<BlockId> ids = new ArrayList<>(tokens.length / layout.tokens());
        byte[] parent = root;
        for (int from = 0; tokens.length - from >= layout.tokens(); from += layout.tokens()) {
            BlockId id = block(parent, tokens, from, layout.tokens());
            ids.add(id);
            parent = id.toBytes();
        }
        return List.copyOf(ids);
    }

    private BlockId block(byte[] parent, int[] tokens, int from, int count) {
        ByteBuffer bytes = ByteBuffer.allocate(4 + 4 * count).order(ByteOrder.LITTLE_ENDIAN).putInt(count);
        for (int i = 0; i < count; i++) {
            bytes.putInt(tokens[from + i]);
        }
        MessageDigest sha = BlockId.sha256();
        sha.update(BLOCK_DOMAIN);
        sha.update(parent);
        return BlockId.ofChain(sha.digest(bytes.array()), saltTag);
    }
}
