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

    private final IdleMode mode;
    private final @Nullable Poller parkIn;
    private volatile @Nullable Thread parked;
    private volatile boolean signalled;
    private int idle;

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
        } else if (parkIn != null) {
            parkIn.park(PARK_NS);
        } else {
            park();
        }
    }

    private void park() {
        parked = Thread.currentThread();
        if (!signalled) {
            LockSupport.parkNanos(this, PARK_NS);
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
    }

    @Override
    public String alias() {
        return mode == IdleMode.SPIN ? "spin" : "spin-yield-park";
    }
}
