package io.mooncake.core.sim;

import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.ThreadingMode;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.pool.BlockPool;
import io.mooncake.core.registry.ReplicatedRegistry;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.GuardSource;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.core.transfer.local.LocalTransferEngine;
import io.mooncake.core.transfer.onesided.OneSidedConfig;
import io.mooncake.core.transfer.onesided.OneSidedEngine;
import io.mooncake.core.transfer.onesided.SimFabric;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/** One process life of a node: the real thing, its memory watched, its callbacks run when the world says so. */
final class SimNode {
    static final int SLOTS = 12;
    static final long SLOT_BYTES = 8 << 10;
    static final int CALLER_SLOTS = 24;
    /** A clock that stands still would make waiting endless. */
    private static final long TICK_NS = 10;

    final World world;
    final String name;
    final NodeId id;
    final Node node;
    final ReplicatedRegistry registry;
    final Region region;
    final List<CallerSlot> callerSlots = new ArrayList<>();
    final List<SimTransfer> live = new ArrayList<>();
    final List<SimTransfer> idle = new ArrayList<>();
    final List<OpenWrite> writes = new ArrayList<>();
    final List<BlockView> views = new ArrayList<>();
    long stalledUntilNs;

    private final WatchedRegistry watched;
    private final ArrayDeque<Runnable> callbacks = new ArrayDeque<>();
    private final SlotWatch slots;
    private final List<MemorySegment> pool = new ArrayList<>();
    private @Nullable EngineContext context;
    private @Nullable SimFabric fabric;
    private long clockNs;
    private boolean closed;
    private boolean committing;

    /** A writer that has not come to its end, and what it wrote. */
    record OpenWrite(BlockWriter writer, long number) {}

    SimNode(World world, String name) {
        this.world = world;
        this.name = name;
        registry = new ReplicatedRegistry(world.bus.endpoint(name));
        watched = new WatchedRegistry(registry, world.hasPlans);
        node = Node.start(NodeConfig.builder(name)
                .threading(ThreadingMode.INVOKER)
                .blockSize(SLOT_BYTES)
                .poolSize(SLOTS * SLOT_BYTES)
                .spareSlots(2)
                .checksums(true)
                .registry(watched)
                .memory(this::reserve)
                .nanoClock(this::now)
                .callbackExecutor(callbacks::add)
                .incarnationFrom(() -> Instant.ofEpochMilli(world.nextLife()), new Random(world.random.nextLong()))
                .allocateTimeout(Duration.ofNanos(20 * TICK_NS))
                .closeTimeout(Duration.ofNanos(20 * TICK_NS))
                .engines(this::engines)
                .build());
        id = node.id();
        slots = new SlotWatch(this, pool.get(1), SLOTS, SLOT_BYTES);
        world.memories.watch(pool.get(0), slots);
        MemorySegment memory = world.memories.take(CALLER_SLOTS * (long) CallerSlot.BYTES);
        for (int i = 0; i < CALLER_SLOTS; i++) {
            callerSlots.add(new CallerSlot(memory, i));
        }
        world.memories.watch(memory, new Memories.Owners() {
            @Override
            public long owner(long offset) {
                return callerSlots.get((int) (offset / CallerSlot.BYTES)).owner();
            }

            @Override
            public String describe(long offset) {
                return callerSlots.get((int) (offset / CallerSlot.BYTES)) + " on node " + id;
            }
        });
        region = node.register(Memory.of(memory), Access.LOCAL_ONLY);
        world.bus.join(id, registry);
    }

    private MemorySegment reserve(long bytes, long alignment, Arena arena) {
        MemorySegment memory = world.memories.take(bytes);
        pool.add(memory);
        return memory;
    }

    private List<TransferEngine> engines(EngineContext given) {
        context = given;
        SimFabric joined = world.network.join(given, World.LIMITS);
        fabric = joined;
        return List.of(new LocalTransferEngine(given), new OneSidedEngine(given, joined, CONFIG),
                world.post.join(given));
    }

    private static final OneSidedConfig CONFIG = OneSidedConfig.defaults()
            .withWindow(new OneSidedConfig.Window(2, 1 << 10, 4 << 10, 8, 64))
            .withTimes(new OneSidedConfig.Times(2_000_000, 300_000, 30_000, 60_000, 20_000, 200_000));

