package io.mooncake.rdma;

import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.AgentRunner;
import org.agrona.concurrent.IdleStrategy;
import org.jctools.queues.varhandle.MpscVarHandleArrayQueue;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The agent of the calls that take long: registering memory, making, connecting and destroying queue pairs. It takes commands of any
 * thread, and looks after the cards in between. On a thread of its own, or run by the poller.
 */
final class Registrar implements Agent {
    private static final Logger LOG = LoggerFactory.getLogger(Registrar.class);
    private static final int MAX_COMMANDS = 16_384;
    private static final int COMMANDS_PER_CYCLE = 64;
    private static final long LOOK_NS = 10_000_000;
    private static final int CLOSE_WAIT_MS = 3_000;

    private final String name;
    private final LongSupplier nanoClock;
    private final Runnable look;
    private final Runnable onCommand;
    private final MpscVarHandleArrayQueue<Runnable> commands = new MpscVarHandleArrayQueue<>(MAX_COMMANDS);
    private final Sleep sleep = new Sleep();
    private final @Nullable AgentRunner runner;
    private long nextLookNs;
    private volatile boolean closed;

    /**
     * A registrar that does not run yet.
     *
     * @param name for its thread
     * @param nanoClock the node's clock
     * @param look what is to be looked after from time to time
     * @param onCommand told of commands where it is run by the poller; null: it has a thread of its own
     */
    Registrar(String name, LongSupplier nanoClock, Runnable look, @Nullable Runnable onCommand) {
        this.name = name;
        this.nanoClock = nanoClock;
        this.look = look;
        this.onCommand = onCommand == null ? sleep::wakeup : onCommand;
        nextLookNs = nanoClock.getAsLong();
        runner = onCommand == null
                ? new AgentRunner(sleep, e -> LOG.error("{} goes on after an error", name, e), null, this)
                : null;
    }

    void start() {
        if (runner != null) {
            AgentRunner.startOnThread(runner, Thread.ofPlatform().daemon().factory());
        }
    }

    /**
     * Hands a command over. Any thread.
     *
     * @return false when there are too many, or it is closed; then the command is not run
     */
    boolean offer(Runnable command) {
        if (closed || !commands.offer(command)) {
            return false;
        }
        onCommand.run();
        return true;
    }

    @Override
    public int doWork() {
        int done = 0;
        for (Runnable command; done < COMMANDS_PER_CYCLE && (command = commands.poll()) != null; done++) {
            run(command);
        }
        long nowNs = nanoClock.getAsLong();
        if (nowNs - nextLookNs >= 0) {
            nextLookNs = nowNs + LOOK_NS;
            run(look);
        }
        return done;
    }

    /** Commands are of different lanes, regions and peers: one that fails takes none of the others along. */
    private void run(Runnable command) {
        try {
            command.run();
        } catch (RuntimeException e) {
            LOG.error("{} goes on after an error", name, e);
        }
    }

    @Override
    public String roleName() {
        return name;
    }

    /** Takes no more commands, and has run its last when this returns: those left are run here. */
    void close() {
        closed = true;
        if (runner != null) {
            sleep.wakeup();
            runner.close(CLOSE_WAIT_MS, thread -> LOG.warn("{} does not end", thread.getName()));
        }
        commands.drain(this::run);
    }

    /** Parks at once: what this agent does is never urgent by microseconds. */
    private static final class Sleep implements IdleStrategy {
        private volatile @Nullable Thread parked;
        private volatile boolean signalled;

        @Override
        public void idle(int workCount) {
            if (workCount == 0) {
                idle();
            }
        }

        @Override
        public void idle() {
            parked = Thread.currentThread();
            if (!signalled) {
                LockSupport.parkNanos(this, LOOK_NS);
            }
            parked = null;
            signalled = false;
        }

        @Override
        public void reset() {
            // Has no phases.
        }

        void wakeup() {
            signalled = true;
            Thread thread = parked;
            if (thread != null) {
                LockSupport.unpark(thread);
            }
        }
    }
}
