package io.mooncake.core.manager;

import io.mooncake.core.pool.StreamOrder.Work;
import java.util.ArrayDeque;
import java.util.concurrent.ConcurrentLinkedQueue;

/** What is to happen when devices have done what they were given. Any thread adds, one at a time looks. */
final class StreamEnds {
    private record Pending(Work work, Runnable then) {}

    private final ConcurrentLinkedQueue<Pending> added = new ConcurrentLinkedQueue<>();
    private final ArrayDeque<Pending> waiting = new ArrayDeque<>();

    void add(Work work, Runnable then) {
        added.add(new Pending(work, then));
    }

    int doWork() {
        for (Pending next; (next = added.poll()) != null;) {
            waiting.add(next);
        }
        int ended = 0;
        for (int left = waiting.size(); left > 0; left--) {
            Pending next = waiting.remove();
            if (next.work.hasEnded()) {
                next.then.run();
                ended++;
            } else {
                waiting.add(next);
            }
        }
        return ended;
    }
}
