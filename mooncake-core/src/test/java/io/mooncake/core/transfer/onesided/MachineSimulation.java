package io.mooncake.core.transfer.onesided;

import io.mooncake.core.base.Counters;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.base.PageMap;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.ControlChannel;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.GuardSource;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Priority;
import io.mooncake.core.transfer.ReadListener;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.RegionTable;
import io.mooncake.core.transfer.onesided.FaultyFabric.Fault;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * One seed of the one-sided machine: nodes whose slots are written again and again while others read them by guards, and everything
 * goes wrong that can. Throws an AssertionError that names the seed when a read succeeds with wrong bytes, a byte lands after the
 * end of its read, a read does not end once and in time, or something is left.
 */
final class MachineSimulation implements AutoCloseable {
    private static final int NODES = 4;
    private static final int SLOTS = 4;
    private static final int SLOT_BYTES = 3000;
    private static final int READS = 150;
    private static final byte REFILL = (byte) 0xAB;
    private static final OneSidedConfig CONFIG = new OneSidedConfig(
            new OneSidedConfig.Window(3, 512, 2000, 4, 48),
            new OneSidedConfig.Times(3_000_000, 400_000, 60_000, 150_000, 50_000, 400_000), 64, 8, 8);
    private static final SimTiming TIMING = new SimTiming(30_000, 20_000, 20_000, 4, 1_500_000, 30_000, 50);
    /** A node that is not run for so long, a few turns in a row at each of three steps, is as good as never met. */
    private static final long SLACK_NS = 600_000;

    /** How often reads ended how. */
    final Map<ReadStatus, Integer> ends = new EnumMap<>(ReadStatus.class);
    final List<String> trace = new ArrayList<>();

    private final long seed;
    private final @Nullable PlantedBug bug;
    private final SplittableRandom random;
    private final VirtualTime time = new VirtualTime();
    private final SimNetwork network;
    private final Arena arena = Arena.ofAuto();
    private final Node[] nodes = new Node[NODES];
    private final List<Reading> readings = new ArrayList<>();
    private long lastVersion;

    MachineSimulation(long seed, @Nullable PlantedBug bug) {
        this.seed = seed;
        this.bug = bug;
        random = new SplittableRandom(seed);
        network = new SimNetwork(time, random.nextLong());
        network.timing(TIMING);
        network.traceTo(trace::add);
        for (int i = 0; i < NODES; i++) {
            nodes[i] = new Node(new NodeId("n" + i, 1));
        }
    }

    void run() {
        try {
            for (int i = 0; i < READS; i++) {
                Reading reading = new Reading(nodes[i % NODES], nodes[random.nextInt(NODES)]);
                readings.add(reading);
                time.after(random.nextLong(4_000_000), reading::begin);
            }
            for (int i = 0; i < 60; i++) {
                time.after(random.nextLong(4_500_000), () -> nodes[random.nextInt(NODES)].write());
            }
            for (int i = 0; i < 14; i++) {
                time.after(random.nextLong(4_500_000), this::fault);
            }
            while (time.nowNs() < 20_000_000) {
                turn();
            }
            check();
        } catch (AssertionError | RuntimeException e) {
            throw new AssertionError("seed " + seed + ": " + e.getMessage(), e);
        }
    }

    private void turn() {
        time.runTo(Math.min(time.nextNs(), time.nowNs() + 20_000));
        int first = random.nextInt(NODES);
        for (int i = 0; i < NODES; i++) {
            Node node = nodes[(first + i) % NODES];
            if (random.nextInt(3) > 0) {
                node.engine.poller().doWork();
            }
        }
    }

    private void fault() {
        int one = random.nextInt(NODES);
        int other = (one + 1 + random.nextInt(NODES - 1)) % NODES;
        switch (random.nextInt(8)) {
            case 0 -> {
                network.cut("n" + one, "n" + other);
                time.after(random.nextLong(3_000_000), () -> network.heal("n" + one, "n" + other));
            }
            case 1 -> restart(one);
            default -> network.breakSomeLane();
        }
    }

