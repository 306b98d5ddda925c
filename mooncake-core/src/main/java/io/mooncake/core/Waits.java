package io.mooncake.core;

import io.mooncake.core.base.Waiter;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** How a thread of the caller's waits for agents: spins, yields, parks; or runs the agents itself (INVOKER). */
final class Waits implements Waiter {
    /** As agents do: see {@link AgentIdle}. */
    private static final int SPINS = 10;
    private static final int YIELDS = 500;
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
        for (int idle = 0; !done.getAsBoolean(); idle++) {
            if (nanoClock.getAsLong() - deadlineNs >= 0 || self.isInterrupted()) {
                return done.getAsBoolean();
            }
            if (agents != null && agents.doWork() + runDue() > 0) {
                idle = 0;
            } else if (idle < SPINS && !self.isVirtual()) {
                Thread.onSpinWait();
            } else if (idle < SPINS + YIELDS && !self.isVirtual()) {
                Thread.yield();
            } else if (agents != null) {
                agents.park(PARK_NS);
            } else {
                LockSupport.parkNanos(this, PARK_NS);
            }
        }
        return true;
    }

    private int runDue() {
        Callbacks due = callbacks;
        return due == null ? 0 : due.runDue();
    }
}
