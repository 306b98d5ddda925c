package io.mooncake.core.manager;

import static io.mooncake.core.manager.Fixture.MS;
import static io.mooncake.core.manager.Fixture.TIMEOUT;
import static io.mooncake.core.manager.Fixture.TTL;
import static io.mooncake.core.manager.Fixture.filled;
import static io.mooncake.core.manager.Fixture.kindOf;
import static io.mooncake.core.manager.Fixture.messageOf;
import static io.mooncake.core.manager.Fixture.present;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Layout;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.Stream;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.BlockWriter.Result;
import io.mooncake.core.block.Hold;
import io.mooncake.core.block.PrefixChain;
import io.mooncake.core.block.Tier;
import io.mooncake.core.block.Version;
import io.mooncake.core.pool.BlockPool.Usage;
import io.mooncake.core.pool.SizeClass;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What one thread sees of the manager. */
final class BlockManagerTest {
    private static final BlockId K = BlockId.of("k");

    @Test
    void shouldReadBackWhatWasWritten() {
        try (Fixture f = new Fixture(2, 4096, 2)) {
            BlockWriter writer = f.allocate("k", 1000);
            assertEquals(1000, writer.segment().byteSize());
            assertEquals(0, writer.segment().address() % 64);
            writer.write(0, filled(1, 400));
            writer.write(400, filled(1, 300));
            assertEquals(-1, f.read("k"));
            BlockRef ref = writer.commit(700);
            assertEquals(Result.WRITTEN, writer.result());
            assertEquals(700, ref.length());
            assertEquals(f.region.id(), ref.region());
            assertEquals(new Version(1, 3), ref.version());
            assertTrue(f.manager.acquire(K, f.view));
            assertEquals(ref, f.view.ref());
            assertEquals(700, f.view.segment().byteSize());
            assertTrue(f.view.segment().isReadOnly());
            assertEquals(f.view.segment().address(), f.view.address());
            assertEquals(Tier.DRAM, f.view.tier());
            assertEquals(-1, f.view.device());
            assertEquals(Kind.UNSUPPORTED, kindOf(() -> f.view.closeAfter(new Stream(0))));
            f.view.close();
            f.view.close();
            assertEquals(Kind.ILLEGAL_STATE, kindOf(f.view::length));
            assertEquals(ref, f.manager.find(K));
            assertEquals(1, f.read(ref));
            assertEquals(1, f.manager.writtenBlocks());
        }
    }

    @Test
    void shouldAnnounceWrittenBeforeEvictedAndNeitherWhenGoneBefore() {
        try (Fixture f = new Fixture(2, 64, 2)) {
            f.put("a", 1, 64);
            f.settle();
            assertTrue(f.manager.evict(BlockId.of("a")));
            assertFalse(f.manager.evict(BlockId.of("a")));
            assertEquals(-1, f.read("a"));
            f.put("b", 1, 64);
            assertTrue(f.manager.evict(BlockId.of("b")));
            f.settle();
            assertEquals(List.of("written a 1", "REQUESTED a 1"), f.events);
            assertEquals(new Usage(0, 0, 2), f.manager.usage());
            assertEquals(2, f.count(Counter.EVICTIONS_REQUESTED));
        }
    }

    @Test
    void shouldReplaceOnlyByAHigherVersion() {
        try (Fixture f = new Fixture(3, 64, 3)) {
            BlockRef first = f.put("k", 1, 64);
            f.settle();
            f.known.put(K, 41L);
            BlockRef second = f.put("k", 2, 64);
            f.settle();
            assertEquals(42, second.version().counter());
            assertEquals(2, f.read("k"));
            assertEquals(-1, f.read(first));
            assertEquals(List.of("written k 1", "REPLACED k 1", "written k 42"), f.events.stream().sorted((a, b) -> {
                // Within one cycle the order between two blocks is free.
                return Boolean.compare(a.equals("written k 42"), b.equals("written k 42"));
            }).toList());

            ReplicaWriter lower = present(f.manager.allocateReplica(K, new Version(7, 9), 64));
            assertEquals(second, lower.commit());
            assertEquals(Result.SUPERSEDED, lower.result());
            ReplicaWriter same = present(f.manager.allocateReplica(K, second.version(), 64));
            assertEquals(second, same.commit());
            assertEquals(Result.ALREADY_WRITTEN, same.result());
            ReplicaWriter higher = present(f.manager.allocateReplica(K, new Version(42, 4), 64));
            assertEquals(new Version(42, 4), higher.commit().version());
            assertEquals(Result.WRITTEN, higher.result());
            assertEquals(Kind.ILLEGAL_STATE, kindOf(higher::commit));
            f.settle();
            assertEquals(new Usage(1, 0, 2), f.manager.usage());
            assertEquals(43, f.put("k", 3, 64).version().counter());
        }
    }

