package io.mooncake.core;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.schedule.PlacementPlan;
import io.mooncake.core.schedule.PlacementPlan.Action;
import io.mooncake.core.schedule.PlanRequest;
import io.mooncake.core.transfer.Topic;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The plans that this node runs, and its share in those of all nodes.
 *
 * <pre>
 *   who plans                                  each node of the plan
 *     │ STEP, topic PLANS                         │
 *     │ ─────────────────────────────────────────►│ holds, reserves, pulls, has it computed, seals
 *     │ ◄──────────────────────────────────── DONE│ or why not
 *     │ RELEASE, whatever became of it            │
 *     │ ─────────────────────────────────────────►│ gives back; by itself when its time is over, or the other is gone
 * </pre>
 *
 * <p>All of it is the conductor's; what comes from other threads, messages too, comes through a queue. A step that is asked for twice is done once.
 */
final class Plans {
    private static final Logger LOG = LoggerFactory.getLogger(Plans.class);
    private static final int MAX_RUNS = 65_536;
    private static final int MAX_SHARES = 65_536;
    private static final int MAX_MESSAGES = 65_536;
    /** From one look at what only time, or somebody who says nothing, changes to the next. */
    private static final long LOOK_NS = 500_000;

    private final NodeParts node;
    private final NodeStore store;
    private final ConcurrentLinkedQueue<Runnable> inbox = new ConcurrentLinkedQueue<>();
    private final AtomicInteger messages = new AtomicInteger();
    private final AtomicInteger open = new AtomicInteger();
    private final AtomicLong lastNumber = new AtomicLong();
    private final AtomicReference<@Nullable PlanWorker> worker = new AtomicReference<>();

    // The conductor's.
    private final Map<Long, PlanRun> runs = new HashMap<>();
    private final Map<PlanShare.Key, PlanShare> shares = new HashMap<>();
    /** What was given back, and until when: a step that comes late begins nothing. */
    private final Map<PlanShare.Key, Long> past = new LinkedHashMap<>();
    private final ArrayDeque<PlanShare.Reserving> reserving = new ArrayDeque<>();
    private long lookedNs;

    Plans(NodeParts node, NodeStore store) {
        this.node = node;
        this.store = store;
        lookedNs = node.life().nowNs();
        node.control().onMessage(Topic.PLANS, this::onMessage);
        node.conductor().alsoLook(this::look);
    }

    // ---- any thread

    PlanRun run(PlanRequest request, PlanOptions options) {
        store.checkOpen();
        if (open.incrementAndGet() > MAX_RUNS) {
            open.decrementAndGet();
            throw new MooncakeException(Kind.BACK_PRESSURE, "node " + node.life().id + " runs " + MAX_RUNS
                    + " plans: wait for some of them, or run it on another node");
        }
        PlanRun run = new PlanRun(this, lastNumber.incrementAndGet(), request, options);
        give(() -> runs.put(run.number(), run));
        // One that closes now may have looked for the last time.
        store.checkOpen();
        return run;
    }

    BlockStore.Subscription computeBy(PlanWorker computing) {
        store.checkOpen();
        if (!worker.compareAndSet(null, computing)) {
            throw new MooncakeException(Kind.IN_USE,
                    "node " + node.life().id + " computes plans already: end that before another one begins");
        }
        return () -> worker.compareAndSet(computing, null);
    }

    /** Something to be done by the conductor, next. */
    void give(Runnable what) {
        inbox.add(what);
        wakeup();
    }

    void wakeup() {
        node.conductor().wakeup();
    }

    boolean await(BooleanSupplier done, Duration timeout) {
        return node.waits().await(done, nowNs() + NodeStore.positiveNs("timeout", timeout));
    }

    private void onMessage(NodeId from, byte[] bytes) {
        PlanMessage message;
        try {
            message = PlanMessage.read(bytes);
        } catch (MooncakeException e) {
            dropped(from, e.getMessage());
            return;
        }
        if (messages.incrementAndGet() > MAX_MESSAGES) {
            messages.decrementAndGet();
            dropped(from, "too many messages are waiting");
            return;
        }
        give(() -> {
            messages.decrementAndGet();
            switch (message) {
                case PlanMessage.Step step -> take(from, step);
                case PlanMessage.Done done -> {
                    PlanRun run = runs.get(done.run());
                    if (run != null) {
                        run.answered(from, done);
                    } // Else it is over.
                }
            }
        });
    }

