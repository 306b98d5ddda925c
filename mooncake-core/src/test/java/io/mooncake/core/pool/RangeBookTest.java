package io.mooncake.core.pool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.pool.BlockPool.Usage;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class RangeBookTest {
    private static final long UNIT = 64;

    /** Of so many units, with blocks of at most half of them. */
    private static RangeBook book(int units, int slots) {
        return new RangeBook("test", units * UNIT, units / 2 * UNIT, slots, UNIT);
    }

    private static Kind kindOf(Runnable call) {
        return assertThrows(MooncakeException.class, call::run).kind();
    }

    @Test
    void shouldTakeTheLowestPlaceThatIsLongEnough() {
        RangeBook book = book(16, 16);
        int[] slots = IntStream.of(3, 1, 5, 2).map(units -> book.reserve(units * UNIT)).toArray();
        assertEquals(List.of(0L, 3L, 4L, 9L), IntStream.of(slots).mapToObj(slot -> book.offset(slot) / UNIT).toList());
        assertEquals(5 * UNIT, book.slotBytes(slots[2]));
        book.release(slots[1]);
        book.release(slots[2]);
        assertEquals(3 * UNIT, book.offset(book.reserve(6 * UNIT)));
        assertEquals(11 * UNIT, book.offset(book.reserve(1)));
        assertEquals(BlockPool.NONE, book.reserve(5 * UNIT));
        assertEquals(4 * UNIT, book.freeBytes());
        assertEquals(4 * UNIT, book.longestFreeBytes());
        assertEquals(-1, book.nextHole(0));
    }

    @Test
    void shouldSayWhereItsHolesAreAndTakeAPlaceInThem() {
        RangeBook book = book(16, 16);
        int[] slots = IntStream.range(0, 8).map(i -> book.reserve(UNIT)).toArray();
        book.release(slots[2]);
        book.release(slots[3]);
        book.release(slots[6]);
        assertEquals(2 * UNIT, book.nextHole(0));
        assertEquals(4 * UNIT, book.endOfHole(2 * UNIT));
        assertEquals(slots[4], book.slotAt(4 * UNIT));
        assertEquals(6 * UNIT, book.nextHole(4 * UNIT));
        assertEquals(-1, book.nextHole(7 * UNIT));
        assertEquals(BlockPool.NONE, book.reserveAt(3 * UNIT, 2 * UNIT));
        int inside = book.reserveAt(2 * UNIT, 2 * UNIT);
        assertEquals(2 * UNIT, book.offset(inside));
        assertEquals(BlockPool.NONE, book.reserveAt(1, 2 * UNIT));
        assertEquals(14 * UNIT, book.offset(book.reserveHighest(2 * UNIT, 8 * UNIT)));
        assertEquals(9 * UNIT, book.offset(book.reserveHighest(5 * UNIT, 8 * UNIT)));
        assertEquals(BlockPool.NONE, book.reserveHighest(UNIT, 9 * UNIT));
        assertEquals(8 * UNIT, book.offset(book.reserveHighest(UNIT, 8 * UNIT)));
        assertEquals(6 * UNIT, book.offset(book.reserveHighest(UNIT, 0)));
    }

    @Test
    void shouldRefuseWhatThereIsNot() {
        RangeBook book = book(16, 2);
        assertEquals(Kind.OUT_OF_BOUNDS, kindOf(() -> book.reserve(0)));
        assertEquals(Kind.OUT_OF_BOUNDS, kindOf(() -> book.reserve(8 * UNIT + 1)));
        assertEquals(Kind.OUT_OF_BOUNDS, kindOf(() -> book.reserveAt(UNIT, 16 * UNIT)));
        assertEquals(Kind.OUT_OF_BOUNDS, kindOf(() -> book.release(2)));
        assertEquals(Kind.CONFIG_ERROR, kindOf(() -> new RangeBook("test", 100, 129, 1, UNIT)));
        int a = book.reserve(UNIT);
        int b = book.reserve(UNIT);
        assertEquals(BlockPool.NONE, book.reserve(UNIT), "no more blocks than that");
        book.quarantine(a);
        assertEquals(new Usage(1, 1, 0), book.usage());
        assertEquals(Kind.ILLEGAL_STATE, kindOf(() -> book.quarantine(a)));
        assertTrue(String.valueOf(assertThrows(MooncakeException.class, book::close).getMessage())
                .contains("used slots [" + b + "], quarantined slots [" + a + "]"));
        book.release(a);
        book.release(b);
        assertEquals(Kind.ILLEGAL_STATE, kindOf(() -> book.release(b)));
        book.close();
        assertEquals(Kind.CLOSED, kindOf(() -> book.reserve(1)));
    }

    @Test
    void shouldCountInLargerGranulesWhereThereIsMuch() {
        RangeBook book = new RangeBook("test", 1L << 40, 1L << 30, 100, UNIT);
        int a = book.reserve(1);
        assertEquals(1 << 20, book.slotBytes(a));
        assertEquals(1 << 20, book.offset(book.reserve((1 << 20) + 1)));
        assertEquals((1L << 40) - (3 << 20), book.freeBytes());
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5})
    void shouldNeverGiveAByteToTwo(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        RangeBook book = book(200, 60);
        Map<Integer, long[]> mine = new HashMap<>();
        for (int step = 0; step < 20_000; step++) {
            long bytes = 1 + random.nextLong(20 * UNIT);
            int slot = switch (random.nextInt(6)) {
                case 0, 1 -> book.reserve(bytes);
                case 2 -> book.reserveHighest(bytes, random.nextInt(200) * UNIT);
                case 3 -> book.reserveAt(bytes, random.nextInt(180) * UNIT);
                default -> BlockPool.NONE;
            };
            if (slot != BlockPool.NONE) {
                mine.put(slot, new long[]{book.offset(slot), bytes});
            } else if (!mine.isEmpty() && random.nextBoolean()) {
                int any = mine.keySet().stream().skip(random.nextInt(mine.size())).findFirst().orElseThrow();
                mine.remove(any);
                book.release(any);
            }
            check(book, mine, "seed " + seed + ", step " + step);
        }
    }

    private static void check(RangeBook book, Map<Integer, long[]> mine, String when) {
        BitSet units = new BitSet();
        for (long[] range : mine.values()) {
            int from = (int) (range[0] / UNIT);
            int until = from + (int) ((range[1] + UNIT - 1) / UNIT);
            int next = units.nextSetBit(from);
            assertTrue(next < 0 || next >= until, when);
            units.set(from, until);
        }
        assertEquals((200 - units.cardinality()) * UNIT, book.freeBytes(), when);
        assertEquals(mine.size(), book.usage().used(), when);
        int longest = 0;
        for (int at = units.nextClearBit(0); at < 200;) {
            int end = units.nextSetBit(at) < 0 ? 200 : units.nextSetBit(at);
            longest = Math.max(longest, end - at);
            at = units.nextClearBit(end);
        }
        assertEquals(longest * UNIT, book.longestFreeBytes(), when);
    }
}
