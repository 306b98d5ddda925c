package io.mooncake.core.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Layout;
import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockState;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.BlockWriter.Result;
import io.mooncake.core.block.Hold;
import io.mooncake.core.block.PrefixChain;
import io.mooncake.core.block.Version;
import io.mooncake.core.pool.BlockPool.Usage;
import io.mooncake.core.pool.GuardTable;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Random operations against a model of maps and lists. After every step: no slot has two owners and the counts add up (invariant 3), and
 * no slot was seen to take an edge that the lifecycle does not have (invariant 5).
 */
final class BlockManagerPropertyTest {
    private static final int SLOTS = 8;
    private static final int CACHED = 5;
    private static final long LENGTH = 64;
    private static final long MAX_TTL = 40;

    @Test
    void shouldAgreeWithTheModel() {
        run(0, 300, 400);
    }

    @Test
    @Tag("full")
    void shouldAgreeWithTheModelInFull() {
        run(1_000, 20_000, 1_000);
    }

    private static void run(long firstSeed, int seeds, int steps) {
        for (long seed = firstSeed; seed < firstSeed + seeds; seed++) {
            int step = 0;
            try {
                Model model = new Model(seed);
                for (; step < steps; step++) {
                    model.step();
                    model.check();
                }
                model.end();
            } catch (RuntimeException | AssertionError e) {
                throw new AssertionError("seed " + seed + ", step " + step, e);
            }
        }
    }

    private record Block(BlockRef ref, int fill) {}

    private record OpenWriter(BlockWriter writer, long deadline, int fill) {}

    private record OpenCopy(ReplicaWriter writer, int fill) {}

    private record OpenView(BlockView view, int fill) {}

    private record OpenHold(Hold hold, List<Block> blocks, long deadline) {}

    private record OpenPin(long handle, Block block) {}

    private static final class Model {
        private final SplittableRandom random;
        private final Fixture f = new Fixture(SLOTS, LENGTH, CACHED);
        private final List<BlockId> ids = new ArrayList<>();
        private final Map<BlockId, Block> table = new HashMap<>();
        private final Map<BlockId, OpenWriter> owners = new HashMap<>();
        private final Map<Version, Integer> fills = new HashMap<>();
        private final List<OpenWriter> writers = new ArrayList<>();
        private final List<OpenCopy> copies = new ArrayList<>();
        private final List<ReplicaWriter> abandoned = new ArrayList<>();
        private final List<OpenView> views = new ArrayList<>();
        private final List<OpenHold> holds = new ArrayList<>();
        private final List<OpenPin> pins = new ArrayList<>();
        private final long[] guards = new long[SLOTS];
        private int eventsSeen;
        private int lastFill;

        Model(long seed) {
            random = new SplittableRandom(seed);
            PrefixChain chain = new PrefixChain("m", new Layout(1, 1, 1, 64, "bf16"), "e", "");
            for (int i = 0; i < 6; i++) {
                ids.add(BlockId.of("id" + i));
                ids.add(chain.first(i));
            }
            for (int slot = 0; slot < SLOTS; slot++) {
                guards[slot] = f.pool.guards().read(slot);
            }
        }

        private BlockId anyId() {
            return ids.get(random.nextInt(ids.size()));
        }

        private <T> Optional<T> take(List<T> list) {
            return list.isEmpty() ? Optional.empty() : Optional.of(list.remove(random.nextInt(list.size())));
        }

        void step() {
            f.now++;
            switch (random.nextInt(17)) {
                case 0, 1, 2 -> allocate();
                case 3, 4, 5 -> take(writers).ifPresent(this::commit);
                case 6 -> take(writers).ifPresent(this::abort);
                case 7, 8 -> acquire();
                case 9 -> take(views).ifPresent(this::closeView);
                case 10 -> evict();
                case 11 -> hold();
                case 12 -> take(holds).ifPresent(open -> open.hold().close());
                case 13 -> copy();
                case 14 -> endCopy();
                case 15 -> pin();
                default -> f.manager.doWork(f.now);
            }
            if (random.nextInt(8) == 0) {
                f.manager.touch(List.of(anyId(), anyId()));
                f.now += 2;
            }
            if (random.nextInt(10) == 0) {
                f.now += random.nextInt(20);
            }
        }

        private int fill() {
            lastFill = (lastFill + 1) & 0x7f;
            return lastFill;
        }

        private void allocate() {
            BlockId id = anyId();
            OpenWriter owner = owners.get(id);
            boolean live = owner != null && writers.contains(owner) && owner.deadline() > f.now;
            long ttl = 1 + random.nextLong(MAX_TTL);
            try {
                BlockWriter writer = f.manager.allocate(id, LENGTH, ttl);
                assertFalse(live);
                OpenWriter open = new OpenWriter(writer, f.now + ttl, fill());
                writer.segment().fill((byte) open.fill());
                owners.put(id, open);
                writers.add(open);
            } catch (MooncakeException e) {
                if (e.kind() == Kind.IN_USE) {
                    assertTrue(live);
                    return;
                }
                assertEquals(Kind.OUT_OF_MEMORY, e.kind());
                policyEvents();
                assertEquals(0, f.manager.usage().free());
                for (Block block : table.values()) {
                    assertTrue(isPinned(block), () -> "could have been evicted: " + block);
                }
            }
        }

