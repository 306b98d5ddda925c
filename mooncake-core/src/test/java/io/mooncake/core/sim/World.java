package io.mooncake.core.sim;

import io.mooncake.core.Destination;
import io.mooncake.core.Piece;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.transfer.onesided.FabricLimits;
import io.mooncake.core.transfer.onesided.SimNetwork;
import io.mooncake.core.transfer.onesided.SimTiming;
import io.mooncake.testing.VirtualTime;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** One seed: some nodes, what they are made to do, what goes wrong, and what must hold all the while. One thread. */
final class World {
    static final FabricLimits LIMITS = new FabricLimits(64, 8, 1 << 10);
    static final SimTiming TIMING = new SimTiming(30_000, 6_000, 8_000, 4, 400_000, 8_000, 50);
    static final int BLOCKS = 12;

    private static final int ECHO_PERCENT = 3;
    private static final int NODES = 4;
    private static final int MAX_STEPS = 200_000;
    private static final int SETTLE_ROUNDS = 2_000;
    private static final int QUIET_ROUNDS = 60;
    private static final long SETTLE_NS = 20_000;
    private static final long BEAT_NS = 200_000;
    private static final long FIRST_LIFE_MS = 1_000_000;

    final SplittableRandom random;
    final VirtualTime time = new VirtualTime();
    final SimNetwork network;
    final SimBus bus;
    final SimPost post;
    final Memories memories;
    final Content content = new Content();
    final Tally tally = new Tally();
    final List<BlockId> blocks = new ArrayList<>();
    /** References that were given out, stale ones among them. */
    final List<BlockRef> refs = new ArrayList<>();
    /** The living, by name. */
    final Map<String, SimNode> nodes = new TreeMap<>();
    int transfers;
    int faults;
    /** Whether plans are run: nodes say what room they have then, and hold blocks. Said before the first one starts. */
    boolean hasPlans;

    private final Workload workload;
    private final Faults faulty;
    private final @Nullable Consumer<String> trace;
    private final int wantedTransfers;
    private @Nullable Violation found;
    private long lives;
    private long lastBeatNs;

    World(long seed, int transfers, MemorySegment bank, @Nullable Consumer<String> trace) {
        random = new SplittableRandom(seed);
        wantedTransfers = transfers;
        this.trace = trace;
        memories = new Memories(bank);
        network = new SimNetwork(time, random.nextLong());
        network.timing(TIMING);
        network.traceTo(trace);
        network.watch(memories);
        network.echo(ECHO_PERCENT);
        bus = new SimBus(time, random.split());
        post = new SimPost(time, seed);
        workload = new Workload(random, this);
        faulty = new Faults(random, this);
        for (int i = 0; i < BLOCKS; i++) {
            blocks.add(BlockId.of("block " + i));
        }
    }

    /** The whole life of the world; throws the first {@link Violation}. */
    void run() {
        for (int i = 0; i < NODES; i++) {
            start("n" + i);
        }
        for (int step = 0; transfers < wantedTransfers || faults < Faults.LEAST; step++) {
            if (step == MAX_STEPS) {
                throw new Violation(4, "after " + step + " steps only " + transfers + " transfers were made");
            }
            step();
        }
        settle();
        converge();
        for (SimNode node : List.copyOf(nodes.values())) {
            workload.letGo(node);
            close(node);
        }
    }

    private void step() {
        int dice = random.nextInt(100);
        if (dice < 50) {
            events();
        } else if (dice < 88) {
            SimNode node = some();
            if (!node.isStalled()) {
                node.work();
            }
        } else if (dice < 99) {
            SimNode node = some();
            if (!node.isStalled()) {
                workload.act(node);
                if (nodes.containsValue(node)) {
                    check(node);
                }
            }
        } else {
            faulty.act();
        }
        beat();
        rethrow();
    }

