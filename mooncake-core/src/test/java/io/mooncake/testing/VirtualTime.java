package io.mooncake.testing;

import java.util.PriorityQueue;

/** A clock that stands still until the next event is run. One thread; events of one moment run in the order in which they were planned. */
public final class VirtualTime {
    private record Event(long atNs, long number, Runnable action) implements Comparable<Event> {
        @Override
        public int compareTo(Event other) {
            int byTime = Long.compare(atNs, other.atNs);
            return byTime != 0 ? byTime : Long.compare(number, other.number);
        }
    }

    private final PriorityQueue<Event> events = new PriorityQueue<>();
    private long nowNs = 1;
    private long planned;

    /** What every node's clock shows. */
    public long nowNs() {
        return nowNs;
    }

    /** Plans an event. */
    public void after(long delayNs, Runnable action) {
        events.add(new Event(nowNs + delayNs, planned++, action));
    }

    /** When the next event is due; Long.MAX_VALUE without one. */
    public long nextNs() {
        Event next = events.peek();
        return next == null ? Long.MAX_VALUE : next.atNs;
    }

    /** Runs the next event at its time; false when there is none. */
    public boolean step() {
        Event next = events.poll();
        if (next == null) {
            return false;
        }
        nowNs = next.atNs;
        next.action.run();
        return true;
    }

    /** Runs everything that is due up to a moment, which then is now. */
    public void runTo(long atNs) {
        while (nextNs() <= atNs) {
            step();
        }
        nowNs = Math.max(nowNs, atNs);
    }
}
