package io.mooncake.core.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counters;
import io.mooncake.core.base.Layout;
import io.mooncake.core.base.Memory.DeviceMemory;
import io.mooncake.core.base.Memory.FileMemory;
import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.base.Waiter;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.Hold;
import io.mooncake.core.block.PrefixChain;
import io.mooncake.core.block.Tier;
import io.mooncake.core.block.Version;
import io.mooncake.core.manager.eviction.EvictionPolicy;
import io.mooncake.core.pool.BlockPool;
import io.mooncake.core.pool.DramPool;
import io.mooncake.core.pool.MemorySource;
import io.mooncake.core.pool.SizeClass;
import io.mooncake.core.sim.HostTier;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.RegionTable;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Blocks that go up and down between three tiers in any order, with copies under way while they are written anew, evicted, pinned and held, while
 * memory is set aside for some and, where blocks take as much as they need, they are moved together: what others are told is where the block is,
 * every copy has the bytes of its version, and no slot is lost.
 */
final class TiersPropertyTest {
    private static final NodeId SELF = new NodeId("a", 3);
    private static final long MS = 1_000_000;
    private static final int BYTES = 192;
    private static final int IDS = 7;

    @Test
    void shouldKeepItsTiersInOrder() {
        run(0, 150);
    }

    @Test
    @Tag("full")
    void shouldKeepItsTiersInOrderForLong() {
        run(1_000, 10_000);
    }

    private static void run(int firstSeed, int seeds) {
        int moves = 0;
        for (int seed = firstSeed; seed < firstSeed + seeds; seed++) {
            World world = new World(seed);
            try {
                for (int step = 0; step < 200; step++) {
                    world.step();
                }
                world.end();
                moves += world.moves;
            } catch (RuntimeException | AssertionError e) {
                throw new AssertionError("seed " + seed + ": " + e.getMessage(), e);
            }
        }
        assertTrue(moves > seeds, "moved together: " + moves);
    }

    /** A copy that was begun. */
    private record Copy(ReplicaWriter writer, BlockRef source) {}

    private static final class World implements BlockListener {
        final Random random;
        final Map<Tier, BlockPool> pools = new EnumMap<>(Tier.class);
        final BlockManager manager;
        /** What each version was written with. */
        final Map<Version, Byte> contents = new HashMap<>();
        /** What others would ask for. */
        final Map<BlockId, BlockRef> told = new HashMap<>();
        final List<Copy> copying = new ArrayList<>();
        final List<BlockView> views = new ArrayList<>();
        final List<Hold> holds = new ArrayList<>();
        final List<Reservation> rooms = new ArrayList<>();
        final BlockId[] ids = new BlockId[IDS];
        long now = 5;
        int moves;

        World(int seed) {
            random = new Random(seed);
            Waiter waiter = this::await;
            RegionTable regions = new RegionTable(SELF, waiter, () -> now, 100 * MS);
            List<PoolBinding> bindings = new ArrayList<>();
            for (Tier tier : Tier.values()) {
                // Seldom without a device, or without a file.
                if (tier == Tier.DRAM || random.nextInt(5) > 0) {
                    int slots = 3 + random.nextInt(4);
                    BlockPool pool = tier == Tier.SLOW || random.nextBoolean()
                            ? HostTier.of(tier, slots, BYTES)
                            : tier == Tier.VRAM
                                    ? HostTier.ofRanges(tier, 2 * slots, (long) slots * BYTES, BYTES)
                                    : DramPool.ofRanges("dram", new SizeClass(BYTES, 2 * slots), (long) slots * BYTES,
                                            MemorySource.anonymous(), random.nextBoolean());
                    pools.put(tier, pool);
                    int first = switch (tier) {
                        case VRAM -> DeviceMemory.FIRST_REGION;
                        case DRAM -> 1;
                        case SLOW -> FileMemory.FIRST_REGION;
                    };
                    bindings.add(new PoolBinding(pool, regions.register(pool.memory(), Access.GUARDED, first)));
                }
            }
            int cached = pool(Tier.DRAM).slots() - 1;
            manager = new BlockManager(new ManagerConfig(SELF, bindings, new Counters(), () -> now, waiter, _ -> 0L,
                    20 * MS, cached, EvictionPolicy.named(random.nextBoolean() ? "lru" : "adaptive"), Map.of()), this);
            if (random.nextInt(4) > 0) {
                manager.demoteBy(this::demote);
            }
            if (random.nextInt(4) > 0) {
                manager.relocateBy(this::relocate);
            }
            for (int i = 0; i < IDS; i++) {
                ids[i] = i % 2 == 0
                        ? BlockId.of("k" + i)
                        : new PrefixChain("m", new Layout(1, 1, 1, 64, "bf16"), "e", "").first(i);
            }
        }