    @Test
    void shouldReturnTheExistingBlockForTheSameContent() {
        BlockId id = new PrefixChain("m", new Layout(1, 1, 1, 64, "bf16"), "e", "").first(1);
        try (Fixture f = new Fixture(2, 64, 2)) {
            BlockRef first = f.put(id, 1, 64);
            BlockWriter again = f.manager.allocate(id, 64, TTL);
            assertEquals(first, again.commit());
            assertEquals(Result.ALREADY_WRITTEN, again.result());
            assertEquals(new Usage(1, 0, 1), f.manager.usage());
            BlockWriter held = f.manager.allocate(id, 64, TTL);
            try (Hold hold = held.commitAndHold(64, Duration.ofNanos(TTL))) {
                assertEquals(List.of(first), hold.refs());
                assertEquals("block " + id + " with 1 pin (1 of holds)", f.manager.describeHolders());
            }
            assertEquals(2, f.count(Counter.BLOCKS_ALREADY_WRITTEN));
        }
    }

    @Test
    void shouldEvictTheLeastRecentlyUsedBeyondTheLimit() {
        try (Fixture f = new Fixture(4, 64, 3)) {
            for (String id : List.of("a", "b", "c")) {
                f.put(id, 1, 64);
            }
            f.settle();
            assertEquals(1, f.read("a"));
            f.put("d", 1, 64);
            f.settle();
            assertNull(f.manager.find(BlockId.of("b")));
            f.manager.touch(List.of(BlockId.of("d"), BlockId.of("c"), BlockId.of("a")));
            f.now += 10;
            f.put("e", 1, 64);
            f.settle();
            assertNull(f.manager.find(BlockId.of("d")));
            assertEquals(3, f.manager.writtenBlocks());
            assertEquals(2, f.count(Counter.EVICTIONS_POLICY));
            assertTrue(f.events.contains("POLICY b 2"));
        }
    }

    @Test
    void shouldPassOverPinnedVictims() {
        try (Fixture f = new Fixture(4, 64, 1)) {
            BlockView a = f.manager.newView();
            f.put("a", 1, 64);
            assertTrue(f.manager.acquire(BlockId.of("a"), a));
            f.put("b", 1, 64);
            f.settle();
            assertNull(f.manager.find(BlockId.of("b")));
            f.put("c", 1, 64);
            a.close();
            f.settle();
            assertNull(f.manager.find(BlockId.of("a")));
            assertNotNull(f.manager.find(BlockId.of("c")));
        }
    }

    @Test
    void shouldWaitForASlotAndEvictForIt() {
        try (Fixture f = new Fixture(2, 64, 2)) {
            f.put("a", 1, 64);
            f.put("b", 2, 64);
            f.put("c", 3, 64);
            assertEquals(-1, f.read("a"));
            assertEquals(2, f.read("b"));
            assertEquals(1, f.count(Counter.ALLOCATE_WAITS));
            assertNull(f.manager.allocateReplica(BlockId.of("d"), new Version(1, 1), 64));
            f.settle();
            assertNull(f.manager.find(BlockId.of("c")));
            present(f.manager.allocateReplica(BlockId.of("d"), new Version(1, 1), 64)).abort();
        }
    }

    @Test
    void shouldSayWhyThereIsNoSlot() {
        try (Fixture f = new Fixture(List.of(new SizeClass(64, 1), new SizeClass(128, 4)), 5);
                BlockView view = f.manager.newView()) {
            f.put("pinned", 1, 128);
            assertTrue(f.manager.acquire(BlockId.of("pinned"), view));
            BlockRef held = f.put("held", 1, 128);
            Hold hold = f.manager.hold(List.of(held), TTL);
            BlockWriter writing = f.allocate("writing", 128);
            ReplicaWriter given = present(f.manager.allocateReplica(BlockId.of("q"), new Version(1, 1), 128));
            given.abandon();
            long start = f.now;
            String why = messageOf(Kind.OUT_OF_MEMORY, () -> f.allocate("k", 100));
            assertTrue(why.contains("of 4 slots that are long enough 1 are pinned, 1 held, 1 being written, "
                    + "1 quarantined, 0 on their way out or cached; 1 free"), why);
            assertTrue(f.now - start >= TIMEOUT && f.now - start <= TIMEOUT + MS);
            assertEquals("block pinned with 1 pin, block held with 1 pin (1 of holds), block writing being written, "
                    + "block q quarantined", f.manager.describeHolders());

            f.whileWaiting = given::released;
            BlockWriter late = f.allocate("k", 100);
            f.whileWaiting = () -> {};
            late.abort();
            writing.close();
            hold.close();
            assertEquals(1, f.count(Counter.ALLOCATE_REFUSED));
        }
    }

