package io.mooncake.core;

import io.mooncake.core.base.Backoff;
import io.mooncake.core.base.Waiter;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** How a thread of the caller's waits for agents: spins, yields, parks; or runs the agents itself (INVOKER). */
final class Waits implements Waiter {
    private static final long PARK_NS = 50_000;

    private final LongSupplier nanoClock;
    private volatile @Nullable AgentGroup invoked;
    private volatile @Nullable Callbacks callbacks;

    Waits(LongSupplier nanoClock) {
        this.nanoClock = nanoClock;
    }

    /** From now on waiting runs these agents, and the callbacks that are due. */
    void runWhileWaiting(AgentGroup agents, Callbacks due) {
        callbacks = due;
        invoked = agents;
    }

    boolean runsAgents() {
        return invoked != null;
    }

    @Override
    public boolean await(BooleanSupplier done, long deadlineNs) {
        AgentGroup agents = invoked;
        Thread self = Thread.currentThread();
        for (int round = 0; !done.getAsBoolean(); round++) {
            if (nanoClock.getAsLong() - deadlineNs >= 0 || self.isInterrupted()) {
                return done.getAsBoolean();
            }
            if (agents != null && agents.doWork() + runDue() > 0) {
                round = 0;
            } else if (!Backoff.pause(round)) {
                park(agents);
            }
        }
        return true;
    }

    private void park(@Nullable AgentGroup agents) {
        if (agents != null) {
            agents.park(PARK_NS);
        } else {
            LockSupport.parkNanos(this, PARK_NS);
        }
    }

    private int runDue() {
        Callbacks due = callbacks;
        return due == null ? 0 : due.runDue();
    }
}
