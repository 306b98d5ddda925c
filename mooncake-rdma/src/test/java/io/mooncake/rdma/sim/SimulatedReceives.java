package io.mooncake.rdma.sim;

import io.mooncake.rdma.verbs.Access;
import io.mooncake.rdma.verbs.ffi.Verbs;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;

/** The receive queue of a queue pair: each message takes the RECV that was posted first. */
final class SimulatedReceives {
    /** How a message was taken. */
    enum Taken {
        YES, NO_RECV, TOO_LONG
    }

    private static final int SUCCESS = 0;
    private static final int LOCAL_LENGTH = 1;
    private static final int FLUSHED = 5;
    private static final long WR_ID = 0;
    private static final long WR_SG_LIST = 16;
    private static final long SGE_LENGTH = 8;
    private static final long SGE_LOCAL_KEY = 12;

    private record Receive(long id, long address, int length, int key) {}

    private final SimulatedDomain domain;
    private final SimulatedCompletionQueue completions;
    private final int queuePair;
    private final int capacity;
    private final ArrayDeque<Receive> posted = new ArrayDeque<>();

    SimulatedReceives(SimulatedDomain domain, SimulatedCompletionQueue completions, int queuePair, int capacity) {
        this.domain = domain;
        this.completions = completions;
        this.queuePair = queuePair;
        this.capacity = capacity;
    }

    boolean isFull() {
        return posted.size() == capacity;
    }

    void post(MemorySegment wr) {
        MemorySegment sge = SimulatedMemory.ALL.asSlice(wr.get(ValueLayout.JAVA_LONG, WR_SG_LIST), 16);
        posted.add(new Receive(wr.get(ValueLayout.JAVA_LONG, WR_ID), sge.get(ValueLayout.JAVA_LONG, 0),
                sge.get(ValueLayout.JAVA_INT, SGE_LENGTH), sge.get(ValueLayout.JAVA_INT, SGE_LOCAL_KEY)));
    }

    Taken take(byte[] message) {
        Receive receive = posted.poll();
        if (receive == null) {
            return Taken.NO_RECV;
        }
        if (message.length > receive.length
                || domain.local(receive.key, receive.address, receive.length, Access.LOCAL_WRITE) == null) {
            complete(receive, LOCAL_LENGTH, 0);
            return Taken.TOO_LONG;
        }
        MemorySegment.copy(message, 0, SimulatedMemory.ALL, ValueLayout.JAVA_BYTE, receive.address, message.length);
        complete(receive, SUCCESS, message.length);
        return Taken.YES;
    }

    void flush() {
        for (Receive receive; (receive = posted.poll()) != null;) {
            complete(receive, FLUSHED, 0);
        }
    }

    private void complete(Receive receive, int status, int bytes) {
        completions.add(receive.id, Verbs.IBV_WC_RECV(), status, bytes, queuePair);
    }
}
