package io.mooncake.core.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.FreeRanges;
import io.mooncake.core.block.Hold;
import io.mooncake.core.block.Tier;
import io.mooncake.core.pool.DramPool;
import io.mooncake.core.pool.MemorySource;
import io.mooncake.core.pool.SizeClass;
import io.mooncake.core.transfer.Region;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Blocks that are moved together by copies that the test ends when it likes: 8 of 64 bytes at most, of which every other one is gone. */
final class CompactorTest implements Relocator {
    private static final int UNIT = 64;

    private final Fixture fixture = new Fixture(
            DramPool.ofRanges("dram", new SizeClass(4 * UNIT, 8), 8 * UNIT, MemorySource.anonymous(), false));
    private boolean ends = true;
    private boolean isWhole = true;
    private int begun;

    @Override
    public Copy copy(BlockRef from, Region into, long offset) {
        begun++;
        return new Copy() {
            @Override
            public boolean isOver() {
                return ends;
            }

            @Override
            public boolean isWhole() {
                MemorySegment memory = ((HostMemory) into.memory()).segment();
                memory.asSlice(offset, from.length()).copyFrom(memory.asSlice(from.offset(), from.length()));
                return isWhole;
            }
        };
    }

    private void fragment() {
        fixture.manager.relocateBy(this);
        for (int i = 0; i < 8; i++) {
            fixture.put("k" + i, i, UNIT);
        }
        for (int i = 0; i < 8; i += 2) {
            assertTrue(fixture.manager.evict(BlockId.of("k" + i)));
        }
        fixture.settle();
        assertEquals(4, fixture.pool.usage().used());
    }

    @Test
    void shouldMakeARangeOutOfWhatIsFreeAndEvictNothingForIt() {
        try (fixture) {
            fragment();
            fixture.put("long", 9, 4 * UNIT);
            for (int i = 1; i < 8; i += 2) {
                assertEquals(i, fixture.read("k" + i));
            }
            assertEquals(9, fixture.read("long"));
            assertEquals(0, fixture.count(Counter.EVICTIONS_POLICY));
        }
    }

    /** Its copies go behind loads: one that does not come to its end is no reason to refuse who could have what others use least. */
    @Test
    void shouldLetSomethingBeEvictedWhereItTakesTooLong() {
        try (fixture) {
            fragment();
            ends = false;
            fixture.put("long", 9, 2 * UNIT);
            assertEquals(1, begun);
            assertEquals(9, fixture.read("long"));
            assertTrue(fixture.count(Counter.EVICTIONS_POLICY) > 0);
            assertEquals(7, fixture.read("k7"), "the least recently used go");
            ends = true;
            fixture.settle();
        }
    }

    /** Whatever happens to a block while it is copied: nobody gets the wrong one, and both places come back. */
    @Test
    void shouldLeaveABlockThatIsWantedMeanwhileWhereItIs() {
        try (fixture) {
            fragment();
            BlockRef held = Fixture.present(fixture.manager.find(BlockId.of("k7")));
            ends = false;
            long ticket = fixture.manager.compact();
            fixture.settle();
            assertEquals(1, begun);
            try (Hold hold = fixture.manager.hold(List.of(held), Fixture.TTL)) {
                assertEquals(1, hold.refs().size());
                ends = true;
                fixture.settle();
                assertEquals(held, fixture.manager.find(BlockId.of("k7")));
            }
            for (int i = 0; i < 300 && !fixture.manager.hasCompacted(ticket); i++) {
                fixture.now += Fixture.MS;
                fixture.settle();
            }
            assertTrue(fixture.manager.hasCompacted(ticket));
            assertEquals(7, fixture.read("k7"));
        }
    }

    /** Who has blocks for longer than a run waits does not end the work of the idle window, though most of what is free is one range by then. */
    @Test
    void shouldGoOnInTheIdleWindowWhereBlocksWereInUse() {
        try (fixture) {
            fragment();
            List<BlockRef> held = List.of(Fixture.present(fixture.manager.find(BlockId.of("k5"))),
                    Fixture.present(fixture.manager.find(BlockId.of("k7"))));
            try (Hold hold = fixture.manager.hold(held, Fixture.TTL)) {
                assertEquals(2, hold.refs().size());
                pass(500);
                assertEquals(new FreeRanges(4 * UNIT, 3 * UNIT, false), fixture.manager.freeRanges(Tier.DRAM));
            }
            pass(5_000);
            assertEquals(new FreeRanges(4 * UNIT, 4 * UNIT, false), fixture.manager.freeRanges(Tier.DRAM));
            assertEquals(5, fixture.read("k5"));
        }
    }

