package io.mooncake.core.manager;

import static io.mooncake.core.manager.Fixture.MS;
import static io.mooncake.core.manager.Fixture.filled;
import static io.mooncake.core.manager.Fixture.kindOf;
import static io.mooncake.core.manager.Fixture.present;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockState;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.BlockWriter.Result;
import io.mooncake.core.block.Version;
import io.mooncake.core.pool.BlockPool.Usage;
import io.mooncake.core.pool.GuardTable;
import io.mooncake.core.transfer.GuardSource;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Acceptance cases at the manager; C13 and C54 have tests of their own. */
final class CasesTest {
    private static final BlockId K = BlockId.of("k");
    private static final long MIB = 1 << 20;

    @Test
    void C12_shouldFindNothingByAReferenceWhoseSlotWasReused() {
        try (Fixture f = new Fixture(1, MIB, 1)) {
            BlockRef old = f.put("k1", 0x11, MIB);
            f.manager.evict(BlockId.of("k1"));
            f.settle();
            BlockRef next = f.put("k2", 0x22, MIB);
            assertEquals(old.offset(), next.offset());
            assertEquals(old.guardIndex(), next.guardIndex());
            assertNotEquals(old.guard(), next.guard());
            assertFalse(f.manager.acquire(old, f.view));
            assertEquals(List.of(), f.manager.hold(List.of(old), 1).refs());
            assertEquals(GuardSource.STALE,
                    f.manager.guards().pin(old.region(), old.guardOffset(), old.guard(), old.offset(), old.length()));
            assertEquals(0x22, f.read("k2"));
            assertEquals(-1, f.read("k1"));
        }
    }

    @Test
    void C14_shouldNotShowWhatIsAllocatedOnly() {
        try (Fixture f = new Fixture(2, MIB, 2); BlockWriter writer = f.allocate("k", MIB)) {
            long start = f.now;
            assertNull(f.manager.find(K));
            assertFalse(f.manager.acquire(K, f.view));
            assertFalse(f.manager.evict(K));
            assertEquals(0, f.manager.writtenBlocks());
            assertEquals(f.now + Fixture.TTL, f.manager.pendingUntil(K));
            int slot = 0;
            long guard = f.pool.guards().read(slot);
            assertEquals(BlockState.ALLOCATED, GuardTable.state(guard));
            long asIfWritten = GuardTable.guard(GuardTable.generation(guard), BlockState.WRITTEN);
            for (long expected : new long[]{guard, asIfWritten}) {
                assertEquals(GuardSource.STALE,
                        f.manager.guards().pin(f.region.id(), 0, expected, f.pool.offset(slot), 1));
            }
            f.settle();
            assertEquals(List.of(), f.events);
            assertEquals(Kind.IN_USE, kindOf(() -> f.allocate("k", MIB)));
            assertEquals(start, f.now);
            assertEquals(Result.OPEN, writer.result());
        }
    }

    @Test
    void C16_shouldRefuseTheLateCommitOfAnOvertakenWriter() {
        try (Fixture f = new Fixture(2, 4096, 2)) {
            BlockWriter first = f.manager.allocate(K, 4096, 1000 * MS);
            f.now += 999 * MS;
            assertEquals(Kind.IN_USE, kindOf(() -> f.allocate("k", 4096)));
            f.now += 2001 * MS;
            assertEquals(0, f.manager.pendingUntil(K));
            BlockWriter second = f.allocate("k", 4096);
            second.write(0, filled(0x22, 4096));
            first.write(0, filled(0x11, 4096));
            BlockRef ref = second.commit();
            first.write(0, filled(0x11, 4096));
            assertEquals(Kind.STALE_VERSION, kindOf(first::commit));
            assertEquals(Kind.STALE_VERSION, kindOf(first::abort));
            assertEquals(Kind.STALE_VERSION, kindOf(first::commit));
            first.close();
            assertEquals(0x22, f.read("k"));
            assertEquals(ref, f.manager.find(K));
            assertEquals(new Usage(1, 0, 1), f.manager.usage());
            assertEquals(1, f.count(Counter.WRITES_STALE));
        }
    }

