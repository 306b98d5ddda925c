package io.mooncake.rdma.sim;

import java.util.ArrayDeque;

/** A completion channel. */
final class SimulatedChannel {
    final SimulatedContext context;
    final ArrayDeque<SimulatedCompletionQueue> events = new ArrayDeque<>();
    final int descriptor;
    int users;

    SimulatedChannel(SimulatedContext context, int descriptor) {
        this.context = context;
        this.descriptor = descriptor;
    }
}
