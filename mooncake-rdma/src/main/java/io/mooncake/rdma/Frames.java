package io.mooncake.rdma;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.EngineContext;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * What the two ends of a message lane SEND to each other. Numbers are little-endian.
 *
 * <pre>
 *   0   type       1    sender: MESSAGE, ASK, SEAL; receiver: ANSWER
 *   1   topic      1    MESSAGE, SEAL
 *   2   zero       2
 *   4   grant      4    SEAL, ANSWER: its number; 0 for none
 *   8   length     4    MESSAGE, SEAL: the message's bytes; ANSWER: credits given back
 *   12  checksum   4    SEAL: CRC32C of the bytes written
 *   16  MESSAGE: the message
 *       ANSWER:  address 8 | key 4 | milliseconds 4    of the grant: where, by which key, and for how long
 * </pre>
 */
final class Frames {
    static final int FRAME_BYTES = 1024;
    static final int HEADER_BYTES = 16;
    static final int ANSWER_BYTES = HEADER_BYTES + 16;
    /** What fits into a frame; a longer message is written into a grant. */
    static final int MAX_INLAID_BYTES = FRAME_BYTES - HEADER_BYTES;

    static final int MESSAGE = 1;
    static final int ASK = 2;
    static final int SEAL = 3;
    static final int ANSWER = 4;

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private Frames() {}

    /**
     * Where a peer may write.
     *
     * @param number of the grant, never 0
     * @param address of its first byte, in the receiver's process
     * @param key of the landing region
     * @param millis after which the receiver takes it back, with the lane
     */
    record Grant(int number, long address, int key, int millis) {}

    /** The bytes of a message frame. */
    static int message(MemorySegment frame, int topic, byte[] message) {
        header(frame, MESSAGE, topic, 0, message.length, 0);
        MemorySegment.copy(message, 0, frame, ValueLayout.JAVA_BYTE, HEADER_BYTES, message.length);
        return HEADER_BYTES + message.length;
    }

    /** The bytes of a frame that asks for a grant. */
    static int ask(MemorySegment frame) {
        return header(frame, ASK, 0, 0, 0, 0);
    }

    /** The bytes of a frame that says what was written into a grant. */
    static int seal(MemorySegment frame, int topic, int grant, int length, int checksum) {
        return header(frame, SEAL, topic, grant, length, checksum);
    }

    /** The bytes of a frame that gives credits back, without a grant. */
    static int answer(MemorySegment frame, int credits) {
        return header(frame, ANSWER, 0, 0, credits, 0);
    }

    /** The same with a grant. */
    static int answer(MemorySegment frame, int credits, Grant grant) {
        header(frame, ANSWER, 0, grant.number, credits, 0);
        frame.set(LONG, HEADER_BYTES, grant.address);
        frame.set(INT, HEADER_BYTES + 8L, grant.key);
        frame.set(INT, HEADER_BYTES + 12L, grant.millis);
        return ANSWER_BYTES;
    }

    private static int header(MemorySegment frame, int type, int topic, int grant, int length, int checksum) {
        frame.set(INT, 0, type | topic << 8);
        frame.set(INT, 4, grant);
        frame.set(INT, 8, length);
        frame.set(INT, 12, checksum);
        return HEADER_BYTES;
    }

    /**
     * Looks at a frame of a peer.
     *
     * @param frame what was received
     * @return its type
     * @throws MooncakeException PROTOCOL_ERROR when it has another length than its type
     */
    static int type(MemorySegment frame) {
        check(frame.byteSize() >= HEADER_BYTES, frame.byteSize(), "bytes");
        int type = frame.get(ValueLayout.JAVA_BYTE, 0);
        long body = frame.byteSize() - HEADER_BYTES;
        long expected = switch (type) {
            case MESSAGE -> length(frame);
            case ASK, SEAL -> 0;
            case ANSWER -> number(frame) == 0 ? 0 : ANSWER_BYTES - HEADER_BYTES;
            default -> -1;
        };
        check(body == expected, body, "bytes behind the header of type " + type);
        check(type != SEAL || (length(frame) >= 0 && length(frame) <= EngineContext.MAX_MESSAGE_BYTES), length(frame),
                "bytes sealed");
        return type;
    }

    static int topic(MemorySegment frame) {
        return frame.get(ValueLayout.JAVA_BYTE, 1) & 0xFF;
    }

    /** The grant's number; 0 for none. */
    static int number(MemorySegment frame) {
        return frame.get(INT, 4);
    }

    /** Of a message; or credits. */
    static int length(MemorySegment frame) {
        return frame.get(INT, 8);
    }

    static int checksum(MemorySegment frame) {
        return frame.get(INT, 12);
    }

    /** A copy of the message in a MESSAGE. */
    static byte[] message(MemorySegment frame) {
        return frame.asSlice(HEADER_BYTES).toArray(ValueLayout.JAVA_BYTE);
    }

    /** The grant in an ANSWER that has one. */
    static Grant grant(MemorySegment frame) {
        return new Grant(number(frame), frame.get(LONG, HEADER_BYTES), frame.get(INT, HEADER_BYTES + 8L),
                frame.get(INT, HEADER_BYTES + 12L));
    }

    static void check(boolean fits, long value, String what) {
        if (!fits) {
            throw new MooncakeException(Kind.PROTOCOL_ERROR, "frame of a message lane with " + value + " " + what);
        }
    }
}