    @Test
    void C16_shouldGiveBackTheSlotOfAnOvertakenWriterThatAborts() {
        try (Fixture f = new Fixture(2, 64, 2)) {
            BlockWriter first = f.manager.allocate(K, 64, MS);
            f.now += MS;
            BlockWriter second = f.allocate("k", 64);
            assertEquals(Kind.STALE_VERSION, kindOf(first::abort));
            assertEquals(new Usage(1, 0, 1), f.manager.usage());
            assertEquals(f.now + Fixture.TTL, f.manager.pendingUntil(K));
            second.commit();
        }
    }

    @Test
    void C16_shouldCommitLateWhenNobodyTookTheId() {
        try (Fixture f = new Fixture(1, 64, 1)) {
            BlockWriter late = f.manager.allocate(K, 64, MS);
            f.now += 1000 * MS;
            late.write(0, filled(5, 64));
            late.commit();
            assertEquals(5, f.read("k"));
        }
    }

    /** What the matrix does to a block that is in a state. */
    private enum Operation {
        COMMIT, EVICT, FREE, WRITE, READ
    }

    @Test
    void C17_shouldAllowTheDocumentedEdgesOnly() {
        for (BlockState state : BlockState.values()) {
            for (Operation operation : Operation.values()) {
                for (int twice = 0; twice < 2; twice++) {
                    matrix(state, operation);
                }
            }
        }
    }

    private static void matrix(BlockState state, Operation operation) {
        String cell = state + " x " + operation;
        try (Fixture f = new Fixture(2, 64, 2)) {
            BlockView pin = f.manager.newView();
            BlockWriter writer = f.allocate("k", 64);
            writer.write(0, filled(1, 64));
            @Nullable
            BlockRef ref = null;
            if (state == BlockState.FREE) {
                writer.abort();
            } else if (state != BlockState.ALLOCATED) {
                ref = writer.commit();
                f.settle();
                if (state == BlockState.EVICTED) {
                    assertTrue(f.manager.acquire(K, pin));
                    assertTrue(f.manager.evict(K));
                    f.settle();
                }
            }
            assertEquals(state, stateOf(f), cell);
            long guard = f.pool.guards().read(0);
            var counters = f.counters.snapshot();

            Outcome outcome = attempt(f, writer, ref, operation);
            assertEquals(expected(state, operation), outcome, cell);
            f.settle();
            if (outcome != Outcome.DONE || operation == Operation.WRITE || operation == Operation.READ) {
                assertEquals(state, stateOf(f), cell);
                assertEquals(guard, f.pool.guards().read(0), cell);
            }
            if (outcome == Outcome.ILLEGAL || outcome == Outcome.NOT_THERE) {
                assertEquals(counters, f.counters.snapshot(), cell);
                assertNotEquals(Outcome.DONE, attempt(f, writer, ref, operation), cell + " again");
            } else if (operation == Operation.COMMIT || operation == Operation.EVICT || operation == Operation.FREE) {
                assertNotEquals(Outcome.DONE, attempt(f, writer, ref, operation), cell + " twice");
            }

            pin.close();
            writer.close();
            f.put("other", 9, 64);
            assertEquals(9, f.read("other"), cell);
        }
    }

    private enum Outcome {
        DONE, ILLEGAL, NOT_THERE
    }

    private static Outcome expected(BlockState state, Operation operation) {
        return switch (state) {
            case ALLOCATED -> switch (operation) {
                case COMMIT, FREE, WRITE -> Outcome.DONE;
                case EVICT, READ -> Outcome.NOT_THERE;
            };
            case WRITTEN -> switch (operation) {
                case EVICT, READ -> Outcome.DONE;
                case COMMIT, FREE, WRITE -> Outcome.ILLEGAL;
            };
            case EVICTED, FREE -> switch (operation) {
                case COMMIT, FREE, WRITE -> Outcome.ILLEGAL;
                case EVICT, READ -> Outcome.NOT_THERE;
            };
        };
    }

    private static Outcome attempt(Fixture f, BlockWriter writer, @Nullable BlockRef ref, Operation operation) {
        try {
            return switch (operation) {
                case COMMIT -> {
                    writer.commit();
                    yield Outcome.DONE;
                }
                case FREE -> {
                    writer.abort();
                    yield Outcome.DONE;
                }
                case WRITE -> {
                    writer.write(0, filled(2, 64));
                    yield Outcome.DONE;
                }
                case EVICT -> f.manager.evict(K) ? Outcome.DONE : Outcome.NOT_THERE;
                case READ -> {
                    boolean byId = f.read("k") >= 0;
                    assertEquals(byId, ref != null && f.read(ref) >= 0);
                    yield byId ? Outcome.DONE : Outcome.NOT_THERE;
                }
            };
        } catch (MooncakeException e) {
            assertEquals(Kind.ILLEGAL_STATE, e.kind());
            return Outcome.ILLEGAL;
        }
    }

