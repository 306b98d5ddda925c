package io.mooncake.core;

import io.mooncake.core.base.LinkedStack;
import io.mooncake.core.base.LinkedStack.Link;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.Hold;
import io.mooncake.core.manager.BlockManager;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongToIntFunction;
import org.agrona.concurrent.Agent;

/**
 * The node's agent for everything that is not moving bytes: it acts on the slots that were marked, evicts, ends holds by their time,
 * commits pulled replicas, starts further attempts, and says what reads from other nodes take and what room is here.
 *
 * <pre>
 *   any thread ─▶ slot marks (manager) ─┐
 *   engines    ─▶ parts ended           ├─▶ doWork ─▶ announcements, evictions, next attempts
 *   pulls      ─▶ parts that wait ──────┘   for a slot, or for another's pull of the same block
 * </pre>
 *
 * <p>What comes in cannot be refused, hence is linked through itself: one link a slot, one a part.
 */
final class Conductor implements Agent {
    private final Life life;
    private final BlockManager blocks;
    private final PeerCosts costs;
    private final ConsumerHolds holds;
    private final SpaceReport space;
    private final Runnable wakeup;
    private final LinkedStack<Part> taken = new LinkedStack<>();
    private final WaitingParts waiting = new WaitingParts((part, nowNs) -> part.pull.retry(part, nowNs));
    private final AtomicLong asked = new AtomicLong();
    private volatile long answered;
    private volatile LongToIntFunction others = nowNs -> 0;
    private volatile boolean closed;

    Conductor(Life life, Sources sources, Runnable wakeup) {
        this.life = life;
        blocks = sources.blocks();
        costs = sources.costs();
        holds = new ConsumerHolds(sources.registry(), life.nowNs());
        space = new SpaceReport(sources.costs().self(), blocks, sources.registry());
        this.wakeup = wakeup;
    }

    /** A part comes to the conductor; any thread. */
    void take(Part part) {
        taken.push(part.link);
        if (closed) {
            // The agent may have looked for the last time; the node is closing, so ending the part is all there is to do.
            takeIn();
        } else {
            wakeup();
        }
    }

    /** Any thread: a part that waits here may have an end. */
    void wakeup() {
        wakeup.run();
    }

    /** Any thread: a hold ends when a node has what is held for it, or is dead. */
    void holdFor(NodeId consumer, Hold hold) {
        holds.add(hold, consumer);
    }

    /** What else is to be looked at in each duty cycle, at a time; says how much was done. Before the node is handed out. */
    void alsoLook(LongToIntFunction more) {
        LongToIntFunction before = others;
        others = nowNs -> before.applyAsInt(nowNs) + more.applyAsInt(nowNs);
    }

    /** A part that the conductor is retrying has to wait again: no work, no wake-up, else waiting would be spinning. */
    void takeBack(Part part) {
        waiting.add(part);
    }

    /** Any thread: a pull is over that parts wait for here. */
    void pullEnded() {
        waiting.onPullEnded();
        wakeup.run();
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
        // First, since what it ends marks slots.
        long nowNs = life.nowNs();
        int work = takeIn() + blocks.doWork(nowNs) + holds.look(nowNs) + costs.announce(nowNs)
                + space.announce(nowNs) + others.applyAsInt(nowNs);
        waiting.look(nowNs);
        if (answered != tickets && blocks.isCaughtUp()) {
            answered = tickets;
            work++;
        }
        return work;
    }

    private int takeIn() {
        int work = 0;
        for (Link<Part> due = taken.takeAll(); due != null; work++) {
            Part part = due.owner();
            due = due.unlink();
            if (!part.waits) {
                part.pull.afterRead(part);
            } else if (closed) {
                part.pull.retry(part, life.nowNs());
            } else {
                waiting.add(part);
            }
        }
        return work;
    }

    /** The pollers are closed before: what they gave up is here now. */
    @Override
    public void onClose() {
        closed = true;
        takeIn();
        waiting.close(life.nowNs());
        int _ = others.applyAsInt(life.nowNs());
    }

    @Override
    public String roleName() {
        return "conductor";
    }
}