    private void dropped(NodeId from, String why) {
        node.counters().increment(Counter.MESSAGES_DROPPED);
        LOG.debug("node {}: a message of {} about a plan is dropped: {}", node.life().id, from, why);
    }

    // ---- conductor

    private int look(long nowNs) {
        boolean idle = runs.isEmpty() && shares.isEmpty() && past.isEmpty();
        boolean due = nowNs - lookedNs >= LOOK_NS || !reserving.isEmpty() || isClosing();
        if (inbox.isEmpty() && (idle || !due)) {
            return 0;
        }
        lookedNs = nowNs;
        int work = takeIn();
        if (isClosing()) {
            // What ends meanwhile is to find it so.
            shares.values().forEach(PlanShare::release);
            work += takeIn();
        }
        while (!reserving.isEmpty() && reserving.element().isOver(nowNs)) {
            reserving.remove();
            work++;
        }
        shares.entrySet().removeIf(each -> {
            boolean over = each.getValue().look(nowNs);
            if (over) {
                past.put(each.getKey(), each.getValue().deadlineNs());
            }
            return over;
        });
        forget(nowNs);
        runs.values().removeIf(run -> {
            boolean over = run.look(nowNs);
            if (over) {
                open.decrementAndGet();
            }
            return over;
        });
        return work;
    }

    /** The oldest first: one that has more time than those after it keeps them a little longer. */
    private void forget(long nowNs) {
        Iterator<Long> oldest = past.values().iterator();
        while (oldest.hasNext() && (nowNs - oldest.next() >= 0 || past.size() > MAX_SHARES)) {
            oldest.remove();
        }
    }

    private int takeIn() {
        int taken = 0;
        for (Runnable next = inbox.poll(); next != null; next = inbox.poll()) {
            next.run();
            taken++;
        }
        return taken;
    }

    private void take(NodeId from, PlanMessage.Step step) {
        PlanShare.Key key = new PlanShare.Key(from, step.run(), step.attempt());
        PlanShare share = shares.get(key);
        if (past.containsKey(key)) {
            boolean again = step.action() == Action.RELEASE;
            send(from, again
                    ? PlanShare.released(key, step.step())
                    : PlanShare.late(key, step.step(), node.life().id));
            return;
        }
        if (share == null) {
            if (shares.size() >= MAX_SHARES) {
                dropped(from, "too many plans have a share here");
                return;
            }
            share = new PlanShare(this, key, step.plan());
            shares.put(key, share);
        }
        share.take(step);
    }

    /** In the order in which they came; only the first one takes what gets free. */
    void queue(PlanShare.Reserving next) {
        reserving.add(next);
    }

    // ---- what runs and shares need

    NodeParts node() {
        return node;
    }

    NodeStore store() {
        return store;
    }

    @Nullable
    PlanWorker worker() {
        return worker.get();
    }

    long nowNs() {
        return node.life().nowNs();
    }

    boolean isClosing() {
        return node.life().isClosing();
    }

    boolean isGone(NodeId other) {
        return node.sources().registry().peer(other) == null;
    }

    /** What is not sent, or lost, is asked for again by whoever misses the answer. */
    void send(NodeId to, PlanMessage message) {
        if (!node.control().send(to, Topic.PLANS, message.encode())) {
            LOG.debug("node {}: {} can't be told of a plan now", node.life().id, to);
        }
    }

    /** False when too many callbacks wait. */
    boolean tell(Runnable callback) {
        return node.callbacks().offer(callback);
    }

    void count(Counter counter) {
        node.counters().increment(counter);
    }

    PlacementPlan plan(PlanRequest request) {
        return node.sources().scheduler().plan(request, node.sources().costs());
    }

    Promises promises() {
        return node.sources().costs().promises();
    }
}
