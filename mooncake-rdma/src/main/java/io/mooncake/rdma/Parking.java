package io.mooncake.rdma;

import io.mooncake.rdma.verbs.CompletionChannel;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * How the poller waits: for a completion's event or for a command, whichever comes first. {@link #wakeup} is for any thread and costs one
 * volatile read while nobody is parked.
 */
final class Parking {
    /** For waits that nothing may end in time. */
    static final long SHORT_NS = 1_000_000;
    private static final long MILLI_NS = 1_000_000;

    private final BooleanSupplier isIdle;
    private final @Nullable Runnable elsewhere;
    private volatile boolean signalled;
    private volatile boolean parked;
    private volatile boolean closed;
    private @Nullable CompletionChannel channel;
    private @Nullable Thread thread;

    /**
     * For one poller.
     *
     * @param isIdle asks for an event of the next completion, then says whether none is there yet
     * @param elsewhere wakes the poller's thread where that does not park here; else null
     */
    Parking(BooleanSupplier isIdle, @Nullable Runnable elsewhere) {
        this.isIdle = isIdle;
        this.elsewhere = elsewhere;
    }

    void park(@Nullable CompletionChannel events, long maxNs) {
        synchronized (this) {
            channel = events;
            thread = Thread.currentThread();
        }
        parked = true;
        if (!signalled && !closed && isIdle.getAsBoolean()) {
            if (events != null) {
                events.await((int) Math.min(Integer.MAX_VALUE, Math.max(1, maxNs / MILLI_NS)));
            } else {
                LockSupport.parkNanos(this, Math.min(maxNs, SHORT_NS));
            }
        }
        parked = false;
        signalled = false;
    }

    void wakeup() {
        if (elsewhere != null) {
            elsewhere.run();
            return;
        }
        if (!signalled) {
            signalled = true;
        }
        if (parked) {
            signal();
        }
    }

    private synchronized void signal() {
        CompletionChannel events = channel;
        if (closed || !parked) {
            return;
        }
        if (events != null) {
            events.wakeup();
        } else {
            LockSupport.unpark(thread);
        }
    }

    /** Nobody parks or is woken any more: the channel may be closed. */
    synchronized void close() {
        closed = true;
    }
}