    private void pass(int milliseconds) {
        for (int i = 0; i < milliseconds; i++) {
            fixture.now += Fixture.MS;
            fixture.settle();
        }
    }

    @Test
    void shouldGiveThePlaceBackWhereTheBlockIsEvictedOrTheCopyFails() {
        try (fixture) {
            fragment();
            ends = false;
            long ticket = fixture.manager.compact();
            fixture.settle();
            assertTrue(fixture.manager.evict(BlockId.of("k7")));
            ends = true;
            fixture.settle();
            assertEquals(-1, fixture.read("k7"));
            assertTrue(fixture.manager.hasCompacted(ticket));
            assertEquals(3, fixture.pool.usage().used());
            isWhole = false;
            fixture.manager.evict(BlockId.of("k1"));
            long again = fixture.manager.compact();
            fixture.settle();
            assertTrue(fixture.manager.hasCompacted(again));
            assertEquals(2, fixture.pool.usage().used());
            assertEquals(5, fixture.read("k5"));
            assertFalse(fixture.announced.isEmpty());
        }
    }

    /** To be moved is no use: who was used least recently goes first, as if nothing had been moved. */
    @Test
    void shouldTakeAlongWhenABlockWasUsed() {
        try (fixture) {
            fragment();
            assertEquals(1, fixture.read("k1"));
            assertEquals(3, fixture.read("k3"));
            long _ = fixture.manager.compact();
            fixture.now += Fixture.MS;
            fixture.settle();
            assertTrue(begun > 0);
            assertEquals(1, fixture.read("k1"));
            fixture.put("long", 9, 4 * UNIT);
            fixture.put("k8", 8, UNIT);
            assertEquals(-1, fixture.read("k5"));
            assertEquals(7, fixture.read("k7"), "moved or not, it is younger than k5");
            assertEquals(3, fixture.read("k3"));
        }
    }

    /** A block that is moved is there twice for a moment. */
    @Test
    void shouldSayWhereThereAreAsManyBlocksAsThereMayBe() {
        try (Fixture few = new Fixture(
                DramPool.ofRanges("dram", new SizeClass(4 * UNIT, 4), 8 * UNIT, MemorySource.anonymous(), false))) {
            few.manager.relocateBy(this);
            for (int i = 0; i < 4; i++) {
                few.put("k" + i, i, UNIT);
            }
            few.manager.evict(BlockId.of("k1"));
            few.settle();
            few.put("k4", 4, 2 * UNIT);
            long full = few.manager.compact();
            few.settle();
            assertTrue(few.manager.hasCompacted(full));
            assertTrue(few.manager.freeRanges(Tier.DRAM).needsScratch());
            few.manager.evict(BlockId.of("k0"));
            few.settle();
            long again = few.manager.compact();
            few.settle();
            assertTrue(few.manager.hasCompacted(again));
            assertEquals(new FreeRanges(4 * UNIT, 4 * UNIT, false), few.manager.freeRanges(Tier.DRAM));
            assertEquals(4, few.read("k4"));
        }
    }

    /** Who holds by a reference of a moment ago holds the block, not the place. */
    @Test
    void shouldHoldByAReferenceToWhereTheBlockWas() {
        try (fixture) {
            fragment();
            BlockRef before = Fixture.present(fixture.manager.find(BlockId.of("k7")));
            long _ = fixture.manager.compact();
            fixture.settle();
            BlockRef now = Fixture.present(fixture.manager.find(BlockId.of("k7")));
            assertFalse(before.equals(now));
            try (Hold hold = fixture.manager.hold(List.of(before), Fixture.TTL)) {
                assertEquals(List.of(now), hold.refs());
                assertEquals(7, fixture.read(now));
            }
            fixture.put("k7", 70, UNIT);
            assertEquals(0, fixture.manager.hold(List.of(before), Fixture.TTL).refs().size(), "another version");
            try (BlockWriter writer = fixture.allocate("k8", UNIT)) {
                assertTrue(writer.length() == UNIT);
            }
        }
    }
}