    @Test
    void shouldSayThatAnInterruptEndedTheWait() {
        try (Fixture f = new Fixture(1, 64, 1); BlockWriter writing = f.allocate("writing", 64)) {
            f.whileWaiting = () -> Thread.currentThread().interrupt();
            String why = messageOf(Kind.TIMEOUT, () -> f.allocate("k", 64));
            assertTrue(why.startsWith("interrupted while waiting for a slot for 64 bytes of block k"), why);
            assertTrue(Thread.interrupted());
            assertEquals(1, f.count(Counter.ALLOCATE_REFUSED));
            // Who need not wait is not disturbed.
            writing.abort();
            Thread.currentThread().interrupt();
            f.allocate("k", 64).abort();
            assertTrue(Thread.interrupted());
            f.whileWaiting = () -> {};
        }
    }

    @Test
    void shouldQuarantineAbandonedCopiesUntilReleased() {
        try (Fixture f = new Fixture(1, 64, 1)) {
            ReplicaWriter copy = present(f.manager.allocateReplica(K, new Version(5, 9), 64));
            assertEquals(Kind.ILLEGAL_STATE, kindOf(copy::released));
            copy.abandon();
            assertEquals(new Usage(0, 1, 0), f.manager.usage());
            assertEquals(Kind.ILLEGAL_STATE, kindOf(copy::commit));
            assertEquals(Kind.ILLEGAL_STATE, kindOf(copy::abort));
            f.settle();
            assertNull(f.manager.allocateReplica(K, new Version(5, 9), 64));
            copy.released();
            assertEquals(Kind.ILLEGAL_STATE, kindOf(copy::released));
            f.settle();
            assertEquals(new Usage(0, 0, 1), f.manager.usage());
            ReplicaWriter next = present(f.manager.allocateReplica(K, new Version(5, 9), 64));
            assertEquals(5, next.commit().version().counter());
        }
    }

    @Test
    void shouldEndAHoldOnceByCloseOrByTime() {
        try (Fixture f = new Fixture(2, 64, 2)) {
            BlockRef a = f.put("a", 1, 64);
            BlockRef b = f.put("b", 2, 64);
            f.settle();
            Hold hold = f.manager.hold(List.of(a, b), 10 * MS);
            assertEquals(List.of(a, b), hold.refs());
            assertTrue(f.manager.evict(BlockId.of("a")));
            f.settle();
            // Gone for who looks it up, but kept for who was told the reference.
            assertEquals(-1, f.read("a"));
            assertEquals(1, f.read(a));
            long pin = f.manager.guards().pin(a.region(), a.guardOffset(), a.guard(), a.offset(), 64);
            assertEquals(a.guard(), f.manager.guards().guard(pin));
            f.manager.guards().unpin(pin);
            f.now += 10 * MS;
            assertFalse(hold.isOpen());
            f.settle();
            assertEquals(-1, f.read(a));
            assertEquals(new Usage(1, 0, 1), f.manager.usage());
            hold.close();
            hold.close();
            assertEquals(List.of(), f.manager.hold(List.of(a, b), 1).refs());
            assertEquals("nobody", f.manager.describeHolders());
        }
    }

