package io.mooncake.core.transfer.tcp;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;

/** The buffers of lanes that ended, for lanes to come. The poller's. */
final class Buffers {
    /** Room for the largest frame that is handled in one piece: a message, or a small chunk. */
    static final int BYTES = 72 * 1024;

    private static final int MAX_SPARE = 32;

    private final ArrayDeque<ByteBuffer> spare = new ArrayDeque<>();

    ByteBuffer take() {
        ByteBuffer buffer = spare.poll();
        return buffer == null ? ByteBuffer.allocateDirect(BYTES).order(ByteOrder.LITTLE_ENDIAN) : buffer.clear();
    }

    /** Takes a buffer back; drops it where it is of another kind, or there are enough. */
    void give(ByteBuffer buffer) {
        if (buffer.capacity() == BYTES && spare.size() < MAX_SPARE) {
            spare.push(buffer);
        }
    }

    /** A small buffer for a connection that has not proven worth a large one. */
    static ByteBuffer small(int bytes) {
        return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }
}
