package io.mooncake.core;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Counters;
import io.mooncake.core.base.LinkedStack;
import io.mooncake.core.base.LinkedStack.Link;
import io.mooncake.core.transfer.Transfer;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs the user's code: never on an agent, but on the callback executor, called by this thread, which also runs what the executor
 * rejects. In INVOKER there is no thread: {@link #runDue()} is part of the node's duty cycle.
 *
 * <p>A transfer's callback cannot be refused: transfers are linked through themselves. Events and messages are bounded and dropped
 * beyond; their numbers show the gap. Of those that the close itself causes none is dropped: no later one would show it, and there are no
 * more than blocks.
 */
final class Callbacks implements AutoCloseable, Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(Callbacks.class);
    private static final int MAX_QUEUED = 65_536;
    private static final long PARK_NS = 100_000_000;
    private static final long JOIN_MS = 1_000;

    private final LinkedStack<Transfer> transfers = new LinkedStack<>();
    private final ConcurrentLinkedQueue<Runnable> queue = new ConcurrentLinkedQueue<>();
    private final AtomicInteger queued = new AtomicInteger();
    private final AtomicBoolean draining = new AtomicBoolean();
    private final Counters counters;
    private final @Nullable Executor executor;
    private final @Nullable Thread thread;
    private volatile boolean closing;
    private volatile boolean closed;

    Callbacks(String node, @Nullable Executor executor, @Nullable ThreadFactory threads, Counters counters) {
        this.executor = executor;
        this.counters = counters;
        thread = threads == null ? null : threads.newThread(this);
        if (thread != null) {
            thread.setName("mooncake-" + node + "-callbacks");
            thread.setDaemon(true);
            thread.start();
        }
    }

    /** A transfer is done; any thread. */
    void offer(Transfer transfer) {
        transfers.push(transfer.dispatchLink());
        wakeup();
    }

    /** An event or a message; any thread. False when too many are waiting, or after the close. */
    boolean offer(Runnable callback) {
        if (closed) {
            return false;
        }
        if (queued.incrementAndGet() > MAX_QUEUED && !closing) {
            queued.decrementAndGet();
            return false;
        }
        queue.add(callback);
        wakeup();
        return true;
    }

    private void wakeup() {
        if (closed) {
            // The thread may have looked for the last time; whoever offers now runs it, so that nothing is lost.
            runDue();
        } else if (thread != null) {
            LockSupport.unpark(thread);
        }
    }

    @Override
    public void run() {
        while (!closed) {
            if (runDue() == 0) {
                LockSupport.parkNanos(this, PARK_NS);
            }
        }
        runDue();
    }

    /** The node is closing and its agents have ended: what comes from now on is the last of it, and is not refused. */
    void beginClosing() {
        closing = true;
    }

    /** INVOKER: hands on what is due, in the owning thread; else that is the own thread's. */
    void runDueWhereInvoked() {
        if (thread == null) {
            runDue();
        }
    }

    /** Hands on what is due. */
    int runDue() {
        int ran = 0;
        for (Link<Transfer> due = transfers.takeAll(); due != null;) {
            Transfer transfer = due.owner();
            due = due.unlink();
            for (int left = transfer.takeCallbacksDue(); left > 0; left--, ran++) {
                hand(transfer::runCallback);
            }
        }
        if (!queue.isEmpty() && draining.compareAndSet(false, true)) {
            hand(this::drain);
            ran++;
        }
        return ran;
    }

    /** Events and messages: in order and one at a time, also where the executor has many threads. */
    private void drain() {
        for (Runnable callback; (callback = queue.poll()) != null;) {
            queued.decrementAndGet();
            runGuarded(callback);
        }
        draining.set(false);
        if (!queue.isEmpty()) {
            wakeup();
        }
    }

    private void hand(Runnable callback) {
        if (executor != null) {
            try {
                executor.execute(() -> runGuarded(callback));
                return;
            } catch (RejectedExecutionException e) {
                LOG.debug("the callback executor rejected a callback, which runs here instead", e);
            } catch (Throwable e) { // Whatever a user's executor throws must not end this thread or lose the callback.
                LOG.error("the callback executor threw; the callback runs here instead", e);
            }
        }
        runGuarded(callback);
    }

    private void runGuarded(Runnable callback) {
        try {
            callback.run();
        } catch (Throwable e) { // Whatever a user's code throws must not end this thread or be lost.
            counters.increment(Counter.CALLBACKS_FAILED);
            LOG.error("a callback threw; the next ones run all the same", e);
        }
    }

    @Override
    public void close() {
        closed = true;
        if (thread == null) {
            runDue();
        } else if (thread != Thread.currentThread()) {
            LockSupport.unpark(thread);
            try {
                thread.join(JOIN_MS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