        BlockPool pool(Tier tier) {
            BlockPool pool = pools.get(tier);
            if (pool == null) {
                throw new AssertionError(tier);
            }
            return pool;
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

        @Override
        public void onWritten(BlockRef ref, boolean forOthers) {
            if (forOthers) {
                told.put(ref.id(), ref);
            }
        }

        @Override
        public void onMoved(BlockRef from, BlockRef to) {
            if (!told.replace(from.id(), from, to)) {
                throw new AssertionError(from + " is moved, but others know " + told.get(from.id()));
            }
            moves++;
        }

        @Override
        public void onEvicted(BlockRef ref, @Nullable BlockRef left, EvictReason reason) {
            if (left != null) {
                told.put(ref.id(), left);
            } else {
                told.remove(ref.id(), ref);
            }
        }

        private BlockId anyId() {
            return ids[random.nextInt(IDS)];
        }

        private Tier anyTier() {
            Tier[] there = pools.keySet().toArray(Tier[]::new);
            return there[random.nextInt(there.length)];
        }

        void step() {
            now += random.nextInt(3);
            switch (random.nextInt(15)) {
                case 0, 1, 2 -> write();
                case 3, 4 -> begin(anyId(), anyTier());
                case 5, 6 -> finish();
                case 7 -> look();
                case 8 -> letGo();
                case 9 -> evict();
                case 10 -> setAside();
                case 11 -> {
                    long _ = manager.compact();
                }
                case 12 -> now += 60 * MS;
                default -> {
                    for (int i = random.nextInt(3); i >= 0; i--) {
                        manager.doWork(now);
                    }
                }
            }
            if (random.nextInt(8) == 0) {
                settle();
                check();
            }
        }

        private void write() {
            Tier tier = anyTier();
            byte fill = (byte) random.nextInt();
            BlockId id = anyId();
            // What a chain's id names has one length.
            long length = id.isContentAddressed() ? 1 + (id.hash() & 127) : 1 + random.nextInt(BYTES);
            try (BlockWriter writer = manager.allocate(id, length, tier == Tier.SLOW ? Tier.DRAM : tier, 1_000 * MS)) {
                writer.segment().fill(id.isContentAddressed() ? (byte) id.hash() : fill);
                BlockRef ref = writer.commit();
                contents.putIfAbsent(ref.version(), id.isContentAddressed() ? (byte) id.hash() : fill);
            } catch (MooncakeException e) {
                assertEquals(MooncakeException.Kind.OUT_OF_MEMORY, e.kind(), e::getMessage);
            }
        }

        private @Nullable Copy copy(BlockRef block, Tier tier) {
            BlockRef source = manager.nearest(block, tier);
            if (source == null || manager.isIn(block, tier)
                    || manager.tiers().step(source.tier(), tier) != tier) {
                return null;
            }
            ReplicaWriter writer = manager.allocateReplica(source, tier);
            return writer == null ? null : new Copy(writer, source);
        }

        private void begin(BlockId id, Tier tier) {
            BlockRef top = manager.find(id);
            Copy copy = top == null || copying.size() > 2 ? null : copy(top, tier);
            if (copy != null) {
                copying.add(copy);
            }
        }

        /** As an engine: under a pin, proven after; what is gone by then is given up. */
        private boolean end(Copy copy) {
            BlockRef source = copy.source;
            long pin = manager.guards()
                    .pin(source.region(), source.guardOffset(), source.guard(), source.offset(), source.length());
            if (pin < 0) {
                copy.writer.abort();
                return false;
            }
            ((HostMemory) copy.writer.memory()).segment().copyFrom(bytes(source));
            boolean whole = manager.guards().guard(pin) == source.guard();
            manager.guards().unpin(pin);
            return copy.writer.end(whole);
        }

        private void finish() {
            if (!copying.isEmpty()) {
                boolean _ = end(copying.remove(random.nextInt(copying.size())));
            }
        }

        /** Sometimes at once, sometimes later, sometimes never. */
        private @Nullable BooleanSupplier demote(BlockRef ref, Tier down) {
            Copy copy = random.nextInt(10) == 0 ? null : copy(ref, down);
            if (copy == null) {
                return random.nextBoolean() ? null : () -> true;
            }
            int[] looks = {random.nextInt(3)};
            return () -> {
                if (looks[0] > 0) {
                    looks[0]--;
                    return false;
                }
                if (looks[0] == 0) {
                    looks[0] = -1;
                    boolean _ = end(copy);
                }
                return true;
            };
        }

        private MemorySegment bytes(BlockRef ref) {
            return ((HostMemory) pool(ref.tier()).memory()).segment().asSlice(ref.offset(), ref.length());
        }

        /** Sometimes at once, sometimes later, sometimes not whole, sometimes not at all. */
        private Relocator.@Nullable Copy relocate(BlockRef from, Region into, long offset) {
            if (random.nextInt(8) == 0) {
                return null;
            }
            int[] looks = {random.nextInt(4)};
            boolean[] whole = new boolean[1];
            return new Relocator.Copy() {
                @Override
                public boolean isOver() {
                    if (looks[0]-- == 0) {
                        whole[0] = random.nextInt(8) > 0 && copy(from, into, offset);
                    }
                    return looks[0] < 0;
                }

                @Override
                public boolean isWhole() {
                    return whole[0];
                }
            };
        }

        private boolean copy(BlockRef from, Region into, long offset) {
            long pin = manager.guards()
                    .pin(from.region(), from.guardOffset(), from.guard(), from.offset(), from.length());
            if (pin < 0) {
                return false;
            }
            ((HostMemory) into.memory()).segment().asSlice(offset, from.length()).copyFrom(bytes(from));
            manager.guards().unpin(pin);
            return true;
        }

        /** For one that is not here, or will not be; taken by a writer, by a copy, or by nobody. */
        private void setAside() {
            Reservation room = rooms.size() > 1 ? null : manager.reserve(anyId(), BYTES, 50 * MS);
            if (room != null) {
                rooms.add(room);
            } else if (!rooms.isEmpty()) {
                Reservation oldest = rooms.removeFirst();
                if (random.nextBoolean()) {
                    try (BlockWriter writer = manager.write(oldest, 1_000 * MS)) {
                        if (random.nextBoolean() && !oldest.id().isContentAddressed()) {
                            writer.segment().fill((byte) 7);
                            contents.put(writer.commit().version(), (byte) 7);
                        }
                    } catch (MooncakeException e) {
                        assertEquals(MooncakeException.Kind.STALE_VERSION, e.kind(), e::getMessage);
                    }
                }
                oldest.close();
            }
        }

        private void look() {
            BlockView view = manager.newView();
            BlockRef top = manager.find(anyId());
            if (top != null && (random.nextBoolean() ? manager.acquire(top.id(), view) : manager.acquire(top, view))) {
                assertContent(view.ref(), view.segment());
                views.add(view);
            } else if (top != null) {
                holds.add(manager.hold(List.of(top), 50 * MS));
            }
        }

        private void letGo() {
            if (!views.isEmpty()) {
                BlockView view = views.remove(random.nextInt(views.size()));
                assertContent(view.ref(), view.segment());
                view.close();
            }
            if (!holds.isEmpty()) {
                holds.remove(random.nextInt(holds.size())).close();
            }
        }

        private void evict() {
            BlockId id = anyId();
            List<BlockRef> copies = manager.copies(id);
            if (copies.isEmpty()) {
                return;
            }
            BlockRef one = copies.get(random.nextInt(copies.size()));
            switch (random.nextInt(4)) {
                case 0 -> assertTrue(manager.evict(id));
                case 1 -> assertTrue(manager.drop(one));
                default -> manager.sink(id, one.version(), one.tier());
            }
        }

        private void assertContent(BlockRef ref, MemorySegment bytes) {
            Byte fill = contents.get(ref.version());
            for (long at = 0; at < bytes.byteSize(); at++) {
                assertEquals(fill, bytes.get(ValueLayout.JAVA_BYTE, at), ref + " at " + at);
            }
        }

        private void settle() {
            for (int i = 0; i < 100; i++) {
                manager.doWork(now);
            }
        }

        private void check() {
            for (BlockId id : ids) {
                List<BlockRef> copies = manager.copies(id);
                for (int i = 0; i < copies.size(); i++) {
                    BlockRef copy = copies.get(i);
                    assertContent(copy, bytes(copy));
                    assertEquals(copies.getFirst().version(), copy.version());
                    assertTrue(i == 0 || copies.get(i - 1).tier().compareTo(copy.tier()) < 0, copies::toString);
                    assertTrue(manager.isIn(copy, copy.tier()));
                }
                BlockRef best = copies.stream()
                        .filter(copy -> copy.tier() == Tier.DRAM)
                        .findFirst()
                        .orElse(copies.isEmpty() ? null : copies.getFirst());
                assertEquals(best, told.get(id));
            }
        }

        void end() {
            copying.forEach(this::end);
            views.forEach(BlockView::close);
            holds.forEach(Hold::close);
            rooms.forEach(Reservation::close);
            for (int i = 0; i < 300; i++) {
                // What is still being moved, and waits for readers, ends.
                now += MS;
                manager.doWork(now);
            }
            check();
            for (Tier tier : pools.keySet()) {
                long copies = List.of(ids)
                        .stream()
                        .flatMap(id -> manager.copies(id).stream())
                        .filter(copy -> copy.tier() == tier)
                        .count();
                assertEquals(copies, pool(tier).usage().used(), tier + " " + manager.describeHolders());
                assertEquals(0, pool(tier).usage().quarantined());
            }
            manager.close(now + 100 * MS);
        }
    }
}