    private void restart(int number) {
        Node former = nodes[number];
        network.crash(former.id);
        former.gone = true;
        nodes[number] = new Node(new NodeId(former.id.name(), former.id.incarnation() + 1));
    }

    private void check() {
        for (Reading reading : readings) {
            reading.check();
        }
        for (Node node : nodes) {
            node.checkIdle();
        }
    }

    @Override
    public void close() {
        for (Node node : nodes) {
            node.engine.poller().onClose();
        }
    }

    /** A process life of a node. */
    private final class Node implements GuardSource {
        private final NodeId id;
        private final RegionTable regions;
        private final Region slots;
        private final MemorySegment memory = arena.allocate((long) SLOTS * SLOT_BYTES, 64);
        private final MemorySegment guards = arena.allocate(SLOTS * 64L, 64);
        private final long[] versions = new long[SLOTS];
        private final SimFabric fabric;
        private final OneSidedEngine engine;
        private boolean gone;

        Node(NodeId id) {
            this.id = id;
            regions = new RegionTable(id, (done, deadline) -> done.getAsBoolean(), time::nowNs, 0);
            slots = regions.register(Memory.of(memory), Access.GUARDED);
            for (int slot = 0; slot < SLOTS; slot++) {
                fill(slot, 0, SLOT_BYTES, ++lastVersion);
                commit(slot, lastVersion);
            }
            EngineContext context = new EngineContext(id, "c", regions, this, new Counters(), time::nowNs,
                    new ControlChannel(new Counters()));
            fabric = network.join(context, new FabricLimits(24, 8, 512));
            Fabric faulty = new FaultyFabric(fabric, random.nextLong(),
                    Map.of(Fault.DELAY, 0.02, Fault.DROP, 0.002, Fault.DUPLICATE, 0.05, Fault.REORDER, 0.2, Fault.ERROR,
                            0.002, Fault.PARTIAL, 0.004, Fault.STALL, 0.001));
            engine = bug == null ? new OneSidedEngine(context, faulty, CONFIG) : bug.engine(context, faulty, CONFIG);
        }

        private void fill(int slot, int from, int to, long version) {
            for (int i = from; i < to; i++) {
                memory.set(ValueLayout.JAVA_BYTE, (long) slot * SLOT_BYTES + i, byteOf(version, i));
            }
        }

        private void guard(int slot, long value) {
            guards.set(ValueLayout.JAVA_LONG, slot * 64L, value);
        }

        private void commit(int slot, long version) {
            versions[slot] = version;
            guard(slot, version);
        }

        /** Writes a slot as its owner does: guard, bytes in some goes, guard. */
        void write() {
            int slot = random.nextInt(SLOTS);
            if (versions[slot] == 0) {
                return; // Being written.
            }
            versions[slot] = 0;
            guard(slot, -1 - lastVersion);
            long version = ++lastVersion;
            int parts = 1 + random.nextInt(6);
            long delay = 0;
            for (int i = 0; i < parts; i++) {
                int from = i * SLOT_BYTES / parts;
                int to = (i + 1) * SLOT_BYTES / parts;
                delay += random.nextLong(20_000);
                time.after(delay, () -> fill(slot, from, to, version));
            }
            time.after(delay + random.nextLong(5_000), () -> commit(slot, version));
        }

        void checkIdle() {
            String left = engine.leftovers();
            if (!left.isEmpty()) {
                throw new AssertionError("node " + id + " has left: " + left);
            }
        }

        @Override
        public long pin(int region, long guardOffset, long expected, long offset, long length) {
            throw new AssertionError("a one-sided read pins nothing");
        }

        @Override
        public long guard(long handle) {
            throw new AssertionError("a one-sided read asks for no guard");
        }

        @Override
        public void unpin(long handle) {
            throw new AssertionError("a one-sided read pins nothing");
        }

        @Override
        public @Nullable Memory table(int region) {
            return region == slots.id() ? Memory.of(guards) : null;
        }
    }

    private static byte byteOf(long version, long offset) {
        return (byte) (version * 37 + offset / 16 * 3 + offset);
    }

