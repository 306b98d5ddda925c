package io.mooncake.rdma;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.rdma.LaneMessage.Purpose;
import io.mooncake.rdma.Outbox.Message;
import io.mooncake.rdma.verbs.Completion;
import io.mooncake.rdma.verbs.QueuePair;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The sender's end of a message lane. A short message is SENT, against a credit: the receiver has a RECV for it. A long one is written into a
 * grant and sealed; the next grant is asked for by the way, and given back when no long message comes. The poller's.
 *
 * <pre>
 *   ASK ─▶ ... ─▶ ANSWER(grant) ─▶ WRITE, SEAL ─▶ ... ─▶ ANSWER(grant) ─▶ WRITE, SEAL          a queue pair does one after the other
 *                                                                    └──half of its time──▶ SEAL of nothing
 * </pre>
 */
final class OutgoingLane extends RequestedLane implements MessageEnd {
    /** Frames that the receiver has room for. */
    static final int CREDITS = 16;
    /** Answers that may be on their way: two with half of the credits each, one with a grant. */
    static final int ANSWERS = 4;
    static final FrameQueue.Shape SHAPE = new FrameQueue.Shape(ANSWERS, CREDITS, EngineContext.MAX_MESSAGE_BYTES);
    private static final long CONNECT_NS = 2_000_000_000;
    private static final long NANOS_PER_MILLI = 1_000_000;

    private final MessageLanes lanes;
    private final Outbox outbox;
    private final long begunNs;
    private final CRC32C crc = new CRC32C();
    /** Set by the registrar before the lane opens. */
    private volatile @Nullable MessagePort port;
    private volatile @Nullable FrameQueue frames;

    private boolean open;
    private boolean lost;
    private int credits = CREDITS;
    private boolean asked;
    private Frames.@Nullable Grant grant;
    private long giveBackNs;

    OutgoingLane(MessageLanes lanes, RdmaFabric fabric, Nic nic, Outbox outbox) {
        super(fabric, nic, outbox.peer.id(), Purpose.MESSAGES);
        this.lanes = lanes;
        this.outbox = outbox;
        begunNs = fabric.nowNs();
    }

    @Override
    QueuePair newQueuePair() {
        MessagePort made = nic.messages();
        made.takeRoom();
        port = made;
        FrameQueue queue = new FrameQueue(nic, made, SHAPE);
        frames = queue;
        return queue.queuePair();
    }

    @Override
    void prepare() {
        frames().prepare();
    }

    @Override
    public FrameQueue frames() {
        return Objects.requireNonNull(frames);
    }

    @Override
    void onOpen(QueuePair opened) {
        if (!lost) {
            Objects.requireNonNull(port).add(this);
            open = true;
            pump();
        }
    }

    /** Sends what can be sent. */
    void pump() {
        if (!open || lost) {
            return;
        }
        for (Message message; (message = outbox.first()) != null && post(message);) {
            outbox.removeFirst();
            fabric.node().counters().increment(Counter.MESSAGES_SENT);
        }
        flush();
    }

    private void flush() {
        if (!frames().flush()) {
            onBroken(new MooncakeException(Kind.PEER_UNREACHABLE, this + ": the card takes no request"));
        }
    }

    private boolean post(Message message) {
        if (credits == 0 || !frames().canSend()) {
            return false;
        }
        MemorySegment frame = frames().next();
        int topic = message.topic().number();
        if (message.bytes().length <= Frames.MAX_INLAID_BYTES) {
            send(Frames.message(frame, topic, message.bytes()));
            return true;
        }
        Frames.Grant into = grant;
        if (into == null || fabric.nowNs() - giveBackNs >= 0) {
            if (into != null) {
                giveBack(into);
            } else if (!asked) {
                asked = true;
                send(Frames.ask(frame));
            }
            return false;
        }
        if (!frames().canWrite()) {
            return false;
        }
        frames().write(message.bytes(), into.address(), into.key());
        crc.reset();
        crc.update(message.bytes());
        send(Frames.seal(frame, topic, into.number(), message.bytes().length, (int) crc.getValue()));
        grant = null;
        // Which asks for the next one.
        asked = true;
        return true;
    }

    private void send(int bytes) {
        frames().send(bytes);
        credits--;
    }

    private void giveBack(Frames.Grant unused) {
        send(Frames.seal(frames().next(), 0, unused.number(), 0, 0));
        grant = null;
    }

    @Override
    public void onCompletion(Completion completion) {
        if (!completion.isSuccess()) {
            onBroken(cause(completion));
            return;
        }
        MemorySegment frame = frames().onCompleted(completion);
        if (frame != null) {
            onAnswer(frame);
            frames().receiveAgain(completion);
        }
        pump();
    }

    private void onAnswer(MemorySegment frame) {
        int type = Frames.type(frame);
        int back = Frames.length(frame);
        Frames.check(type == Frames.ANSWER && back >= 0 && back <= CREDITS - credits, back, "credits back");
        credits += back;
        if (Frames.number(frame) != 0) {
            Frames.check(asked, Frames.number(frame), "as a grant that was not asked for");
            asked = false;
            Frames.Grant given = Frames.grant(frame);
            grant = given;
            giveBackNs = fabric.nowNs() + given.millis() * NANOS_PER_MILLI / 2;
        }
    }

    /** What is due by time. */
    void tick(long nowNs) {
        Frames.Grant unused = grant;
        if (!open && nowNs - begunNs >= CONNECT_NS) {
            onBroken(new MooncakeException(Kind.PEER_UNREACHABLE,
                    this + " did not open within " + CONNECT_NS / NANOS_PER_MILLI + " ms"));
        } else if (unused != null && nowNs - giveBackNs >= 0 && credits > 0 && frames().canSend()) {
            giveBack(unused);
            flush();
        }
    }

    @Override
    public void onBroken(MooncakeException cause) {
        if (lost) {
            return;
        }
        lost = true;
        if (open) {
            Objects.requireNonNull(port).remove(this);
        }
        fabric.onDestroyed(this);
        fabric.later(this::end);
        lanes.onLost(this, outbox, cause);
    }

    @Override
    void release() {
        FrameQueue queue = frames;
        MessagePort used = port;
        if (queue != null) {
            queue.release();
        }
        if (used != null) {
            fabric.tell(used::onDestroyed);
        }
    }

    @Override
    public String toString() {
        return "message " + super.toString();
    }
}
