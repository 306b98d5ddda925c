package io.mooncake.core.transfer;

import io.mooncake.core.base.NodeId;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jctools.queues.varhandle.MpscVarHandleArrayQueue;
import org.jspecify.annotations.Nullable;

/**
 * For engines: what other threads hand to the poller. Commands, each on a ticket that is given back when it has ended, and a bell that says
 * that a read was given up, and peers that died.
 *
 * <pre>
 *   tickets   | closed:1 | taken:63 |     taken >= what is in the queue + what the poller has; closed: no more are given out
 * </pre>
 *
 * <p>So the queue cannot be full for whoever has a ticket, and when the poller closes, every accepted command is in its hands as soon as
 * no ticket is taken: a submit racing with the close is either refused or seen. Nothing but {@link #offer}, {@link #ring} and {@link #died} is for any
 * thread; the rest is the poller's. Allocates nothing.
 *
 * @param <C> a read, or whatever else the engine is told
 */
public final class Inbox<C> {
    private final MpscVarHandleArrayQueue<C> queue;
    private final Tickets tickets;
    private final AtomicBoolean rung = new AtomicBoolean();
    private final ConcurrentLinkedQueue<Death> deaths = new ConcurrentLinkedQueue<>();
    private final int capacity;
    /** Deaths that were said when the poller began to take; the poller's. */
    private int deathsDue;

    /**
     * A life of a peer is over.
     *
     * @param life which
     * @param reason in words
     */
    public record Death(NodeId life, String reason) {}

    /**
     * An empty one.
     *
     * @param capacity commands that may be accepted and not ended
     */
    public Inbox(int capacity) {
        this.capacity = capacity;
        tickets = new Tickets(capacity);
        queue = new MpscVarHandleArrayQueue<>(Math.max(2, capacity));
    }

    /**
     * Hands a command over. Any thread.
     *
     * @param command the poller's from now on
     * @return false when there are too many, or the inbox is closed
     */
    public boolean offer(C command) {
        if (!tickets.take()) {
            return false;
        }
        if (!queue.offer(command)) {
            throw new IllegalStateException("a queue with room for every ticket was full");
        }
        return true;
    }

    /** Says that a read was given up. Any thread. */
    public void ring() {
        rung.set(true);
    }

    /**
     * Whether the bell rang since this was asked last.
     *
     * @return true to look for reads that were given up
     */
    public boolean takeRing() {
        return rung.get() && rung.getAndSet(false);
    }

    /**
     * Says that a life of a peer is over. Any thread; seldom, hence never refused.
     *
     * @param life which
     * @param reason in words
     */
    public void died(NodeId life, String reason) {
        deaths.add(new Death(life, reason));
    }

    /**
     * How many commands are to be taken before the next {@link #pollDeath}: what was accepted before a death was said ends with it, so all that
     * stand here then are taken first.
     *
     * @param perCycle at most while nobody has died
     * @return at most so many, fewer when there are none left
     */
    public int commandsDue(int perCycle) {
        deathsDue = deaths.size();
        return deathsDue == 0 ? perCycle : capacity;
    }

    /**
     * Takes the next death that was said before {@link #commandsDue} was asked last.
     *
     * @return null when there is none
     */
    public @Nullable Death pollDeath() {
        if (deathsDue == 0) {
            return null;
        }
        deathsDue--;
        return deaths.poll();
    }

    /**
     * Takes the next command.
     *
     * @return null when there is none
     */
    public @Nullable C poll() {
        return queue.poll();
    }

    /**
     * Whether the poller may park.
     *
     * @return true when there is no command, nobody died and the bell did not ring
     */
    public boolean isEmpty() {
        return queue.isEmpty() && !rung.get() && deaths.isEmpty();
    }

    /** Gives the ticket of a command back that has ended. */
    public void ended() {
        tickets.giveBack();
    }

    /**
     * Whether every command that was accepted has ended.
     *
     * @return true when no ticket is taken
     */
    public boolean isIdle() {
        return tickets.taken() == 0;
    }

    /** From now on nothing is accepted. */
    public void close() {
        tickets.close();
    }

    /**
     * After {@link #close}: takes whatever was accepted, also what a racing thread is about to hand over, until every command has ended.
     *
     * @param end ends one and gives its ticket back; the poller has ended what it had before
     */
    public void drain(Consumer<? super C> end) {
        tickets.drain(() -> {
            C command = queue.poll();
            if (command != null) {
                end.accept(command);
            }
            return command != null;
        });
    }
}
