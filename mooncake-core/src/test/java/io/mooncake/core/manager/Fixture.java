package io.mooncake.core.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Counters;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.base.Waiter;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.manager.eviction.EvictionPolicy;
import io.mooncake.core.pool.BlockPool;
import io.mooncake.core.pool.DramPool;
import io.mooncake.core.pool.MemorySource;
import io.mooncake.core.pool.SizeClass;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.ForeignPins;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.RegionTable;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** A manager that one thread drives: a manual clock, and a waiter that runs the conductor and lets time pass. */
final class Fixture implements AutoCloseable {
    static final NodeId SELF = new NodeId("a", 3);
    static final long MS = 1_000_000;
    static final long TTL = 1_000 * MS;
    static final long TIMEOUT = 100 * MS;

    long now = 5;
    /** Run by the waiter between two steps, for example to release something. */
    Runnable whileWaiting = () -> {};

    final Counters counters = new Counters();
    final Map<BlockId, Long> known = new HashMap<>();
    final List<String> events = new ArrayList<>();
    /** By the events: written and not yet evicted. */
    final Set<BlockRef> announced = new HashSet<>();

    final BlockPool pool;
    final Region region;
    final BlockManager manager;
    final BlockView view;

    Fixture(int slots, long blockBytes, int cachedBlocks) {
        this(slots, blockBytes, cachedBlocks, ForeignPins.NONE);
    }

    Fixture(int slots, long blockBytes, int cachedBlocks, ForeignPins foreignPins) {
        this(List.of(new SizeClass(blockBytes, slots)), cachedBlocks, false, foreignPins);
    }

    Fixture(List<SizeClass> classes, int cachedBlocks) {
        this(classes, cachedBlocks, false);
    }

    Fixture(List<SizeClass> classes, int cachedBlocks, boolean checksums) {
        this(classes, cachedBlocks, checksums, ForeignPins.NONE);
    }

    private Fixture(List<SizeClass> classes, int cachedBlocks, boolean checksums, ForeignPins foreignPins) {
        this(new DramPool("dram", classes, MemorySource.anonymous(), checksums), cachedBlocks, foreignPins);
    }

    /** Of a pool that keeps whatever there is room for. */
    Fixture(BlockPool pool) {
        this(pool, pool.slots(), ForeignPins.NONE);
    }

    private Fixture(BlockPool pool, int cachedBlocks, ForeignPins foreignPins) {
        this.pool = pool;
        Waiter waiter = this::await;
        region = new RegionTable(SELF, waiter, () -> now, TIMEOUT).register(pool.memory(), Access.GUARDED);
        manager = new BlockManager(
                new ManagerConfig(SELF, List.of(new PoolBinding(pool, region, foreignPins)), counters,
                        () -> now, waiter,
                        id -> known.getOrDefault(id, 0L), TIMEOUT, cachedBlocks, EvictionPolicy.named("lru"),
                        Map.of()),
                new Listener());
        view = manager.newView();
    }

    private final class Listener implements BlockListener {
        @Override
        public void onWritten(BlockRef ref, boolean fastest) {
            events.add("written " + ref.id() + " " + ref.version().counter());
            if (!announced.add(ref)) {
                throw new IllegalStateException("announced twice: " + ref);
            }
        }

        @Override
        public void onEvicted(BlockRef ref, @Nullable BlockRef left, EvictReason reason) {
            events.add(reason + " " + ref.id() + " " + ref.version().counter());
            if (!announced.remove(ref)) {
                throw new IllegalStateException("never announced: " + ref);
            }
        }

        @Override
        public void onMoved(BlockRef from, BlockRef to) {
            events.add("moved " + to.id() + " " + to.version().counter());
            if (!announced.remove(from) || !announced.add(to)) {
                throw new IllegalStateException("never announced, or twice: " + from + " to " + to);
            }
        }
    }

    private boolean await(BooleanSupplier done, long deadlineNs) {
        while (!done.getAsBoolean()) {
            if (now - deadlineNs >= 0 || Thread.currentThread().isInterrupted()) {
                return false;
            }
            now += MS;
            whileWaiting.run();
            manager.doWork(now);
        }
        return true;
    }

    /** Runs the conductor until it has nothing to do. */
    void settle() {
        while (manager.doWork(now) > 0) {
            // Again.
        }
    }

    BlockWriter allocate(String id, long length) {
        return manager.allocate(BlockId.of(id), length, TTL);
    }

    /** Writes a block filled with a byte, in a tick of its own. */
    BlockRef put(String id, int fill, long length) {
        return put(BlockId.of(id), fill, length);
    }

    BlockRef put(BlockId id, int fill, long length) {
        now++;
        try (BlockWriter writer = manager.allocate(id, length, TTL)) {
            writer.write(0, filled(fill, length));
            return writer.commit();
        }
    }

    static Memory filled(int fill, long length) {
        MemorySegment bytes = Arena.ofAuto().allocate(length);
        bytes.fill((byte) fill);
        return Memory.of(bytes);
    }

    /** The byte that a block is filled with, or -1 when it is not here. */
    int read(String id) {
        now++;
        if (!manager.acquire(BlockId.of(id), view)) {
            return -1;
        }
        try (view) {
            return uniform(view.segment());
        }
    }

    int read(BlockRef ref) {
        if (!manager.acquire(ref, view)) {
            return -1;
        }
        try (view) {
            return uniform(view.segment());
        }
    }

    static int uniform(MemorySegment bytes) {
        byte first = bytes.get(ValueLayout.JAVA_BYTE, 0);
        for (long i = 1; i < bytes.byteSize(); i++) {
            if (bytes.get(ValueLayout.JAVA_BYTE, i) != first) {
                throw new AssertionError("torn at " + i + ": " + first + " and "
                        + bytes.get(ValueLayout.JAVA_BYTE, i));
            }
        }
        return first & 0xff;
    }

    long count(Counter counter) {
        return counters.get(counter);
    }

    /** The kind that a call throws. */
    static MooncakeException.Kind kindOf(Runnable call) {
        return assertThrows(MooncakeException.class, call::run).kind();
    }

    /** The message that a call throws with a kind. */
    static String messageOf(MooncakeException.Kind kind, Runnable call) {
        MooncakeException e = assertThrows(MooncakeException.class, call::run);
        assertEquals(kind, e.kind());
        return String.valueOf(e.getMessage());
    }

    static <T> T present(@Nullable T value) {
        return Objects.requireNonNull(value);
    }

    /** Nothing may be left: what keeps the pool from closing is named. */
    @Override
    public void close() {
        manager.close(now + TIMEOUT);
        if (manager.usage().free() != pool.slots() || !announced.isEmpty()) {
            throw new AssertionError(manager.usage() + " of " + pool.slots() + " slots, announced " + announced);
        }
    }
}