        private void commit(OpenWriter open) {
            BlockId id = open.writer().id();
            if (!open.equals(owners.get(id))) {
                assertEquals(Kind.STALE_VERSION, Fixture.kindOf(open.writer()::commit));
                return;
            }
            owners.remove(id);
            Block before = table.get(id);
            BlockRef ref;
            if (random.nextInt(4) == 0) {
                long ttl = 1 + random.nextLong(MAX_TTL);
                Hold hold = open.writer().commitAndHold(LENGTH, Duration.ofNanos(ttl));
                ref = hold.refs().getFirst();
                int fill = open.writer().result() == Result.WRITTEN
                        ? open.fill()
                        : Objects.requireNonNull(before).fill();
                holds.add(new OpenHold(hold, List.of(new Block(ref, fill)), f.now + ttl));
            } else {
                ref = open.writer().commit();
            }
            if (before != null && id.isContentAddressed()) {
                assertEquals(Result.ALREADY_WRITTEN, open.writer().result());
                assertEquals(before.ref(), ref);
                return;
            }
            assertEquals(Result.WRITTEN, open.writer().result());
            assertTrue(before == null || ref.version().compareTo(before.ref().version()) > 0);
            assertNull(fills.put(ref.version(), open.fill()), "a version was given out twice");
            table.put(id, new Block(ref, open.fill()));
        }

        private void abort(OpenWriter open) {
            if (owners.remove(open.writer().id(), open)) {
                open.writer().abort();
            } else {
                open.writer().close();
            }
            assertEquals(Result.ABORTED, open.writer().result());
        }

        private void acquire() {
            BlockId id = anyId();
            Block block = table.get(id);
            BlockView view = f.manager.newView();
            boolean found = (block == null || random.nextBoolean())
                    ? f.manager.acquire(id, view)
                    : f.manager.acquire(block.ref(), view);
            assertEquals(block != null, found);
            if (block != null) {
                assertEquals(block.ref(), view.ref());
                views.add(new OpenView(view, block.fill()));
            }
        }

        private void closeView(OpenView open) {
            open.view().close();
            open.view().close();
        }

        private void evict() {
            BlockId id = anyId();
            assertEquals(table.remove(id) != null, f.manager.evict(id));
        }

        private void hold() {
            List<BlockRef> wanted = new ArrayList<>();
            List<Block> leading = new ArrayList<>();
            for (Block block : table.values()) {
                wanted.add(block.ref());
                leading.add(block);
                if (wanted.size() == 2) {
                    break;
                }
            }
            if (!wanted.isEmpty() && random.nextBoolean()) {
                BlockRef ref = wanted.removeLast();
                boolean moved = random.nextBoolean();
                Version version = moved
                        ? ref.version()
                        : new Version(ref.version().counter() + 1_000, ref.version().writer());
                // By a reference to where it was it is held where it is; another version is not.
                wanted.add(new BlockRef(ref.id(), version, ref.node(), ref.region(), ref.offset(), ref.length(),
                        ref.guardIndex(), ref.guard() + (1 << 4)));
                if (!moved) {
                    leading.removeLast();
                }
            }
            long ttl = 1 + random.nextLong(MAX_TTL);
            Hold hold = f.manager.hold(wanted, ttl);
            assertEquals(leading.stream().map(Block::ref).toList(), hold.refs());
            holds.add(new OpenHold(hold, leading, f.now + ttl));
        }

        private void copy() {
            Version version = new Version(1 + random.nextLong(60), 9);
            ReplicaWriter writer = f.manager.allocateReplica(anyId(), version, LENGTH);
            assertEquals(f.manager.usage().free() == 0 && writer == null, writer == null);
            if (writer != null) {
                // All copies of a version are equal.
                int fill = fills.computeIfAbsent(version, v -> 0x80 | fill());
                ((HostMemory) writer.memory()).segment().fill((byte) fill);
                copies.add(new OpenCopy(writer, fill));
            }
        }

        private void endCopy() {
            take(abandoned).ifPresent(ReplicaWriter::released);
            take(copies).ifPresent(open -> {
                switch (random.nextInt(3)) {
                    case 0 -> {
                        open.writer().abandon();
                        abandoned.add(open.writer());
                    }
                    case 1 -> open.writer().abort();
                    default -> commit(open);
                }
            });
        }

        private void commit(OpenCopy open) {
            Block before = table.get(open.writer().id());
            BlockRef ref = open.writer().commit();
            int order = before == null ? 1 : open.writer().version().compareTo(before.ref().version());
            assertEquals(order > 0 ? Result.WRITTEN : order == 0 ? Result.ALREADY_WRITTEN : Result.SUPERSEDED,
                    open.writer().result());
            if (order > 0) {
                assertEquals(open.writer().version(), ref.version());
                table.put(ref.id(), new Block(ref, open.fill()));
            } else {
                assertEquals(Objects.requireNonNull(before).ref(), ref);
            }
        }

