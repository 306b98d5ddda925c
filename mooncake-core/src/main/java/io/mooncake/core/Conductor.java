package io.mooncake.core;

import io.mooncake.core.manager.BlockManager;
import java.util.ArrayDeque;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.agrona.concurrent.Agent;
import org.jspecify.annotations.Nullable;

/**
 * The node's agent for everything that is not moving bytes: it acts on the slots that were marked, evicts, ends holds by their time,
 * commits pulled replicas and starts further attempts.
 *
 * <pre>
 *   any thread ─▶ slot marks (manager) ─┐
 *   engines    ─▶ parts ended           ├─▶ doWork ─▶ announcements, evictions, next attempts
 *   pulls      ─▶ parts without a slot ─┘
 * </pre>
 *
 * <p>What comes in cannot be refused, hence is linked through itself: one link a slot, one a part.
 */
final class Conductor implements Agent {
    private final Life life;
    private final BlockManager blocks;
    private final Runnable wakeup;
    private final AtomicReference<@Nullable Part> taken = new AtomicReference<>();
    private final ArrayDeque<Part> awaitingSlot = new ArrayDeque<>();
    private final AtomicLong asked = new AtomicLong();
    private volatile long answered;
    private volatile boolean closed;

    Conductor(Life life, BlockManager blocks, Runnable wakeup) {
        this.life = life;
        this.blocks = blocks;
        this.wakeup = wakeup;
    }

    /** A part comes to the conductor; any thread. */
    void take(Part part) {
        for (;;) {
            Part head = taken.get();
            part.next = head;
            if (taken.compareAndSet(head, part)) {
                break;
            }
        }
        if (closed) {
            // The agent may have looked for the last time; the node is closing, so ending the part is all there is to do.
            takeIn();
        } else {
            wakeup.run();
        }
    }

    /** A part that the conductor is retrying found no slot again: no work, no wake-up, else waiting would be spinning. */
    void takeBack(Part part) {
        awaitingSlot.add(part);
    }

    /** A number that {@link #hasAnswered} once everything marked before the call is announced. */
    long ask() {
        long ticket = asked.incrementAndGet();
        wakeup.run();
        return ticket;
    }

    boolean hasAnswered(long ticket) {
        return answered >= ticket;
    }

    @Override
    public int doWork() {
        long tickets = asked.get();
        int work = blocks.doWork(life.nowNs()) + takeIn();
        retryForSlots();
        if (answered != tickets && blocks.isCaughtUp()) {
            answered = tickets;
            work++;
        }
        return work;
    }

    private int takeIn() {
        int work = 0;
        Part due = oldestFirst(taken.getAndSet(null));
        while (due != null) {
            Part part = due;
            due = part.next;
            part.next = null;
            work++;
            if (!part.awaitsSlot) {
                part.pull.afterRead(part);
            } else if (closed) {
                part.pull.retryForSlot(part);
            } else {
                awaitingSlot.add(part);
            }
        }
        return work;
    }

    private void retryForSlots() {
        for (int waiting = awaitingSlot.size(); waiting > 0; waiting--) {
            Part part = awaitingSlot.remove();
            part.pull.retryForSlot(part);
        }
    }

    private static @Nullable Part oldestFirst(@Nullable Part newest) {
        Part oldest = null;
        while (newest != null) {
            Part next = newest.next;
            newest.next = oldest;
            oldest = newest;
            newest = next;
        }
        return oldest;
    }

    /** The pollers are closed before: what they gave up is here now. */
    @Override
    public void onClose() {
        closed = true;
        takeIn();
        retryForSlots();
    }

    @Override
    public String roleName() {
        return "conductor";
    }
}
