package io.mooncake.rdma.sim;

import io.mooncake.rdma.verbs.ffi.Verbs;
import io.mooncake.rdma.verbs.ffi.ibv_wc;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/** A completion queue. One that overflows loses completions and is said to be broken, as verbs do. */
final class SimulatedCompletionQueue {
    private record Entry(long id, int opcode, int status, int bytes, int queuePair) {}

    final SimulatedContext context;
    final @Nullable SimulatedChannel channel;
    final long handle;
    private final int capacity;
    private final ArrayDeque<Entry> entries = new ArrayDeque<>();
    private boolean armed;
    private int highest;
    int users;

    SimulatedCompletionQueue(SimulatedContext context, @Nullable SimulatedChannel channel, long handle, int capacity) {
        this.context = context;
        this.channel = channel;
        this.handle = handle;
        this.capacity = capacity;
    }

    int capacity() {
        return capacity;
    }

    /** Most completions that stood in it at once. */
    int highest() {
        return highest;
    }

    void add(long id, int opcode, int status, int bytes, int queuePair) {
        if (context.isDead()) {
            return;
        }
        if (entries.size() == capacity) {
            context.event(Verbs.IBV_EVENT_CQ_ERR(), handle);
            return;
        }
        entries.add(new Entry(id, opcode, status, bytes, queuePair));
        highest = Math.max(highest, entries.size());
        if (armed && channel != null) {
            armed = false;
            channel.events.add(this);
            context.device.host().signalled();
        }
    }

    void arm() {
        armed = true;
    }

    /** A destroyed queue pair's completions: some drivers take them out of the queue. */
    void forget(int queuePair) {
        entries.removeIf(entry -> entry.queuePair == queuePair);
    }

    int poll(int most, long to) {
        int polled = 0;
        for (Entry entry; polled < most && (entry = entries.poll()) != null; polled++) {
            MemorySegment wc = SimulatedMemory.ALL.asSlice(to + polled * ibv_wc.sizeof(), ibv_wc.sizeof());
            // Of a failed request only these four are valid: the rest is noise.
            wc.fill((byte) 0x5A);
            ibv_wc.wr_id(wc, entry.id);
            ibv_wc.status(wc, entry.status);
            ibv_wc.vendor_err(wc, entry.status == 0 ? 0 : 0x80 + entry.status);
            ibv_wc.qp_num(wc, entry.queuePair);
            if (entry.status == 0) {
                ibv_wc.opcode(wc, entry.opcode);
                ibv_wc.byte_len(wc, entry.bytes);
                ibv_wc.wc_flags(wc, 0);
            }
        }
        return polled;
    }
}
