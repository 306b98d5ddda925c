package io.mooncake.bench.cli;

import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.ThreadingMode;
import io.mooncake.core.TransferOptions;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.core.schedule.ActivationPlan;
import io.mooncake.core.schedule.ActivationPlan.Moment;
import io.mooncake.core.schedule.ActivationPlan.Use;
import io.mooncake.core.schedule.LinkMeter;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Transfer;
import io.mooncake.testing.VirtualLink;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Activations on two nodes on virtual time: block i of n is written at step i and read at step 2n - 1 - i, then dead. The near node has too
 * little memory for all; the other one has room, at the end of a link. Everything that moves is moved by the near node's mover. One thread.
 */
final class ActivationsRun implements AutoCloseable {
    static final long STEP_NS = 1_000_000;
    private static final long BLOCK_BYTES = 16 << 10;
    private static final Duration FOREVER = Duration.ofHours(24);
    private static final int SPARE = 2;
    private static final TransferOptions MOVES = TransferOptions.DEFAULT.withTimeout(FOREVER);

    /** What is decided at each step, and at each arrival. */
    enum Strategy {
        /** {@link ActivationPlan}. */
        PLANNED,
        /** The least recently used leaves when there is no slot, and what is missed is brought when it is missed. */
        LRU
    }

    /**
     * A link.
     *
     * @param blocksPerStep that it takes, each way
     * @param delaySteps by which each arrives later
     */
    record Speed(double blocksPerStep, double delaySteps) {}

    /** A move on its way. */
    private record Going(Transfer transfer, long beganNs) {}

    private final int blocks;
    private final int slots;
    private final Strategy strategy;
    private final LinkMeter out = new LinkMeter();
    private final LinkMeter back = new LinkMeter();
    private final AtomicLong nowNs = new AtomicLong(1);
    private final VirtualLink.Network network;
    private final Node near;
    private final Node far;
    private final BlockView view;
    private final Map<Integer, Going> leaving = new HashMap<>();
    private final Map<Integer, Going> coming = new HashMap<>();
    private final Set<Integer> nearBlocks = new HashSet<>();
    private final Set<Integer> farBlocks = new HashSet<>();
    private long wrong;
    private long moved;

    /**
     * Both nodes, empty.
     *
     * @param blocks that are written
     * @param slots that the near node has for them
     * @param speed of the link, which the planner has to find out
     * @param strategy what is decided
     */
    ActivationsRun(int blocks, int slots, Speed speed, Strategy strategy) {
        this.blocks = blocks;
        this.slots = slots;
        this.strategy = strategy;
        network = new VirtualLink.Network(STEP_NS / speed.blocksPerStep / BLOCK_BYTES,
                (long) (STEP_NS * speed.delaySteps));
        LocalRegistry registry = new LocalRegistry();
        near = start("near", slots, registry);
        try {
            far = start("far", blocks, registry);
        } catch (RuntimeException | Error e) {
            near.close();
            throw e;
        }
        view = near.store().newView();
    }

    private Node start(String name, int capacity, LocalRegistry registry) {
        return Node.start(NodeConfig.builder(name)
                .registry(registry)
                .blockSize(BLOCK_BYTES)
                .poolSize((capacity + SPARE) * BLOCK_BYTES)
                .spareSlots(SPARE)
                .threading(ThreadingMode.INVOKER)
                .nanoClock(nowNs::get)
                .engines(context -> List.of(network.join(context)))
                .build());
    }

    private static BlockId id(int block) {
        return BlockId.of("activation-" + block);
    }

    /** Steps that it took longer than without any waiting. */
    double run() {
        pump();
        long startNs = nowNs.get();
        for (int step = 0; step < 2 * blocks; step++) {
            if (step < blocks) {
                write(step);
            } else {
                read(2 * blocks - 1 - step);
            }
            decide(step, true);
            advance(nowNs.get() + STEP_NS, step);
            if (step >= blocks) {
                drop(2 * blocks - 1 - step);
            }
        }
        return (nowNs.get() - startNs) / (double) STEP_NS - 2.0 * blocks;
    }

    // ---- a step

    private void write(int block) {
        while (used() >= slots) {
            if (strategy == Strategy.LRU && leaving.isEmpty()) {
                // The one that was written first: none was read since.
                leave(nearBlocks.stream().min(Integer::compare).orElseThrow());
                pump();
            }
            stall("slot for block " + block, block);
        }
        try (BlockWriter writer = near.store().allocate(id(block), BLOCK_BYTES)) {
            Content.fill(writer.segment(), block, 1);
            writer.commit();
        }
        nearBlocks.add(block);
        pump();
    }

    private void read(int block) {
        while (!nearBlocks.contains(block)) {
            if (!coming.containsKey(block) && !leaving.containsKey(block) && used() < slots) {
                come(block);
                pump();
            }
            stall("block " + block, 2 * blocks - 1 - block);
        }
        if (!near.store().acquire(id(block), view)) {
            throw new IllegalStateException("block " + block + " is near and cannot be acquired");
        }
        try (BlockView held = view) {
            wrong += Content.firstWrongByte(held.segment(), block, 1) < 0 ? 0 : 1;
        }
    }