    /** The node's clock: the world's, but for a little that each reading adds. */
    long now() {
        clockNs = Math.max(clockNs + TICK_NS, world.time.nowNs());
        if (committing) {
            // The one place where another thread could look in the middle of a commit.
            committing = false;
            slots.checkWords(guards());
            committing = true;
        }
        return clockNs;
    }

    /** Commits, and looks while it goes on. */
    BlockRef commit(BlockWriter writer) {
        committing = true;
        try {
            return writer.commit();
        } finally {
            committing = false;
        }
    }

    /** Where a block of this node stands. */
    MemorySegment bytes(BlockRef ref) {
        return pool.get(0).asSlice(ref.offset(), ref.length());
    }

    private GuardSource guards() {
        return Objects.requireNonNull(context).guards();
    }

    boolean isClosed() {
        return closed;
    }

    boolean isStalled() {
        return world.time.nowNs() < stalledUntilNs;
    }

    /** One duty cycle of everything that the node has. */
    void work() {
        long began = now();
        node.doWork();
        registry.flush();
        runCallbacks();
        world.check(this);
        live.forEach(transfer -> transfer.checkDeadline(began));
    }

    private void runCallbacks() {
        for (Runnable callback; (callback = callbacks.poll()) != null;) {
            callback.run();
        }
    }

    /** What must hold whenever the node is not running. */
    void check() {
        watched.announced.forEach(slots::checkAnnounced);
        watched.announced.clear();
        if (!world.hasPlans) {
            // What is held stays readable by its reference.
            watched.withdrawn.forEach(slots::checkWithdrawn);
        }
        watched.withdrawn.clear();
        BlockPool.Usage usage = node.usage();
        slots.check(usage, guards());
        if (usage.quarantined() > 0) {
            world.tally.hit("memory quarantined");
        }
        for (int i = live.size() - 1; i >= 0; i--) {
            SimTransfer transfer = live.get(i);
            if (transfer.observe()) {
                live.remove(i);
                idle.add(transfer);
            }
        }
    }

    /** A view's bytes are those that its reference names, as long as it is open. */
    void checkView(BlockView view) {
        BlockRef ref = view.ref();
        Content.Write write = world.content.find(ref.id(), ref.version());
        if (write == null || write.length() != view.length()
                || !Content.matches(view.segment(), 0, write, 0, write.length())) {
            throw new Violation(1, "a view on node " + id + " shows bytes that are not those of " + ref);
        }
    }

    /** Blocks that this node says it has, all of which it must have. */
    void checkTruth(BlockRef ref) {
        try (BlockView view = node.store().newView()) {
            if (!node.store().acquire(ref, view)) {
                throw new Violation(6, "node " + id + " announces " + ref + ", which it does not have");
            }
            checkView(view);
        }
    }

    /** From now on its store is not asked any more. */
    void beginClose() {
        closed = true;
    }

    /** Closes the node as its user does: everything comes back. */
    void close() {
        closed = true;
        views.forEach(this::checkView);
        try {
            node.close();
        } catch (MooncakeException e) {
            throw new Violation(7, "node " + id + " does not close: " + e.getMessage());
        }
        runCallbacks();
        for (SimTransfer transfer : List.copyOf(live)) {
            if (!transfer.observe()) {
                throw new Violation(7, transfer + " is " + transfer.transfer + " after its node was closed");
            }
        }
        live.forEach(SimTransfer::checkCallbacks);
        idle.forEach(SimTransfer::checkCallbacks);
        callerSlots.forEach(CallerSlot::checkUntouched);
        SimFabric closedFabric = Objects.requireNonNull(fabric);
        if (region.uses() != 0 || !closedFabric.lanes().isEmpty()) {
            throw new Violation(7, "node " + id + " is closed with " + region.uses() + " uses of its region and "
                    + closedFabric.lanes().size() + " lanes");
        }
        for (int slot = 0; slot < SLOTS; slot++) {
            if (slots.owner(slot * SLOT_BYTES) != 0) {
                throw new Violation(7, "node " + id + " is closed with " + slots.describe(slot * SLOT_BYTES));
            }
        }
        region.close();
        world.bus.leave(id);
    }

    @Override
    public String toString() {
        return id.toString();
    }
}