    @Test
    void shouldRefuseWhatAGuardDoesNotGuard() {
        try (Fixture f = new Fixture(2, 4096, 2)) {
            BlockRef ref = f.put("k", 7, 1000);
            int region = ref.region();
            long at = ref.guardOffset();
            for (long[] bad : new long[][]{{Long.MAX_VALUE - 7, 16}, {990, 11}, {-1, 1}, {0, -1}, {0, 1001},
                    {1001, 0}}) {
                assertEquals(-2, f.manager.guards().pin(region, at, ref.guard(), ref.offset() + bad[0], bad[1]));
            }
            assertEquals(-2, f.manager.guards().pin(region + 1, at, ref.guard(), ref.offset(), 1));
            assertEquals(-2, f.manager.guards().pin(region, at + 8, ref.guard(), ref.offset(), 1));
            assertEquals(-2, f.manager.guards().pin(region, at - 64, ref.guard(), ref.offset(), 1));
            assertEquals(-2, f.manager.guards().pin(region, 2 * 64, ref.guard(), ref.offset(), 1));
            assertEquals(-2, f.manager.guards().pin(region, Long.MIN_VALUE, ref.guard(), ref.offset(), 1));
            assertEquals(-1, f.manager.guards().pin(region, at, ref.guard() + 16, ref.offset(), 1));
            assertEquals(-1, f.manager.guards().pin(region, at, ref.guard() - 1, ref.offset(), 1));
            assertEquals(-1, f.manager.guards().pin(region, at, ref.guard() + (1L << 44), ref.offset(), 1));
            assertEquals("nobody", f.manager.describeHolders());

            long pin = f.manager.guards().pin(region, at, ref.guard(), ref.offset() + 1000, 0);
            assertTrue(pin >= 0);
            assertEquals(Kind.ILLEGAL_STATE, kindOf(() -> f.manager.guards().unpin(pin + 1)));
            assertEquals(Kind.ILLEGAL_STATE, kindOf(() -> f.manager.guards().unpin(pin ^ (1L << 40))));
            assertEquals(Kind.ILLEGAL_STATE, kindOf(() -> f.manager.guards().unpin(-1)));
            f.manager.evict(K);
            f.settle();
            assertNotEquals(ref.guard(), f.manager.guards().guard(pin));
            assertEquals(new Usage(1, 0, 1), f.manager.usage());
            f.manager.guards().unpin(pin);
            assertEquals(Kind.ILLEGAL_STATE, kindOf(() -> f.manager.guards().unpin(pin)));
            f.settle();
            assertEquals(new Usage(0, 0, 2), f.manager.usage());
            assertEquals(Kind.ILLEGAL_STATE, kindOf(() -> f.manager.guards().unpin(pin)));
        }
    }

    @Test
    void shouldNameWhatKeepsAPoolAndCloseItWithTheLastPin() {
        Fixture f = new Fixture(3, 64, 3);
        f.put("a", 9, 64);
        f.put("b", 9, 64);
        assertTrue(f.manager.acquire(BlockId.of("a"), f.view));
        BlockWriter open = f.allocate("c", 64);
        String why = messageOf(Kind.IN_USE, () -> f.manager.close(f.now + TIMEOUT));
        assertTrue(why.contains("block a with 1 pin, block c being written"), why);
        assertEquals(9, Fixture.uniform(f.view.segment()));
        assertEquals(Kind.CLOSED, kindOf(() -> f.allocate("d", 64)));
        assertEquals(Kind.CLOSED, kindOf(() -> f.manager.acquire(K, f.manager.newView())));
        assertEquals(Kind.CLOSED, kindOf(open::commit));
        assertEquals(new Usage(1, 0, 2), f.manager.usage());
        var bytes = f.view.segment();
        f.view.close();
        assertFalse(bytes.scope().isAlive());
        assertEquals(new Usage(0, 0, 3), f.manager.usage());
        f.close();
    }

    @Test
    void shouldEndHoldsAtTheDeadlineOfClose() {
        Fixture f = new Fixture(1, 64, 1);
        Hold hold = f.manager.hold(List.of(f.put("a", 9, 64)), Long.MAX_VALUE);
        long start = f.now;
        f.close();
        assertTrue(f.now - start >= TIMEOUT);
        assertFalse(hold.isOpen());
        hold.close();
    }

    @Test
    void shouldRefuseEmptyBlocksAndTooLongOnes() {
        try (Fixture f = new Fixture(1, 64, 1)) {
            assertEquals(Kind.INVALID_ARGUMENT, kindOf(() -> f.allocate("k", 0)));
            assertEquals(Kind.INVALID_ARGUMENT, kindOf(() -> f.allocate("k", -1)));
            assertEquals(Kind.OUT_OF_BOUNDS, kindOf(() -> f.allocate("k", 65)));
            assertEquals(Kind.INVALID_ARGUMENT, kindOf(() -> f.manager.allocate(K, 1, 0)));
            BlockWriter writer = f.allocate("k", 64);
            assertEquals(Kind.INVALID_ARGUMENT, kindOf(() -> writer.commit(0)));
            assertEquals(Kind.OUT_OF_BOUNDS, kindOf(() -> writer.commit(65)));
            assertEquals(Kind.OUT_OF_BOUNDS, kindOf(() -> writer.commit(-1)));
            assertEquals(Kind.OUT_OF_BOUNDS, kindOf(() -> writer.write(1, filled(1, 64))));
            assertEquals(Kind.OUT_OF_BOUNDS, kindOf(() -> writer.write(Long.MAX_VALUE, filled(1, 64))));
            assertEquals(Result.OPEN, writer.result());
            writer.commit(1);
            assertEquals(Kind.ILLEGAL_STATE, kindOf(writer::segment));
        }
    }
}
