package io.mooncake.rdma.sim;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/** An opened device. */
final class SimulatedContext {
    /** What happened, to a queue, or to a port by its number. */
    record Event(int type, long element) {}

    final SimulatedDevice device;
    final ArrayDeque<Event> events = new ArrayDeque<>();
    final List<SimulatedDomain> domains = new ArrayList<>();
    final List<SimulatedCompletionQueue> queues = new ArrayList<>();
    final int descriptor;
    private boolean dead;

    SimulatedContext(SimulatedDevice device, int descriptor) {
        this.device = device;
        this.descriptor = descriptor;
    }

    int registered() {
        return domains.stream().mapToInt(SimulatedDomain::registered).sum();
    }

    int highestOccupancyPercent() {
        return queues.stream().mapToInt(queue -> queue.highest() * 100 / queue.capacity()).max().orElse(0);
    }

    void event(int type, long element) {
        events.add(new Event(type, element));
        device.host().signalled();
    }

    /** The card was reset under it. */
    void die() {
        dead = true;
    }

    boolean isDead() {
        return dead;
    }
}