        private void pin() {
            take(pins).ifPresent(open -> {
                assertEquals(open.block().fill(), bytesOf(open.block()));
                f.manager.guards().unpin(open.handle());
            });
            Block block = table.get(anyId());
            if (block != null) {
                BlockRef ref = block.ref();
                long handle = f.manager.guards()
                        .pin(ref.region(), ref.guardOffset(), ref.guard(), ref.offset(), LENGTH);
                assertTrue(handle >= 0);
                assertEquals(ref.guard(), f.manager.guards().guard(handle));
                pins.add(new OpenPin(handle, block));
            }
        }

        private int bytesOf(Block block) {
            return Fixture.uniform(((HostMemory) f.pool.memory()).segment().asSlice(block.ref().offset(), LENGTH));
        }

        private boolean isPinned(Block block) {
            return views.stream().anyMatch(open -> open.view().ref().equals(block.ref()))
                    || pins.stream().anyMatch(open -> open.block().equals(block))
                    || holds.stream().anyMatch(open -> open.hold().isOpen() && open.blocks().contains(block));
        }

        // ---- after every step

        void check() {
            policyEvents();
            holds.removeIf(open -> {
                boolean over = open.deadline() <= f.now;
                assertTrue(!over || !open.hold().isOpen());
                return over;
            });
            for (BlockId id : ids) {
                Block block = table.get(id);
                assertEquals(block == null ? null : block.ref(), f.manager.find(id));
            }
            assertEquals(table.size(), f.manager.writtenBlocks());
            for (OpenView open : views) {
                assertEquals(open.fill(), Fixture.uniform(open.view().segment()));
            }
            for (OpenHold open : holds) {
                for (Block block : open.blocks()) {
                    assertEquals(block.ref().guard(), f.pool.guards().read(block.ref().guardIndex()));
                    assertEquals(block.fill(), bytesOf(block));
                    assertEquals(block.fill(), f.read(block.ref()));
                }
            }
            slots();
        }

        /** A policy took blocks out: they were announced, nobody had them pinned. */
        private void policyEvents() {
            for (; eventsSeen < f.events.size(); eventsSeen++) {
                String event = f.events.get(eventsSeen);
                if (event.startsWith("POLICY")) {
                    Block gone = table.values()
                            .stream()
                            .filter(block -> event
                                    .equals("POLICY " + block.ref().id() + " " + block.ref().version().counter()))
                            .max(Comparator.comparing(block -> block.ref().version()))
                            .orElseThrow();
                    assertFalse(isPinned(gone), event);
                    table.remove(gone.ref().id());
                }
            }
        }

        private void slots() {
            Usage usage = f.manager.usage();
            assertEquals(SLOTS, usage.capacity());
            int free = 0;
            int quarantined = 0;
            for (int slot = 0; slot < SLOTS; slot++) {
                long guard = f.pool.guards().read(slot);
                long word = f.manager.table.words.get(slot);
                BlockState state = GuardTable.state(guard);
                assertEquals(state, ControlWords.state(word));
                assertEquals(GuardTable.generation(guard) & ((1L << 40) - 1),
                        state == BlockState.FREE && ControlWords.generation(word) == 0
                                ? GuardTable.generation(guard)
                                : ControlWords.generation(word));
                assertTrue(age(guard) >= age(guards[slot]), "a guard went back");
                guards[slot] = guard;
                free += state == BlockState.FREE ? 1 : 0;
                quarantined += f.manager.table.words.fate(slot) >= SlotTable.QUARANTINED
                        && state == BlockState.ALLOCATED
                                ? 1
                                : 0;
                if (state == BlockState.FREE || state == BlockState.ALLOCATED) {
                    assertEquals(0, ControlWords.pins(word));
                }
            }
            assertEquals(new Usage(SLOTS - free - quarantined, quarantined, free), usage);
            int owned = writers.size() + copies.size() + table.size();
            assertTrue(owned <= usage.used(), () -> owned + " owners of " + usage);
        }

        /** Grows with every edge: FREE is the last state of its generation. */
        private static long age(long guard) {
            return guard + (GuardTable.state(guard) == BlockState.FREE ? 4 : 0);
        }

        void end() {
            writers.forEach(open -> open.writer().close());
            copies.forEach(open -> open.writer().abort());
            abandoned.forEach(ReplicaWriter::released);
            views.forEach(this::closeView);
            holds.forEach(open -> open.hold().close());
            pins.forEach(open -> f.manager.guards().unpin(open.handle()));
            views.clear();
            pins.clear();
            f.settle();
            policyEvents();
            assertEquals("nobody", f.manager.describeHolders());
            assertTrue(f.manager.writtenBlocks() <= CACHED);
            assertEquals(table.size(), f.manager.usage().used());
            f.close();
        }
    }
}
