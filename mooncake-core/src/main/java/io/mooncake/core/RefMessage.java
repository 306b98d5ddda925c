package io.mooncake.core;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.block.BlockRef;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** References of blocks in one control message, one behind the other. */
final class RefMessage {
    /** In one message. */
    static final int MAX_REFS = 64;

    private RefMessage() {}

    /**
     * Encodes.
     *
     * @param refs at most {@link #MAX_REFS}
     */
    static ByteBuffer of(List<BlockRef> refs) {
        ByteBuffer message = ByteBuffer.allocate(refs.size() * BlockRef.BYTES);
        refs.forEach(ref -> message.put(ref.toBytes()));
        return message.flip();
    }

    /**
     * Decodes, of a longer message as many as may be in one.
     *
     * @param message from outside
     * @throws MooncakeException INVALID_ARGUMENT when something in it is no reference
     */
    static List<BlockRef> read(byte[] message) {
        List<BlockRef> refs = new ArrayList<>();
        for (int at = 0; at < message.length && refs.size() < MAX_REFS; at += BlockRef.BYTES) {
            byte[] bytes = new byte[BlockRef.BYTES];
            System.arraycopy(message, at, bytes, 0, Math.min(bytes.length, message.length - at));
            refs.add(BlockRef.fromBytes(bytes));
        }
        return refs;
    }
}
