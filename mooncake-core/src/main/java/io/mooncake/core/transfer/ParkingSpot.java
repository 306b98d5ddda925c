package io.mooncake.core.transfer;

import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Where the thread of a poller parks that has nothing else to park in, as a selector. {@link #wakeup} is for any thread and is never missed:
 * whoever parks is seen before it looks for work a last time.
 */
public final class ParkingSpot {
    private final BooleanSupplier nothing;
    private final Runnable wakeup;
    private volatile @Nullable Thread parked;

    /**
     * Nobody is parked.
     *
     * @param nothing whether the poller has nothing to do; asked by its own thread
     * @param elsewhere wakes the poller's thread where that does not park here; else null
     */
    public ParkingSpot(BooleanSupplier nothing, @Nullable Runnable elsewhere) {
        this.nothing = nothing;
        wakeup = elsewhere == null ? this::unpark : elsewhere;
    }

    /**
     * Parks the poller's thread unless there is something to do.
     *
     * @param maxNs how long, if it is not woken
     */
    public void park(long maxNs) {
        parked = Thread.currentThread();
        if (nothing.getAsBoolean()) {
            LockSupport.parkNanos(this, maxNs);
        }
        parked = null;
    }

    /** There is work, which the poller finds when it looks. */
    public void wakeup() {
        wakeup.run();
    }

    private void unpark() {
        Thread thread = parked;
        if (thread != null) {
            LockSupport.unpark(thread);
        }
    }
}
