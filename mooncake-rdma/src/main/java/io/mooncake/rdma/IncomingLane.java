package io.mooncake.rdma;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.rdma.LandingRegion.Grant;
import io.mooncake.rdma.verbs.Completion;
import io.mooncake.rdma.verbs.QueuePair;
import io.mooncake.rdma.verbs.VerbsException;
import java.lang.foreign.MemorySegment;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The receiver's end of a message lane: takes frames, grants, and checks what was sealed. Made and stopped by the registrar, the poller's in
 * between.
 */
final class IncomingLane implements MessageEnd {
    static final FrameQueue.Shape SHAPE = new FrameQueue.Shape(OutgoingLane.CREDITS, OutgoingLane.ANSWERS, 0);
    private static final Logger LOG = LoggerFactory.getLogger(IncomingLane.class);
    private static final int CREDITS_AT_ONCE = OutgoingLane.CREDITS / 2;

    private final RdmaFabric fabric;
    private final MessageLanes lanes;
    private final Nic nic;
    private final MessagePort port;
    private final NodeId sender;
    private final FrameQueue frames;
    private final CRC32C crc = new CRC32C();

    private volatile boolean heard;
    private volatile boolean lost;

    // The poller's.
    private int credits;
    private boolean asked;
    private @Nullable Grant grant;
    private boolean granted;

    IncomingLane(RdmaFabric fabric, MessageLanes lanes, Nic nic, NodeId sender) {
        this.fabric = fabric;
        this.lanes = lanes;
        this.nic = nic;
        this.sender = sender;
        port = nic.messages();
        port.takeRoom();
        try {
            frames = new FrameQueue(nic, port, SHAPE);
        } catch (VerbsException e) {
            port.giveRoom();
            throw e;
        }
    }

    /** Whether anything was heard of its sender since that was asked last. Any thread. */
    boolean takeHeard() {
        boolean was = heard;
        heard = false;
        return was;
    }

    /** Whether it is of no use any more. Any thread. */
    boolean isLost() {
        return lost;
    }

    QueuePair queuePair() {
        return frames.queuePair();
    }

    @Override
    public FrameQueue frames() {
        return frames;
    }

    /** It may receive. */
    void begin() {
        port.add(this);
    }

    @Override
    public void onCompletion(Completion completion) {
        if (!completion.isSuccess()) {
            lose(completion.status() + ", " + completion.status().meaning());
            return;
        }
        MemorySegment frame = frames.onCompleted(completion);
        if (frame != null) {
            heard = true;
            onFrame(frame);
            frames.receiveAgain(completion);
            credits++;
        }
        answer();
    }

    private void onFrame(MemorySegment frame) {
        switch (Frames.type(frame)) {
            case Frames.MESSAGE -> deliver(Frames.topic(frame), Frames.message(frame));
            case Frames.ASK -> ask();
            case Frames.SEAL -> onSeal(frame);
            default -> Frames.check(false, Frames.ANSWER, "as its type, which is for the sender");
        }
    }

    private void ask() {
        Frames.check(!asked && grant == null, 1, "question too many for a grant");
        asked = true;
        port.landing.ask(this, fabric.nowNs());
    }

    /** The landing region has a piece for it. */
    void onGranted(Grant given) {
        asked = false;
        grant = given;
        granted = true;
        answer();
    }

    private void onSeal(MemorySegment frame) {
        Grant sealed = grant;
        int number = Frames.number(frame);
        if (sealed == null || sealed.number() != number) {
            throw new MooncakeException(Kind.PROTOCOL_ERROR, "grant " + number + " is not this lane's");
        }
        int length = Frames.length(frame);
        // What lands there from now on changes nothing.
        byte[] message = port.landing.copy(sealed, length);
        if (length > 0) {
            crc.reset();
            crc.update(message);
            if ((int) crc.getValue() != Frames.checksum(frame)) {
                throw new MooncakeException(Kind.PROTOCOL_ERROR, "grant " + number + " holds " + length
                        + " bytes that are not those sealed: they were written elsewhere, or another wrote here");
            }
        }
        grant = null;
        port.landing.end(sealed, fabric.nowNs());
        if (length > 0) {
            deliver(Frames.topic(frame), message);
            ask();
        }
    }

    private void deliver(int topic, byte[] message) {
        fabric.node().counters().increment(Counter.MESSAGES_RECEIVED);
        fabric.node().control().deliver(topic, sender, message);
    }

    /** Says what there is to say, when it is worth it. */
    private void answer() {
        Grant told = grant;
        if (lost || !frames.canSend() || (!granted && credits < CREDITS_AT_ONCE)) {
            return;
        }
        MemorySegment frame = frames.next();
        int back = credits;
        credits = 0;
        boolean withGrant = granted && told != null;
        granted = false;
        frames.send(withGrant && told != null
                ? Frames.answer(frame, back, port.landing.told(told, fabric.nowNs()))
                : Frames.answer(frame, back));
        if (!frames.flush()) {
            lose("the card takes no request");
        }
    }

    @Override
    public void onBroken(MooncakeException cause) {
        if (cause.kind() == Kind.PROTOCOL_ERROR) {
            fabric.node().counters().increment(Counter.PROTOCOL_ERRORS);
        }
        lose(cause.getMessage());
    }

    /** What is due by time. */
    void tick(long nowNs) {
        Grant late = grant;
        if (late != null && nowNs - late.deadlineNs() >= 0) {
            lose("grant " + late.number() + " was not sealed within " + LandingRegion.GRANT_NS / 1_000_000 + " ms");
        }
    }

    /** It is of no use any more: goes to ERR, and only then its grant is another's. */
    void lose(String why) {
        if (lost) {
            return;
        }
        lost = true;
        LOG.info("node {}: {} ends: {}", fabric.node().self(), this, why);
        port.remove(this);
        port.landing.forget(this);
        lanes.onLost(this);
        fabric.later(this::stop);
    }

    /** Ends what the peer may write. The registrar. */
    void stop() {
        boolean stopped = nic.isFailed() || isInError();
        nic.close(queuePair());
        frames.release();
        fabric.tell(() -> {
            port.onDestroyed();
            Grant held = grant;
            if (stopped && held != null) {
                port.landing.end(held, fabric.nowNs());
            }
        });
    }

    private boolean isInError() {
        try {
            queuePair().toError();
            return true;
        } catch (VerbsException e) {
            fabric.log(this + " could not be moved to ERR: its grant is not used again", e);
            return false;
        }
    }

    @Override
    public String toString() {
        return "message lane from node " + sender + " to " + nic;
    }
}
