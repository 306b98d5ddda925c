package io.mooncake.core;

import io.mooncake.core.SharedPulls.Going;
import io.mooncake.core.base.LinkedStack;
import io.mooncake.core.base.LinkedStack.Link;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;

/**
 * The parts that wait in the {@link Conductor}. Each is looked at when what it waits for has happened, so that those for which nothing has
 * happened cost nothing:
 *
 * <pre>
 *   waits for another's pull         when that is over
 *   has a deadline                   when that has passed
 *   its transfer is given up         when that happens
 *   waits for a slot, or for a       nobody says when: by turns, every cycle, until {@value #MOST_IN_VAIN} of them in a row
 *   block that is to come up         got nothing
 * </pre>
 *
 * <p>The conductor's alone, but for what is said to be for any thread. Allocates nothing but room for more than ever waited at a time.
 */
final class WaitingParts {
    /** Where so many in a row get nothing, the others would hardly get anything; they are the first ones of the next cycle. */
    static final int MOST_IN_VAIN = 64;

    /** Has a part try again: it ends, goes on, or comes back by {@link #add}. */
    @FunctionalInterface
    interface Retry {
        void retry(Part part, long nowNs);
    }

    private final Retry retry;
    private final LinkedStack<Part> givenUp = new LinkedStack<>();
    private final PartHeap deadlines = new PartHeap();
    private final PartRing polled = new PartRing();
    private final PartRing due = new PartRing();
    private final IdentityHashMap<Going, PartRing> byPull = new IdentityHashMap<>();
    /** The pulls that are waited for, in the order in which they were waited for first: the other's order is another one in each run. */
    private final List<Going> pulls = new ArrayList<>();
    private final ArrayDeque<PartRing> free = new ArrayDeque<>();
    private long added;
    private volatile boolean pullEnded;

    WaitingParts(Retry retry) {
        this.retry = retry;
    }

    /** Any thread: a pull that parts may wait for here is over. */
    void onPullEnded() {
        pullEnded = true;
    }

    /** Any thread: nobody wants a part any more that waits here, or did so a moment ago. */
    void giveUp(Part part) {
        if (part.givenUp.compareAndSet(false, true)) {
            givenUp.push(part.givenUpLink);
        }
    }

    /** From now on it waits, for what its fields say. */
    void add(Part part) {
        Going awaited = part.awaited;
        PartRing ring = awaited == null ? polled : ring(awaited);
        ring.add(part);
        deadlines.add(part);
        added++;
        part.waitsIn = this;
        // Whoever gives it up, or ends that pull, from now on tells; those before told nobody.
        if (part.pull.isGivenUp(part.read)) {
            giveUp(part);
        }
        if (awaited != null && awaited.isOver()) {
            pullEnded = true;
        }
    }

    private PartRing ring(Going pull) {
        PartRing ring = byPull.get(pull);
        if (ring == null) {
            ring = free.isEmpty() ? new PartRing() : free.pop();
            byPull.put(pull, ring);
            pulls.add(pull);
        }
        return ring;
    }

    /** Has those try again that may have something to do. */
    void look(long nowNs) {
        for (Link<Part> next = givenUp.takeAll(); next != null;) {
            Part part = next.owner();
            next = next.unlink();
            part.givenUp.set(false);
            if (part.waitsIn != null) {
                becomeDue(part);
            }
        }
        for (Part next; (next = deadlines.first()) != null && nowNs - next.read.deadlineNs() >= 0;) {
            becomeDue(next);
        }
        if (pullEnded) {
            pullEnded = false;
            takeOver();
        }
        retryDue(nowNs);
        retryPolled(nowNs);
    }

    /** Those whose pull is over. */
    private void takeOver() {
        int left = 0;
        for (int i = 0; i < pulls.size(); i++) {
            Going pull = pulls.get(i);
            if (pull.isOver()) {
                PartRing ring = byPull.remove(pull);
                for (Part part; ring != null && (part = ring.first()) != null;) {
                    becomeDue(part);
                }
                if (ring != null) {
                    free.push(ring);
                }
            } else {
                pulls.set(left++, pull);
            }
        }
        pulls.subList(left, pulls.size()).clear();
    }

    private void retryDue(long nowNs) {
        for (Part part; (part = due.first()) != null;) {
            take(part);
            retry.retry(part, nowNs);
        }
    }

    private void retryPolled(long nowNs) {
        int inVain = 0;
        Part part;
        for (int left = polled.size(); left > 0 && inVain < MOST_IN_VAIN && (part = polled.first()) != null; left--) {
            long before = added;
            take(part);
            retry.retry(part, nowNs);
            inVain = added == before ? 0 : inVain + 1;
        }
    }

    /** Has all of them try again, and that is the end of them: the node is closing. */
    void close(long nowNs) {
        for (Going pull : pulls) {
            PartRing ring = byPull.get(pull);
            for (Part part; ring != null && (part = ring.first()) != null;) {
                becomeDue(part);
            }
        }
        for (Part part; (part = polled.first()) != null;) {
            becomeDue(part);
        }
        retryDue(nowNs);
    }

    private void becomeDue(Part part) {
        deadlines.remove(part);
        PartRing.remove(part);
        due.add(part);
    }

    private void take(Part part) {
        part.waitsIn = null;
        PartRing.remove(part);
        deadlines.remove(part);
    }
}