    private void events() {
        for (int i = 1 + random.nextInt(6); i > 0; i--) {
            if (!time.step()) {
                time.runTo(time.nowNs() + random.nextLong(SETTLE_NS));
            }
        }
    }

    void beat() {
        if (time.nowNs() - lastBeatNs > BEAT_NS) {
            lastBeatNs = time.nowNs();
            nodes.values().forEach(node -> node.registry.beat());
        }
    }

    /** What a callback found comes out where the world looks: whoever runs callbacks does not let it through. */
    Violation found(Violation violation) {
        found = found == null ? violation : found;
        return violation;
    }

    private void rethrow() {
        if (found != null) {
            throw found;
        }
    }

    void check(SimNode node) {
        node.check();
        rethrow();
    }

    Workload workload() {
        return workload;
    }

    SimNode some() {
        List<SimNode> living = List.copyOf(nodes.values());
        return living.get(random.nextInt(living.size()));
    }

    void start(String name) {
        SimNode node = new SimNode(this, name);
        nodes.put(name, node);
        trace(() -> node + " starts");
    }

    long nextLife() {
        return FIRST_LIFE_MS + lives++;
    }

    /** Its process is gone. */
    void crash(SimNode node) {
        trace(() -> node + " crashes");
        nodes.remove(node.name);
        network.crash(node.id);
        bus.leave(node.id);
        post.leave(node.id);
    }

    void close(SimNode node) {
        trace(() -> node + " is closed");
        node.close();
        nodes.remove(node.name);
        network.crash(node.id);
        rethrow();
    }

    // ---- the end

    /** Everything heals; every transfer comes to its end. */
    private void settle() {
        trace(() -> "everything heals");
        faulty.healAll();
        bus.becomeFaultless();
        network.timing(TIMING);
        nodes.values().forEach(workload::letGo);
        int quiet = 0;
        for (int round = 0; round < SETTLE_ROUNDS; round++) {
            time.runTo(time.nowNs() + SETTLE_NS);
            for (SimNode node : nodes.values()) {
                node.stalledUntilNs = 0;
                node.work();
            }
            beat();
            rethrow();
            quiet = nodes.values().stream().allMatch(node -> node.live.isEmpty()) ? quiet + 1 : 0;
            if (quiet == QUIET_ROUNDS) {
                return;
            }
        }
        throw new Violation(4, "not over after everything healed: "
                + nodes.values().stream().flatMap(node -> node.live.stream()).toList());
    }

    /** All tables equal what the owners have. */
    private void converge() {
        for (BlockId id : blocks) {
            Set<BlockRef> truth = new HashSet<>();
            for (SimNode owner : nodes.values()) {
                for (BlockRef ref : owner.registry.locations(id)) {
                    if (ref.node().equals(owner.id)) {
                        truth.add(ref);
                        owner.checkTruth(ref);
                    }
                }
            }
            for (SimNode reader : nodes.values()) {
                Set<BlockRef> known = new HashSet<>(reader.registry.locations(id));
                if (!known.equals(truth)) {
                    throw new Violation(6, "node " + reader + " knows " + known + " of " + id + ", but the owners have "
                            + truth);
                }
            }
        }
    }

    // ---- text

    void trace(Supplier<String> line) {
        if (trace != null) {
            trace.accept(String.format("%,15d  %s", time.nowNs(), line.get()));
        }
    }

    String describe(Piece piece) {
        return (piece.ref() == null ? "block " + blocks.indexOf(piece.id()) : describe(piece.ref())) + " from "
                + piece.offset() + (piece.length() == Piece.WHOLE ? "" : ", " + piece.length() + " bytes")
                + (piece.destination() instanceof Destination.Replica ? " as a replica" : "")
                + (piece.stage() == 0 ? "" : " in stage " + piece.stage());
    }

    String describe(BlockRef ref) {
        return "block " + blocks.indexOf(ref.id()) + " " + ref.version() + " of " + ref.node() + " in slot "
                + ref.guardIndex();
    }
}
