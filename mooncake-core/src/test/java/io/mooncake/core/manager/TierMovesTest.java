package io.mooncake.core.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counters;
import io.mooncake.core.base.Memory.DeviceMemory;
import io.mooncake.core.base.Memory.FileMemory;
import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.base.Waiter;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.Hold;
import io.mooncake.core.block.Tier;
import io.mooncake.core.manager.eviction.EvictionPolicy;
import io.mooncake.core.pool.BlockPool;
import io.mooncake.core.pool.DramPool;
import io.mooncake.core.pool.MemorySource;
import io.mooncake.core.pool.SizeClass;
import io.mooncake.core.sim.HostTier;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.RegionTable;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A manager of two tiers, four slots each, one of them spare, whose copies the test makes. */
final class TierMovesTest implements BlockListener {
    private static final NodeId SELF = new NodeId("a", 3);
    private static final long MS = 1_000_000;
    private static final int BYTES = 64;
    private static final int SLOTS = 4;

    private final BlockPool vram = HostTier.of(Tier.VRAM, SLOTS, BYTES);
    private final BlockPool dram = HostTier.of(Tier.DRAM, SLOTS, BYTES);
    private final BlockManager manager;
    private long now = 5;

    TierMovesTest() {
        Waiter waiter = this::await;
        RegionTable regions = new RegionTable(SELF, waiter, () -> now, 100 * MS);
        manager = new BlockManager(new ManagerConfig(SELF,
                List.of(new PoolBinding(dram, regions.register(dram.memory(), Access.GUARDED, 1)),
                        new PoolBinding(vram,
                                regions.register(vram.memory(), Access.GUARDED, DeviceMemory.FIRST_REGION))),
                new Counters(), () -> now, waiter, _ -> 0L, 20 * MS, SLOTS - 1, EvictionPolicy.named("lru"), Map.of()),
                this);
    }

    @AfterEach
    void close() {
        manager.close(now + 100 * MS);
        assertEquals(0, vram.usage().used() + vram.usage().quarantined());
        assertEquals(0, dram.usage().used() + dram.usage().quarantined());
    }

    private boolean await(BooleanSupplier done, long deadlineNs) {
        while (!done.getAsBoolean()) {
            if (now - deadlineNs >= 0) {
                return false;
            }
            now += MS;
            manager.doWork(now);
        }
        return true;
    }

    private Runnable waiting = () -> {};

    private boolean awaitMixed(BooleanSupplier done, long deadlineNs) {
        while (!done.getAsBoolean()) {
            if (now - deadlineNs >= 0) {
                return false;
            }
            now += MS;
            waiting.run();
        }
        return true;
    }

    @Override
    public void onWritten(BlockRef ref, boolean forOthers) {}

    @Override
    public void onEvicted(BlockRef ref, @Nullable BlockRef left, EvictReason reason) {}

    @Override
    public void onMoved(BlockRef from, BlockRef to) {}

    private static BlockId id(int number) {
        return BlockId.of("k" + number);
    }

    private BlockRef write(int number, Tier tier) {
        try (BlockWriter writer = manager.allocate(id(number), BYTES, tier, 1_000 * MS)) {
            writer.segment().fill((byte) number);
            return writer.commit();
        }
    }

    private int settle() {
        int most = 0;
        for (int i = 0; i < 50; i++) {
            most = Math.max(most, manager.doWork(now));
        }
        return most;
    }

    private void copy(BlockRef from, Tier to) {
        ReplicaWriter writer = manager.allocateReplica(from, to);
        assertNotNull(writer, "no slot in " + to);
        BlockPool source = from.tier() == Tier.VRAM ? vram : dram;
        ((HostMemory) writer.memory()).segment()
                .copyFrom(((HostMemory) source.memory()).segment().asSlice(from.offset(), from.length()));
        writer.commit();
    }

    private List<Tier> tiers(int number) {
        return manager.copies(id(number)).stream().map(BlockRef::tier).toList();
    }

    /** A scheduler asks again and again: that is one thing to be done when the reader has gone. */
    @Test
    void shouldGiveUpACopyOnceHoweverOftenItIsToSink() {
        BlockRef up = write(1, Tier.VRAM);
        copy(up, Tier.DRAM);
        try (BlockView view = manager.newView()) {
            assertTrue(manager.acquire(id(1), view));
            for (int i = 0; i < 1_000; i++) {
                manager.sink(id(1), up.version(), Tier.DRAM);
                manager.doWork(now);
            }
            assertEquals(List.of(Tier.VRAM, Tier.DRAM), tiers(1));
        }
        assertTrue(settle() < 10);
        assertEquals(List.of(Tier.DRAM), tiers(1));
    }

    /** What is on the device only comes down into the room that was set aside for it, and is held there. */
    @Test
    void shouldBringABlockDownIntoTheRoomThatWasSetAsideForIt() {
        BlockRef up = write(1, Tier.VRAM);
        Reservation room = manager.reserve(id(1), BYTES, Tier.DRAM, 500 * MS);
        assertNotNull(room);
        Hold[] held = new Hold[SLOTS - 1];
        for (int i = 0; i < held.length; i++) {
            held[i] = manager.hold(List.of(write(10 + i, Tier.DRAM)), 1_000 * MS);
        }
        copy(up, Tier.DRAM);
        assertEquals(List.of(Tier.VRAM, Tier.DRAM), tiers(1));
        settle();
        for (Hold hold : held) {
            hold.close();
        }
        for (int i = 0; i < SLOTS + 2; i++) {
            write(20 + i, Tier.DRAM);
        }
        settle();
        assertEquals(List.of(Tier.VRAM, Tier.DRAM), tiers(1), "it is held");
        room.close();
        for (int i = 0; i < SLOTS + 2; i++) {
            write(30 + i, Tier.DRAM);
        }
        assertEquals(List.of(Tier.VRAM), tiers(1));
    }

