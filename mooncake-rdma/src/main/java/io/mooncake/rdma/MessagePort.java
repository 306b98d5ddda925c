package io.mooncake.rdma;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.rdma.verbs.Completion;
import io.mooncake.rdma.verbs.CompletionQueue;
import io.mooncake.rdma.verbs.VerbsException;
import java.util.concurrent.atomic.AtomicInteger;
import org.agrona.collections.Int2ObjectHashMap;

/**
 * What one card has for message lanes, made when the first one needs it: a completion queue of their own, so that RECVs take no credit from
 * reads, and the landing region. Made and closed by the registrar, polled by the poller.
 */
final class MessagePort implements AutoCloseable {
    /** Lanes of each direction; with more peers than that, messages go by another engine. */
    static final int LANES = 128;
    private static final int ENTRIES_PER_END = Math.max(OutgoingLane.SHAPE.entries(), IncomingLane.SHAPE.entries());

    final CompletionQueue completions;
    final LandingRegion landing;
    /** Ends that the queue has room for. */
    private final AtomicInteger room;
    private final AtomicInteger lastSerial = new AtomicInteger();

    // The poller's.
    private final Int2ObjectHashMap<MessageEnd> ends = new Int2ObjectHashMap<>();
    private int destroyed;

    MessagePort(Nic nic, long landingBytes) {
        completions = nic.newCompletionQueue(2 * LANES * ENTRIES_PER_END);
        room = new AtomicInteger(completions.entries() / ENTRIES_PER_END);
        boolean done = false;
        try {
            landing = new LandingRegion(nic, landingBytes);
            done = true;
        } finally {
            if (!done) {
                completions.close();
            }
        }
    }

    /** A number for a queue of frames. */
    long nextSerial() {
        return lastSerial.incrementAndGet();
    }

    /**
     * Takes room for one end in the completion queue: whatever its queue pair has posted fits.
     *
     * @throws MooncakeException BACK_PRESSURE without any
     */
    void takeRoom() {
        if (room.getAndUpdate(left -> Math.max(0, left - 1)) == 0) {
            throw new MooncakeException(Kind.BACK_PRESSURE,
                    "this card has its " + 2 * LANES + " ends of message lanes");
        }
    }

    /** Gives back what was taken for an end of which nothing was posted. */
    void giveRoom() {
        room.incrementAndGet();
    }

    /** From now on the end is told of its completions. The poller. */
    void add(MessageEnd end) {
        ends.put(end.frames().queuePair().number(), end);
    }

    /** No more. The poller. */
    void remove(MessageEnd end) {
        ends.remove(end.frames().queuePair().number(), end);
    }

    /** An end's queue pair was destroyed; what it left in the queue has gone when that was seen empty. The poller. */
    void onDestroyed() {
        destroyed++;
    }

    /** Takes what the queue says; how much. The poller. */
    int poll() {
        int taken = completions.poll(CompletionQueue.BATCH);
        for (int i = 0; i < taken; i++) {
            Completion completion = completions.completion(i);
            MessageEnd end = ends.get(completion.queuePair());
            if (end != null && end.frames().isOwn(completion)) {
                tell(end, completion);
            }
        }
        if (taken == 0 && destroyed > 0) {
            room.addAndGet(destroyed);
            destroyed = 0;
        }
        return taken;
    }

    private static void tell(MessageEnd end, Completion completion) {
        try {
            end.onCompletion(completion);
        } catch (VerbsException e) {
            end.onBroken(e.asMooncake());
        } catch (MooncakeException e) {
            end.onBroken(e);
        }
    }

    @Override
    public void close() {
        landing.close();
        completions.close();
    }
}
