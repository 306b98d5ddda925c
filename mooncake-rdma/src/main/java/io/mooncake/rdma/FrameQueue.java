package io.mooncake.rdma;

import io.mooncake.rdma.verbs.Access;
import io.mooncake.rdma.verbs.Completion;
import io.mooncake.rdma.verbs.QueuePair;
import io.mooncake.rdma.verbs.VerbsException;
import io.mooncake.rdma.verbs.WorkRequestRing;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.jspecify.annotations.Nullable;

/**
 * A queue pair of a message lane with its registered buffers: one for each RECV, one for each SEND outstanding, one for what is written.
 * Made and closed by the registrar, used by the poller in between.
 *
 * <pre>
 *   cookie   serial 48 | index 14 | op 2      the serial is the queue's own: numbers of queue pairs come again
 * </pre>
 */
final class FrameQueue {
    /**
     * What it holds.
     *
     * @param receives RECVs, all posted always
     * @param sends SENDs outstanding
     * @param writeBytes of the one WRITE outstanding; 0 for none
     */
    record Shape(int receives, int sends, int writeBytes) {
        int requests() {
            return sends + (writeBytes > 0 ? 1 : 0);
        }

        /** Completions that it may have in the queue. */
        int entries() {
            return receives + requests();
        }
    }

    private static final int RECEIVE = 0;
    private static final int SEND = 1;
    private static final int WRITE = 2;
    private static final int OP_BITS = 2;
    private static final int OP_MASK = (1 << OP_BITS) - 1;
    private static final int SERIAL_SHIFT = 16;
    private static final int INDEX_MASK = (1 << SERIAL_SHIFT) - 1;
    /** Frames without a message, and short ones, are copied when they are posted. */
    private static final int INLINE_BYTES = 64;

    private final Shape shape;
    private final long serial;
    private final NicMemory memory;
    private final WorkRequestRing ring;
    private final QueuePair queuePair;
    private int nextSend;
    private int sending;
    private boolean writing;

    FrameQueue(Nic nic, MessagePort port, Shape shape) {
        this.shape = shape;
        serial = port.nextSerial();
        memory = new NicMemory(nic,
                (long) (shape.receives + shape.sends) * Frames.FRAME_BYTES + shape.writeBytes, Frames.FRAME_BYTES,
                Access.LOCAL_WRITE);
        ring = new WorkRequestRing(shape.requests());
        try {
            queuePair = nic.newQueuePair(port.completions,
                    new QueuePair.Capacity(shape.requests(), shape.receives, INLINE_BYTES));
        } catch (VerbsException e) {
            release();
            throw e;
        }
    }

    QueuePair queuePair() {
        return queuePair;
    }

    /** Posts every RECV; before the peer may send. */
    void prepare() {
        for (int i = 0; i < shape.receives; i++) {
            receive(i);
        }
    }

    private void receive(int index) {
        long at = (long) index * Frames.FRAME_BYTES;
        queuePair.postReceive(cookie(index, RECEIVE), memory.address(at), Frames.FRAME_BYTES,
                memory.localKey());
    }

    private long cookie(int index, int op) {
        return (serial << SERIAL_SHIFT) | ((long) index << OP_BITS) | op;
    }

    /** Whether a completion is of one of its requests. */
    boolean isOwn(Completion completion) {
        return completion.cookie() >>> SERIAL_SHIFT == serial;
    }

    /**
     * Takes a successful completion.
     *
     * @return the frame that was received, until {@link #receiveAgain}; null when something of this side's was done
     */
    @Nullable
    MemorySegment onCompleted(Completion completion) {
        long cookie = completion.cookie();
        switch ((int) cookie & OP_MASK) {
            case SEND -> sending--;
            case WRITE -> writing = false;
            default -> {
                return memory.segment.asSlice((long) index(cookie) * Frames.FRAME_BYTES,
                        Math.min(completion.bytes(), Frames.FRAME_BYTES));
            }
        }
        return null;
    }

    /** The buffer of a frame that was received may be written again. */
    void receiveAgain(Completion completion) {
        receive(index(completion.cookie()));
    }

    private static int index(long cookie) {
        return ((int) cookie & INDEX_MASK) >>> OP_BITS;
    }

    boolean canSend() {
        return sending < shape.sends;
    }

    /** The frame to be filled in and sent next, while one can be sent. */
    MemorySegment next() {
        return memory.segment.asSlice((long) (shape.receives + nextSend) * Frames.FRAME_BYTES, Frames.FRAME_BYTES);
    }

    /** Sends {@link #next}. */
    void send(int bytes) {
        // Buffers are used in turn, and SENDs complete in turn.
        ring.send(cookie(nextSend, SEND), true, bytes <= queuePair.inlineBytes())
                .local(next().address(), bytes, memory.localKey());
        nextSend = (nextSend + 1) % shape.sends;
        sending++;
    }

    boolean canWrite() {
        return !writing;
    }

    /** Writes into the peer's memory; a SEND after it is received when that is done. */
    void write(byte[] bytes, long address, int key) {
        long at = (long) (shape.receives + shape.sends) * Frames.FRAME_BYTES;
        MemorySegment.copy(bytes, 0, memory.segment, ValueLayout.JAVA_BYTE, at, bytes.length);
        ring.write(cookie(0, WRITE), true)
                .remote(address, key)
                .local(memory.address(at), bytes.length, memory.localKey());
        writing = true;
    }

    /** Posts what was sent and written; false when the card did not take it, or may not do it, after which the lane is of no use. */
    boolean flush() {
        queuePair.post(ring);
        return ring.refusal() == 0;
    }

    /** Gives the buffers back; the queue pair was destroyed before. */
    void release() {
        ring.close();
        memory.close();
    }
}
