package io.mooncake.core;

import io.mooncake.core.base.Backoff;
import io.mooncake.core.transfer.Poller;
import java.util.concurrent.locks.LockSupport;
import org.agrona.concurrent.IdleStrategy;
import org.jspecify.annotations.Nullable;

/**
 * How an agent's thread idles: spins, yields, then parks, in its poller's own way where it has one (a selector), so that both a
 * command and a socket wake it. {@link #wakeup()} costs one volatile read while nothing is parked.
 */
final class AgentIdle implements IdleStrategy {
    /** Bounds how late a deadline is noticed. */
    private static final long PARK_NS = 1_000_000;
    /** The same where nothing has happened for a second: to look a thousand times a second costs some percent of a processor. */
    private static final long LONG_PARK_NS = 4_000_000;
    private static final int PARKS_UNTIL_LONG = 1_000;

    private final IdleMode mode;
    private final @Nullable Poller parkIn;
    private volatile @Nullable Thread parked;
    private volatile boolean signalled;
    private int idle;
    private int parks;

    AgentIdle(IdleMode mode, @Nullable Poller parkIn) {
        this.mode = mode;
        this.parkIn = parkIn;
    }

    @Override
    public void idle(int workCount) {
        if (workCount > 0) {
            reset();
        } else {
            idle();
        }
    }

    @Override
    public void idle() {
        if (mode == IdleMode.SPIN) {
            Thread.onSpinWait();
        } else if (Backoff.pause(idle)) {
            idle++;
        } else {
            long ns = parks < PARKS_UNTIL_LONG ? PARK_NS : LONG_PARK_NS;
            parks = Math.min(parks + 1, PARKS_UNTIL_LONG);
            if (parkIn != null) {
                parkIn.park(ns);
            } else {
                park(ns);
            }
        }
    }

    private void park(long ns) {
        parked = Thread.currentThread();
        if (!signalled) {
            LockSupport.parkNanos(this, ns);
        }
        parked = null;
        if (signalled) {
            signalled = false;
            reset();
        }
    }

    /** Any thread: there is work. */
    void wakeup() {
        if (parkIn != null) {
            parkIn.wakeup();
            return;
        }
        if (!signalled) {
            signalled = true;
        }
        Thread thread = parked;
        if (thread != null) {
            LockSupport.unpark(thread);
        }
    }

    @Override
    public void reset() {
        idle = 0;
        parks = 0;
    }

    @Override
    public String alias() {
        return mode == IdleMode.SPIN ? "spin" : "spin-yield-park";
    }
}
