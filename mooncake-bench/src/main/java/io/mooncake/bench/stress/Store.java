package io.mooncake.bench.stress;

import io.mooncake.core.base.Counters;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.base.Waiter;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.manager.BlockListener;
import io.mooncake.core.manager.BlockManager;
import io.mooncake.core.manager.ManagerConfig;
import io.mooncake.core.manager.PoolBinding;
import io.mooncake.core.manager.eviction.EvictionPolicy;
import io.mooncake.core.pool.DramPool;
import io.mooncake.core.pool.MemorySource;
import io.mooncake.core.pool.SizeClass;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.RegionTable;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A block manager small enough to be made for every run of a test: all share the bytes, which nobody looks at. */
final class Store {
    static final BlockId ID = BlockId.of("k");
    static final long TTL_NS = 10;

    private static final NodeId SELF = new NodeId("a", 1);
    private static final int SLOTS = 3;
    private static final long LENGTH = 64;
    private static final MemorySegment BYTES = Arena.global().allocate(SLOTS * LENGTH, 64);
    private static final Counters COUNTERS = new Counters();

    /** The clock; no test lets two threads set it. */
    volatile long nowNs = 1;

    final DramPool pool = pool();
    final BlockManager manager;

    Store() {
        Waiter never = (done, deadlineNs) -> done.getAsBoolean();
        RegionTable regions = new RegionTable(SELF, never, () -> nowNs, 0);
        manager = new BlockManager(new ManagerConfig(SELF,
                List.of(new PoolBinding(pool, regions.register(pool.memory(), Access.GUARDED))), COUNTERS,
                () -> nowNs,
                never,
                id -> 0, 0, SLOTS, EvictionPolicy.named("lru"), Map.of()), new Nobody());
    }

    /** A pool that needs no closing: nothing is taken from its arena, so the collector takes all of it. */
    static DramPool pool() {
        return new DramPool("stress", List.of(new SizeClass(LENGTH, SLOTS)), new SharedBytes());
    }

    /** The pool asks for the slots first, then for the guards: those are its own. */
    private static final class SharedBytes implements MemorySource {
        private boolean asked;

        @Override
        public MemorySegment reserve(long bytes, long alignment, Arena arena) {
            if (asked) {
                return MemorySegment.ofArray(new long[Math.toIntExact(bytes / Long.BYTES)]);
            }
            asked = true;
            return BYTES;
        }
    }

    BlockWriter writer() {
        return manager.allocate(ID, LENGTH, TTL_NS);
    }

    BlockRef put() {
        return writer().commit();
    }

    /** Runs the conductor until it has nothing to do. */
    void settle() {
        while (manager.doWork(nowNs) > 0) {
            // Again.
        }
    }

    private static final class Nobody implements BlockListener {
        @Override
        public void onWritten(BlockRef ref, boolean fastest) {}

        @Override
        public void onEvicted(BlockRef ref, @Nullable BlockRef left, EvictReason reason) {}

        @Override
        public void onMoved(BlockRef from, BlockRef to) {}
    }
}
