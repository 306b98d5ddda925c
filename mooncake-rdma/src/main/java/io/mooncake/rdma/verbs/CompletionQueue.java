package io.mooncake.rdma.verbs;

import io.mooncake.rdma.verbs.ffi.ibv_wc;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Where the queue pairs made with it report what became of their requests. Polled by one thread; nothing is allocated by that.
 *
 * <p>Every posted request of every queue pair on it, signalled or not, receives included, takes one of its entries until its completion
 * was polled: a queue pair in error turns each into a completion, and a queue that overflows is dead (on Soft-RoCE it loses completions
 * without a word). The caller counts.
 */
public final class CompletionQueue extends NativeObject {

    /** Completions taken by one poll, at most. */
    public static final int BATCH = 32;

    private final int entries;
    private final Provider.DataPath dataPath;
    private final long cq;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment wc;
    private final Completion[] completions = new Completion[BATCH];

    CompletionQueue(Context context, int entries, @Nullable CompletionChannel channel) {
        super(context.provider, "completion queue of " + entries + " of " + context,
                channel == null ? List.of(context) : List.of(context, channel), "ibv_create_cq",
                () -> context.provider.createCq(context.handle(), entries, channel == null ? 0 : channel.handle()));
        dataPath = context.dataPath();
        cq = handle();
        this.entries = provider.cqEntries(cq);
        wc = arena.allocate(ibv_wc.sizeof() * BATCH, Long.SIZE);
        for (int i = 0; i < BATCH; i++) {
            completions[i] = new Completion(wc.asSlice(i * ibv_wc.sizeof(), ibv_wc.sizeof()));
        }
    }

    /**
     * Completions that it holds: as granted, at least as many as asked for.
     *
     * @return more than 0
     */
    public int entries() {
        return entries;
    }

    /**
     * Takes completions. What a device wrote before a completion is visible afterwards. The queue's thread.
     *
     * @param limit at most; no more than {@link #BATCH} are taken
     * @return how many; {@link #completion} shows them until the next poll
     * @throws VerbsException when the queue is broken; then every queue pair on it is to be given up
     */
    public int poll(int limit) {
        requireOpen();
        int taken = dataPath.pollCq(cq, Math.min(limit, BATCH), wc.address());
        if (taken > 0) {
            VarHandle.acquireFence();
        } else if (taken < 0) {
            throw new VerbsException("ibv_poll_cq", toString(), -taken,
                    "the queue is broken: make a new one, and its queue pairs");
        }
        return taken;
    }

    /**
     * One of the completions of the last {@link #poll}. The queue's thread.
     *
     * @param index from 0, less than what the poll answered
     * @return valid until the next poll
     */
    public Completion completion(int index) {
        return completions[index];
    }

    /** Makes the next completion an event on the channel. The queue's thread. */
    public void requestNotification() {
        requireOpen();
        VerbsException.check(dataPath.requestNotify(cq, false), "ibv_req_notify_cq", this);
    }

    @Override
    String destroyCall() {
        return "ibv_destroy_cq";
    }

    @Override
    int destroy(long object) {
        return provider.destroyCq(object);
    }

    @Override
    void release() {
        arena.close();
    }
}