    private void drop(int block) {
        near.mover().evict(List.of(id(block)));
        far.mover().evict(List.of(id(block)));
        nearBlocks.remove(block);
        farBlocks.remove(block);
        pump();
    }

    private int used() {
        return nearBlocks.size() + leaving.size() + coming.size();
    }

    /** Within a step, or before it has begun because something is missing. */
    private void decide(int step, boolean begun) {
        if (strategy == Strategy.LRU) {
            return;
        }
        // What is being read at this step falls free at its end, and does not move.
        int reading = step < blocks || !begun ? -1 : 2 * blocks - 1 - step;
        List<Integer> ahead = new ArrayList<>();
        ahead.add(step >= blocks ? -1 : begun ? 0 : 1);
        for (int s = step + 1; s < 2 * blocks; s++) {
            ahead.add(s < blocks ? 1 : -1);
        }
        Moment moment = new Moment(step, slots, uses(nearBlocks, reading), coming.size() + (reading < 0 ? 0 : 1),
                leaving.size(), farOnly(), coming.size(), ahead, out.link((double) STEP_NS), back.link((double) STEP_NS));
        ActivationPlan plan = ActivationPlan.of(moment);
        plan.leave().forEach(this::leave);
        plan.come().forEach(this::come);
        pump();
    }

    private List<Use> uses(Set<Integer> of, int without) {
        return of.stream().filter(block -> block != without).map(this::use).toList();
    }

    private Use use(int block) {
        return new Use(block, 2L * blocks - 1 - block);
    }

    private List<Use> farOnly() {
        return farBlocks.stream()
                .filter(block -> !nearBlocks.contains(block) && !coming.containsKey(block))
                .map(this::use)
                .toList();
    }

    private void leave(int block) {
        nearBlocks.remove(block);
        begin(leaving, out, block, near.mover().migrate(List.of(id(block)), far.id(), MOVES));
    }

    private void come(int block) {
        begin(coming, back, block, near.mover().promote(List.of(id(block)), MOVES));
    }

    private void begin(Map<Integer, Going> way, LinkMeter meter, int block, Transfer transfer) {
        way.put(block, new Going(transfer, nowNs.get()));
        meter.begun();
        moved++;
    }

    // ---- time

    /** To the next arrival; the planner has its say before that and then. */
    private void stall(String what, int step) {
        decide(step, false);
        long next = network.nextNs();
        if (next == Long.MAX_VALUE) {
            throw new IllegalStateException(
                    "nothing is on its way, and there is no " + what + ": " + near.store().describe());
        }
        nowNs.set(Math.max(nowNs.get(), next));
        pump();
    }

    /** To the end of a step; at each arrival before that the planner has its say again. */
    private void advance(long untilNs, int step) {
        for (long next = network.nextNs(); next <= untilNs; next = network.nextNs()) {
            nowNs.set(Math.max(nowNs.get(), next));
            pump();
            decide(step, true);
        }
        nowNs.set(untilNs);
        pump();
    }

    /** Until neither node has anything to do at this moment; then looks what has ended. */
    private void pump() {
        int idle = 0;
        // Twice nothing, since one of them may have work for the other.
        while (idle < 2) {
            idle = near.doWork() + far.doWork() > 0 ? 0 : idle + 1;
        }
        farBlocks.addAll(ended(leaving, out));
        nearBlocks.addAll(ended(coming, back));
    }

    private Set<Integer> ended(Map<Integer, Going> way, LinkMeter meter) {
        Set<Integer> ended = new HashSet<>();
        way.forEach((block, going) -> {
            Transfer transfer = going.transfer;
            if (transfer.isDone()) {
                if (transfer.outcome(0) != Outcome.OK) {
                    throw new IllegalStateException("the move of block " + block + " ended as " + transfer.outcome(0),
                            transfer.cause(0));
                }
                meter.ended(going.beganNs, nowNs.get());
                ended.add(block);
            }
        });
        ended.forEach(way::remove);
        return ended;
    }

    /** Blocks that had a wrong byte when they were read. */
    long wrong() {
        return wrong;
    }

    /** Blocks that were moved, out and back. */
    long moved() {
        return moved;
    }

    @Override
    public void close() {
        near.close();
        far.close();
    }

    /**
     * The least stall that any decisions lead to: everything that has to leave does as early as it can, and comes back as early as it can. The
     * schedule is nested, so the block written first is the one to leave first, and the one to come back last.
     *
     * @return steps
     */
    static double optimum(int blocks, int slots, Speed speed) {
        double each = 1 / speed.blocksPerStep;
        int out = Math.max(0, blocks - slots);
        double now = 0;
        double gone = 0;
        double[] left = new double[out];
        for (int block = 0; block < blocks; block++) {
            if (block >= slots) {
                now = Math.max(now, left[block - slots]);
            }
            if (block < out) {
                gone = Math.max(gone, now) + each;
                left[block] = gone + speed.delaySteps;
            }
            now += 1;
        }
        double[] freed = new double[blocks];
        double back = 0;
        for (int read = 0; read < blocks; read++) {
            int come = read - (blocks - out);
            if (come >= 0) {
                // The first to come has the slot of the first that was read.
                back = Math.max(back, freed[come]) + each;
                now = Math.max(now, back + speed.delaySteps);
            }
            now += 1;
            freed[read] = now;
        }
        return now - 2.0 * blocks;
    }
}