    private static BlockState stateOf(Fixture f) {
        BlockState state = GuardTable.state(f.pool.guards().read(0));
        assertEquals(state, ControlWords.state(f.manager.table.words.get(0)));
        return state;
    }

    @Test
    void C17_shouldRefuseEveryOtherEdgeOfTheControlWord() {
        for (BlockState from : BlockState.values()) {
            for (BlockState to : BlockState.values()) {
                ControlWords words = new ControlWords(1);
                bring(words, from);
                long before = words.get(0);
                boolean moved = switch (to) {
                    case FREE -> words.freed(0, 7, from == BlockState.FREE ? BlockState.EVICTED : from);
                    case ALLOCATED -> words.allocated(0, 7);
                    case WRITTEN -> words.written(0, 7, 0);
                    case EVICTED -> words.evictedUnpinned(0, 7);
                };
                assertEquals(from.mayBecome(to), moved, from + " to " + to);
                assertEquals(moved ? to : from, ControlWords.state(words.get(0)));
                if (!moved) {
                    assertEquals(before, words.get(0));
                }
                // Nothing moves for who names another generation.
                ControlWords other = new ControlWords(1);
                bring(other, from);
                long kept = other.get(0);
                assertFalse(other.written(0, 8, 0) || other.evictedUnpinned(0, 6) || other.evictedUnheld(0, 8)
                        || other.freed(0, 8, BlockState.ALLOCATED) || other.freed(0, 6, BlockState.EVICTED)
                        || other.pin(0, 8) || other.pin(0, 6));
                assertEquals(Kind.ILLEGAL_STATE, kindOf(() -> other.unpin(0, 8)));
                assertEquals(kept, other.get(0));
            }
        }
    }

    private static void bring(ControlWords words, BlockState state) {
        if (state != BlockState.FREE) {
            assertTrue(words.allocated(0, 7));
        }
        if (state == BlockState.WRITTEN || state == BlockState.EVICTED) {
            assertTrue(words.written(0, 7, 0));
        }
        if (state == BlockState.EVICTED) {
            assertTrue(words.evictedUnpinned(0, 7));
        }
    }

    @Test
    void C54_shouldRefuseASecondEndOfTheSameWriter() {
        try (Fixture f = new Fixture(2, 64, 2)) {
            BlockWriter writer = f.allocate("k", 64);
            writer.abort();
            BlockWriter x = f.allocate("x", 64);
            assertEquals(Kind.ILLEGAL_STATE, kindOf(writer::abort));
            writer.close();
            ReplicaWriter y = present(f.manager.allocateReplica(BlockId.of("y"), new Version(1, 1), 64));
            assertNotEquals(f.pool.usage().capacity(), f.pool.usage().free());
            x.write(0, filled(0x11, 64));
            ((HostMemory) y.memory()).segment().fill((byte) 0x22);
            x.commit();
            y.commit();
            assertEquals(0x11, f.read("x"));
            assertEquals(0x22, f.read("y"));
            assertEquals(new Usage(2, 0, 0), f.manager.usage());
        }
    }

    @Test
    void shouldRefuseThePinThatWouldWrap() {
        ControlWords words = new ControlWords(1);
        bring(words, BlockState.WRITTEN);
        for (int i = 0; i < ControlWords.MAX_PINS; i++) {
            assertTrue(words.pin(0, 7));
        }
        assertFalse(words.pin(0, 7));
        assertEquals(ControlWords.word(7, BlockState.WRITTEN, ControlWords.MAX_PINS), words.get(0));
        assertTrue(words.evictedUnheld(0, 7));
        for (int i = 1; i < ControlWords.MAX_PINS; i++) {
            assertFalse(words.unpin(0, 7));
        }
        assertTrue(words.unpin(0, 7));
        assertEquals(Kind.ILLEGAL_STATE, kindOf(() -> words.unpin(0, 7)));
    }
}
