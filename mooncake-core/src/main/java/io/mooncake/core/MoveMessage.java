package io.mooncake.core;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Priority;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * What nodes say to each other about moves.
 *
 * <pre>
 *   0    type            1   1 ASK, 2 DONE
 *   1    flags           1   ASK: 1 = hand-over, 2 = somebody waits
 *   2    count           2   references or outcomes that follow, 64 at most
 *   4    milliseconds    4   ASK: until its deadline
 *   8    number          8   of the move, the asking node's
 *   16   first           4   index of the first of them in the move
 *   20   zero            4
 *   24   ASK: references, 128 each; DONE: outcomes, 1 each
 * </pre>
 */
sealed interface MoveMessage {
    int HEADER_BYTES = 24;
    byte ASK = 1;
    byte DONE = 2;
    int HAND_OVER = 1;
    int LOAD = 2;

    /** What stands for an outcome on the wire, by its place. */
    List<Outcome> OUTCOMES = List.of(Outcome.OK, Outcome.ABSENT, Outcome.STALE, Outcome.TIMED_OUT, Outcome.CANCELED,
            Outcome.CHECKSUM, Outcome.UNREACHABLE, Outcome.REFUSED);

    /** The move's number, the asking node's. */
    long number();

    /** Index of the first block in the move. */
    int first();

    /** Take these. */
    record Ask(long number, int first, boolean handOver, Priority priority, int milliseconds, List<BlockRef> refs)
            implements
                MoveMessage {}

    /** What became of them. */
    record Done(long number, int first, List<Outcome> outcomes) implements MoveMessage {}

    /** Encodes. */
    default ByteBuffer encode() {
        return switch (this) {
            case Ask ask -> {
                int flags = (ask.handOver ? HAND_OVER : 0) | (ask.priority == Priority.LOAD ? LOAD : 0);
                ByteBuffer out = header(ASK, flags, ask.refs.size(), ask.milliseconds,
                        ask.refs.size() * BlockRef.BYTES);
                yield out.put(RefMessage.of(ask.refs)).flip();
            }
            case Done done -> {
                ByteBuffer out = header(DONE, 0, done.outcomes.size(), 0, done.outcomes.size());
                done.outcomes.forEach(outcome -> out.put((byte) OUTCOMES.indexOf(outcome)));
                yield out.flip();
            }
        };
    }

    private ByteBuffer header(byte type, int flags, int count, int milliseconds, int more) {
        return ByteBuffer.allocate(HEADER_BYTES + more)
                .order(ByteOrder.LITTLE_ENDIAN)
                .put(type)
                .put((byte) flags)
                .putShort((short) count)
                .putInt(milliseconds)
                .putLong(number())
                .putInt(first())
                .putInt(0);
    }

    /**
     * Decodes.
     *
     * @param bytes from outside
     * @throws MooncakeException PROTOCOL_ERROR, or INVALID_ARGUMENT, when they are no such message
     */
    static MoveMessage read(byte[] bytes) {
        ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        int count = bytes.length < HEADER_BYTES ? -1 : in.getShort(2);
        byte type = count < 0 ? 0 : in.get(0);
        int each = type == ASK ? BlockRef.BYTES : 1;
        if ((type != ASK && type != DONE) || count > RefMessage.MAX_REFS || bytes.length != HEADER_BYTES + count * each
                || in.getInt(16) < 0) {
            throw new MooncakeException(Kind.PROTOCOL_ERROR,
                    "a message of " + bytes.length + " bytes, type " + type + " and " + count
                            + " blocks is none about a move");
        }
        long number = in.getLong(8);
        int first = in.getInt(16);
        if (type == ASK) {
            byte[] refs = new byte[count * each];
            in.get(HEADER_BYTES, refs);
            return new Ask(number, first, (in.get(1) & HAND_OVER) != 0,
                    (in.get(1) & LOAD) != 0 ? Priority.LOAD : Priority.BACKGROUND, in.getInt(4), RefMessage.read(refs));
        }
        List<Outcome> outcomes = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int outcome = in.get(HEADER_BYTES + i);
            outcomes.add(outcome >= 0 && outcome < OUTCOMES.size() ? OUTCOMES.get(outcome) : Outcome.REFUSED);
        }
        return new Done(number, first, List.copyOf(outcomes));
    }
}
