package io.mooncake.core;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.Poller;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadFactory;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.AgentRunner;
import org.agrona.concurrent.CompositeAgent;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A node's agents, composed on no thread, one, or one each. The last one, the conductor, is closed last: what the pollers give up in
 * closing is its to end.
 */
final class AgentGroup implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(AgentGroup.class);
    private static final int CLOSE_RETRY_MS = 3_000;

    private final String node;
    private final List<Agent> agents = new ArrayList<>();
    private final List<AgentRunner> runners = new ArrayList<>();
    private final @Nullable Poller parkIn;
    private final boolean invoked;
    private @Nullable Thread owner;
    private boolean closed;

    /**
     * Composes the agents and starts their threads.
     *
     * @param config mode, idling and threads
     * @param pollers the engines' pollers; the first one parks where threads are shared
     * @param conductor the conductor
     * @param idles one a poller and the conductor's, the same object where a thread is shared
     */
    AgentGroup(NodeConfig config, List<Poller> pollers, Agent conductor, List<AgentIdle> idles) {
        node = config.name();
        invoked = config.agents().threading() == ThreadingMode.INVOKER;
        parkIn = pollers.getFirst();
        int threads = threads(config.agents().threading(), pollers.size());
        int cores = Runtime.getRuntime().availableProcessors();
        if (config.agents().idle() == IdleMode.SPIN && threads > cores - 1) {
            throw new MooncakeException(Kind.CONFIG_ERROR, "idle = 'spin' needs a core for each of " + threads
                    + " agent threads and one more; there are " + cores + ": use idle = park or fewer threads");
        }
        pollers.forEach(poller -> agents.add(new PollerAgent(poller)));
        agents.add(conductor);
        try {
            startAll(config, idles);
        } catch (RuntimeException | Error e) {
            close();
            throw e;
        }
    }

    private void startAll(NodeConfig config, List<AgentIdle> idles) {
        switch (config.agents().threading()) {
            case INVOKER -> owner = Thread.currentThread();
            case SHARED -> start(new CompositeAgent(agents), idles.getFirst(), config.environment().threads());
            case DEDICATED -> {
                for (int i = 0; i < agents.size(); i++) {
                    start(agents.get(i), idles.get(i), config.environment().threads());
                }
            }
        }
    }

    static int threads(ThreadingMode mode, int pollers) {
        return switch (mode) {
            case INVOKER -> 0;
            case SHARED -> 1;
            case DEDICATED -> pollers + 1;
        };
    }

    private void start(Agent agent, AgentIdle idle, ThreadFactory threads) {
        String name = "mooncake-" + node + "-" + (agent instanceof CompositeAgent ? "agents" : agent.roleName());
        // The runner names its thread after the agent's role.
        AgentRunner runner = new AgentRunner(idle, this::onError, null, new Enduring(agent, name));
        runners.add(runner);
        AgentRunner.startOnThread(runner, threads);
    }

    private void onError(Throwable error) {
        LOG.error("node {}: an agent failed in one duty cycle and goes on", node, error);
    }

    /** Refuses every thread but the owner, if that lives, where there are no threads of its own. */
    void checkMayRun() {
        Thread runs = owner;
        if (runs != null && Thread.currentThread() != runs && runs.isAlive()) {
            throw notYours();
        }
    }

    private MooncakeException notYours() {
        return new MooncakeException(Kind.ILLEGAL_STATE,
                "node " + node + (invoked
                        ? " is INVOKER and owned by thread "
                                + owner + ": only that one may run it, wait for it or close it"
                        : " has threads of its own: doWork is for INVOKER"));
    }

    /** INVOKER: one duty cycle of every agent, in the owning thread. */
    int doWork() {
        if (!invoked || Thread.currentThread() != owner) {
            throw notYours();
        }
        int work = 0;
        for (int i = 0; !closed && i < agents.size(); i++) {
            try {
                work += agents.get(i).doWork();
            } catch (Exception e) {
                onError(e);
            }
        }
        return work;
    }

    void park(long maxNs) {
        if (parkIn != null && !closed) {
            parkIn.park(maxNs);
        }
    }

    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        if (invoked) {
            agents.forEach(this::closeInvoked);
        } else {
            runners.forEach(runner -> runner.close(CLOSE_RETRY_MS,
                    thread -> LOG.warn("node {}: thread {} does not end", node, thread.getName())));
        }
    }

    /** One that fails keeps none of the others from closing. */
    private void closeInvoked(Agent agent) {
        try {
            agent.onClose();
        } catch (RuntimeException e) {
            LOG.error("node {}: agent {} failed in closing", node, agent.roleName(), e);
        }
    }

    /** An engine's poller as an agent. */
    private record PollerAgent(Poller poller) implements Agent {
        @Override
        public int doWork() {
            return poller.doWork();
        }

        @Override
        public void onClose() {
            poller.onClose();
        }

        @Override
        public String roleName() {
            return poller.roleName();
        }
    }

    /** An agent that outlives an Error too: its runner would end without closing it, and every transfer would hang. */
    private record Enduring(Agent agent, String roleName) implements Agent {
        @Override
        public int doWork() throws Exception {
            try {
                return agent.doWork();
            } catch (Error e) {
                throw new IllegalStateException("an error in agent " + roleName(), e);
            }
        }

        @Override
        public void onClose() {
            agent.onClose();
        }
    }
}