    /** One read, and what its owner does with the memory afterwards. */
    private final class Reading implements ReadListener {
        private final Node reader;
        private final Node owner;
        private final GuardedRead read = new GuardedRead(this, 0);
        private final MemorySegment to = arena.allocate(2L * SLOT_BYTES, 64);
        private boolean begun;
        private boolean givenUp;
        private int expired;
        private int count;
        private long version;
        private long offset;
        private long length;
        private long deadlineNs;

        Reading(Node reader, Node owner) {
            this.reader = reader;
            this.owner = owner;
        }

        void begin() {
            int slot = random.nextInt(SLOTS);
            version = owner.versions[slot];
            if (version == 0 || reader.gone) {
                return;
            }
            begun = true;
            offset = random.nextInt(SLOT_BYTES);
            length = random.nextInt(10) == 0 ? 0 : random.nextLong(SLOT_BYTES - offset) + 1;
            if (random.nextInt(3) == 0) {
                offset = 0;
                length = SLOT_BYTES;
            }
            deadlineNs = time.nowNs() + (random.nextInt(4) == 0 ? random.nextLong(100_000) : 5_000_000);
            Region into = reader.regions.register(Memory.of(to), Access.LOCAL_ONLY);
            read.from(new Peer(owner.id, Map.of(SimFabric.NAME, owner.id.name())), owner.slots.id(),
                    (long) slot * SLOT_BYTES + offset, length)
                    .guardedBy(slot * 64L, version)
                    .by(deadlineNs)
                    .withPriority(random.nextBoolean() ? Priority.LOAD : Priority.BACKGROUND);
            if (random.nextBoolean()) {
                read.into(into, 0);
            } else {
                int[] pages = new int[SLOT_BYTES / 300];
                for (int i = 0; i < pages.length; i++) {
                    pages[i] = pages.length - 1 - i;
                }
                read.into(into, new PageMap(0, 300, 320, pages));
            }
            if (!reader.engine.submit(read)) {
                throw new AssertionError(read + " was not accepted");
            }
            if (random.nextInt(4) == 0) {
                time.after(random.nextLong(80_000), () -> {
                    givenUp = true;
                    reader.engine.abort(read);
                });
            }
        }

        @Override
        public void onReadEnded(GuardedRead ended, ReadStatus status) {
            count++;
            ends.merge(status, 1, Integer::sum);
            network.trace(() -> read + " of node " + reader.id + ": " + status);
            if (count > 1) {
                throw new AssertionError(read + " ended again: " + status);
            }
            if (time.nowNs() - deadlineNs > CONFIG.times().endBoundNs() + SLACK_NS) {
                throw new AssertionError(read + " ended " + (time.nowNs() - deadlineNs) + " ns after its deadline");
            }
            if (status == ReadStatus.OK) {
                for (long i = 0; i < length; i++) {
                    byte expected = byteOf(version, offset + i);
                    if (to.get(ValueLayout.JAVA_BYTE, read.destinationAt(i)) != expected) {
                        throw new AssertionError(read + " is OK, byte " + i + " is not that of version " + version);
                    }
                }
            }
            to.fill(REFILL);
        }

        @Override
        public void onReadExpired(GuardedRead late) {
            expired++;
        }

        @Override
        public boolean isGivenUp(GuardedRead asked) {
            return givenUp || expired > 0;
        }

        void check() {
            if (!begun || reader.gone) {
                return;
            }
            if (count != 1 || expired > 1) {
                throw new AssertionError(read + " ended " + count + " times and expired " + expired + " times");
            }
            for (long i = 0; i < to.byteSize(); i++) {
                if (to.get(ValueLayout.JAVA_BYTE, i) != REFILL) {
                    throw new AssertionError(read + ": a byte landed at " + i + " after the end");
                }
            }
        }
    }

    /** The end of the trace, for a failure's message. */
    String lastLines(int most) {
        ArrayDeque<String> lines = new ArrayDeque<>(trace);
        while (lines.size() > most) {
            lines.remove();
        }
        return String.join("\n", lines);
    }
}
