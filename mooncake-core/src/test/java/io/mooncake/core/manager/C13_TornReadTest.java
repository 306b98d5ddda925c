package io.mooncake.core.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counters;
import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.base.Waiter;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.Version;
import io.mooncake.core.manager.eviction.EvictionPolicy;
import io.mooncake.core.pool.DramPool;
import io.mooncake.core.pool.MemorySource;
import io.mooncake.core.pool.SizeClass;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.RegionTable;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Two writers rewrite and evict a block while others read it, in three ways: by a view, under a pin as engines do, and as a device does,
 * without asking anybody, by the bytes and then the guard.
 */
final class C13_TornReadTest {
    private static final NodeId SELF = new NodeId("a", 1);
    private static final BlockId K = BlockId.of("k");
    private static final long SECOND = 1_000_000_000L;
    private static final int WRITERS = 2;
    private static final int READERS = 4;

    private final int slots = 4;
    private final AtomicLong clock = new AtomicLong();
    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    /** What each version was filled with; looked at when all threads have ended. */
    private final Map<Version, Integer> writtenBy = new ConcurrentHashMap<>();
    private final Map<Version, Integer> readAs = new ConcurrentHashMap<>();
    private final AtomicInteger writersLeft = new AtomicInteger(WRITERS);
    private final AtomicInteger[] hits = {new AtomicInteger(), new AtomicInteger(), new AtomicInteger()};
    private volatile boolean stop;

    @Test
    void shouldNeverReadTornBytes() throws InterruptedException {
        run(64 << 10, 1_500);
    }

    @Test
    @Tag("full")
    void shouldNeverReadTornBytesInFull() throws InterruptedException {
        run(1 << 20, 3_000);
    }

    private void run(long length, int rounds) throws InterruptedException {
        DramPool pool = new DramPool("dram", List.of(new SizeClass(length, slots)), MemorySource.anonymous());
        // Time is counted in looks at the clock: no test outcome hangs on how fast the machine is.
        Waiter waiter = (done, deadlineNs) -> {
            while (!done.getAsBoolean()) {
                if (clock.get() - deadlineNs >= 0 || failure.get() != null) {
                    return false;
                }
                LockSupport.parkNanos(1);
            }
            return true;
        };
        Region region = new RegionTable(SELF, waiter, clock::incrementAndGet, SECOND).register(pool.memory(),
                Access.GUARDED);
        BlockManager manager = new BlockManager(
                new ManagerConfig(SELF, List.of(new PoolBinding(pool, region)), new Counters(),
                        clock::incrementAndGet,
                        waiter,
                        id -> 0, SECOND, slots, EvictionPolicy.named("lru"), Map.of()),
                new BlockListener() {
                    @Override
                    public void onWritten(BlockRef ref, boolean fastest) {}

                    @Override
                    public void onEvicted(BlockRef ref, @Nullable BlockRef left, EvictReason reason) {}

                    @Override
                    public void onMoved(BlockRef from, BlockRef to) {}
                });
        Thread conductor = start(() -> {
            while (!stop) {
                if (manager.doWork(clock.get()) == 0) {
                    LockSupport.parkNanos(1);
                }
            }
        });
        List<Thread> threads = new ArrayList<>();
        for (int w = 0; w < WRITERS; w++) {
            int first = w << 24;
            threads.add(start(() -> write(manager, length, first, rounds)));
        }
        MemorySegment bytes = ((HostMemory) pool.memory()).segment();
        for (int r = 0; r < READERS; r++) {
            int kind = r % 3;
            threads.add(start(() -> {
                MemorySegment copy = Arena.ofAuto().allocate(length, 8);
                BlockView view = manager.newView();
                while (writersLeft.get() > 0 && failure.get() == null) {
                    switch (kind) {
                        case 0 -> readView(manager, view);
                        case 1 -> readPinned(manager, bytes, copy);
                        default -> readAsADevice(manager, pool, bytes, copy);
                    }
                }
            }));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        stop = true;
        conductor.join();
        if (failure.get() != null) {
            throw new AssertionError(failure.get());
        }
        manager.close(clock.get() + SECOND);
        for (AtomicInteger hit : hits) {
            assertTrue(hit.get() > 0, "a way of reading never hit");
        }
        readAs.forEach((version, value) -> assertEquals(writtenBy.get(version), value, () -> "content of " + version));
    }

    private Thread start(Runnable work) {
        return Thread.ofPlatform().start(() -> {
            try {
                work.run();
            } catch (Throwable e) {
                failure.compareAndSet(null, e);
            }
        });
    }

    private void write(BlockManager manager, long length, int first, int rounds) {
        try {
            for (int i = 1; i <= rounds && failure.get() == null;) {
                try (BlockWriter writer = manager.allocate(K, length, SECOND)) {
                    MemorySegment segment = writer.segment();
                    for (long at = 0; at < length; at += 4) {
                        segment.set(ValueLayout.JAVA_INT, at, first + i);
                    }
                    writtenBy.put(writer.commit().version(), first + i);
                    i++;
                } catch (MooncakeException e) {
                    // The other one is writing; or all slots are pinned by readers that wait for a CPU.
                    assertTrue(e.kind() == Kind.IN_USE || e.kind() == Kind.OUT_OF_MEMORY, e::toString);
                }
                if (i % 2 == 0) {
                    manager.evict(K);
                }
            }
        } finally {
            writersLeft.decrementAndGet();
        }
    }

    private void readView(BlockManager manager, BlockView view) {
        if (manager.acquire(K, view)) {
            try (view) {
                check(0, view.ref(), view.segment());
            }
        }
    }

    private void readPinned(BlockManager manager, MemorySegment memory, MemorySegment copy) {
        BlockRef ref = manager.find(K);
        long pin = ref == null
                ? -1
                : manager.guards().pin(ref.region(), ref.guardOffset(), ref.guard(), ref.offset(), ref.length());
        if (ref != null && pin >= 0) {
            MemorySegment.copy(memory, ref.offset(), copy, 0, ref.length());
            manager.guards().guard(pin);
            manager.guards().unpin(pin);
            check(1, ref, copy);
        }
    }

    private void readAsADevice(BlockManager manager, DramPool pool, MemorySegment memory, MemorySegment copy) {
        BlockRef ref = manager.find(K);
        if (ref != null) {
            MemorySegment.copy(memory, ref.offset(), copy, 0, ref.length());
            if (pool.guards().read(ref.guardIndex()) == ref.guard()) {
                check(2, ref, copy);
            }
        }
    }

    private void check(int kind, BlockRef ref, MemorySegment bytes) {
        int value = bytes.get(ValueLayout.JAVA_INT, 0);
        for (long at = 4; at < ref.length(); at += 4) {
            int other = bytes.get(ValueLayout.JAVA_INT, at);
            if (other != value) {
                throw new AssertionError("torn: " + value + " and " + other + " at " + at + " of " + ref);
            }
        }
        Integer before = readAs.put(ref.version(), value);
        if (before != null && before != value) {
            throw new AssertionError("two contents of " + ref + ": " + before + " and " + value);
        }
        hits[kind].incrementAndGet();
    }
}