    /** One that it is to sink below, and that has gone by then, is no reason to lose the block. */
    @Test
    void shouldNotGiveUpTheLastCopyOfABlock() {
        BlockRef up = write(1, Tier.VRAM);
        copy(up, Tier.DRAM);
        settle();
        try (BlockView view = manager.newView()) {
            assertTrue(manager.acquire(id(1), view));
            manager.sink(id(1), up.version(), Tier.DRAM);
            settle();
            assertTrue(manager.drop(manager.copies(id(1)).getLast()));
            settle();
        }
        settle();
        assertEquals(List.of(Tier.VRAM), tiers(1));
    }

    /** Room that was lent to a copy which did not come is set aside again, for the next. */
    @Test
    void shouldHaveRoomBackThatACopyDidNotNeed() {
        BlockRef up = write(1, Tier.VRAM);
        Reservation room = manager.reserve(id(1), BYTES, Tier.DRAM, 500 * MS);
        assertNotNull(room);
        for (int i = 0; i < 3; i++) {
            ReplicaWriter failing = manager.allocateReplica(up, Tier.DRAM);
            assertNotNull(failing);
            assertEquals(1, dram.usage().used());
            failing.abort();
            assertEquals(1, dram.usage().used());
        }
        try (BlockWriter writer = manager.write(room, 500 * MS)) {
            assertEquals(1, dram.usage().used());
            assertEquals(BYTES, writer.length());
        }
        assertEquals(0, dram.usage().used());
    }

    /** What somebody takes away while it is copied, up or down, does not come back; what a policy does is saved by the copy. */
    @Test
    void shouldNotBringBackWhatWasEvictedMeanwhile() {
        for (Tier from : List.of(Tier.DRAM, Tier.VRAM)) {
            ReplicaWriter asked = begun(write(1, from));
            assertTrue(manager.evict(id(1)));
            settle();
            asked.commit();
            assertNull(manager.find(id(1)), () -> "from " + from);
            settle();
        }
        ReplicaWriter wanted = begun(write(1, Tier.DRAM));
        for (int i = 0; i < SLOTS - 1; i++) {
            now++;
            write(10 + i, Tier.DRAM);
        }
        settle();
        assertNull(manager.find(id(1)), "one more than are kept");
        wanted.commit();
        settle();
        assertEquals(List.of(Tier.VRAM), tiers(1));
    }

    private ReplicaWriter begun(BlockRef from) {
        ReplicaWriter writer = manager.allocateReplica(from, from.tier() == Tier.VRAM ? Tier.DRAM : Tier.VRAM);
        assertNotNull(writer);
        return writer;
    }

    /** A long block needs the room of many short ones, which go down together: one after the other would take too long. */
    @Test
    void shouldBringDownAsManyAtATimeAsALongBlockNeeds() {
        Waiter waiter = this::await;
        RegionTable regions = new RegionTable(SELF, waiter, () -> now, 100 * MS);
        BlockPool ranges = DramPool.ofRanges("ranges", new SizeClass(16 * BYTES, 16), 16 * BYTES,
                MemorySource.anonymous(), false);
        BlockPool file = HostTier.of(Tier.SLOW, 40, BYTES);
        BlockManager mixed = new BlockManager(new ManagerConfig(SELF,
                List.of(new PoolBinding(ranges, regions.register(ranges.memory(), Access.GUARDED, 1)),
                        new PoolBinding(file,
                                regions.register(file.memory(), Access.GUARDED, FileMemory.FIRST_REGION))),
                new Counters(), () -> now, this::awaitMixed, _ -> 0L, 20 * MS, 16, EvictionPolicy.named("lru"),
                Map.of()),
                this);
        waiting = () -> mixed.doWork(now);
        mixed.demoteBy((ref, down) -> {
            ReplicaWriter writer = mixed.allocateReplica(ref, down);
            long untilNs = now + 3 * MS;
            boolean[] over = new boolean[1];
            return () -> {
                if (!over[0] && now - untilNs >= 0) {
                    over[0] = true;
                    Fixture.present(writer).commit();
                }
                return over[0];
            };
        });
        for (int i = 0; i < 16; i++) {
            try (BlockWriter writer = mixed.allocate(id(i), BYTES, Tier.DRAM, 1_000 * MS)) {
                writer.commit();
            }
        }
        for (int i = 0; i < 20; i++) {
            mixed.doWork(now);
        }
        try (BlockWriter writer = mixed.allocate(id(99), 16 * BYTES, Tier.DRAM, 1_000 * MS)) {
            assertEquals(16, mixed.usage(Tier.SLOW).used(), "none was dropped");
            writer.commit();
        }
        mixed.close(now + 100 * MS);
    }

    @Test
    void shouldKeepNothingOfRoomWhoseCopyIsNotWantedAnyMore() {
        BlockRef up = write(1, Tier.VRAM);
        Reservation room = manager.reserve(id(1), BYTES, Tier.DRAM, 500 * MS);
        assertNotNull(room);
        ReplicaWriter writer = manager.allocateReplica(up, Tier.DRAM);
        assertNotNull(writer);
        assertTrue(manager.evict(id(1)));
        writer.commit();
        settle();
        assertNull(manager.find(id(1)));
        assertEquals(0, dram.usage().used());
        room.close();
    }
}
