package io.mooncake.core.base;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.mooncake.core.base.MooncakeException.Kind;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class PageMapTest {
    @Test
    void shouldPlaceBytesByPage() {
        PageMap map = new PageMap(100, 10, 16, new int[]{3, 0, 7});
        assertEquals(30, map.length());
        assertEquals(100 + 7 * 16 + 10, map.end());
        assertEquals(100 + 3 * 16, map.offsetAt(0));
        assertEquals(100 + 3 * 16 + 9, map.offsetAt(9));
        assertEquals(100, map.offsetAt(10));
        assertEquals(100 + 7 * 16 + 9, map.offsetAt(29));
        assertEquals(7, map.runAt(3, 30));
        assertEquals(2, map.runAt(3, 2));
        assertEquals(10, map.runAt(10, 20));
    }

    @Test
    void shouldJoinPagesThatFollowEachOther() {
        PageMap map = new PageMap(0, 10, 10, new int[]{4, 5, 6, 1, 2, 9});
        assertEquals(30, map.runAt(0, 60));
        assertEquals(25, map.runAt(5, 55));
        assertEquals(12, map.runAt(5, 12));
        assertEquals(20, map.runAt(30, 30));
        assertEquals(10, map.runAt(50, 10));
        assertEquals(10, new PageMap(0, 10, 11, new int[]{4, 5}).runAt(0, 20), "not with a gap between");
    }

    @Test
    void runsShouldCoverEveryByteOnceInOrder() {
        long seed = 5;
        Random random = new Random(seed);
        for (int round = 0; round < 200; round++) {
            int[] pages = random.ints(0, 40).distinct().limit(1 + random.nextInt(20)).toArray();
            long stride = random.nextBoolean() ? 8 : 11;
            PageMap map = new PageMap(17, 8, stride, pages);
            for (long at = 0; at < map.length();) {
                long run = map.runAt(at, map.length() - at);
                for (long i = 0; i < run; i++) {
                    long expected = 17 + pages[(int) ((at + i) / 8)] * stride + (at + i) % 8;
                    assertEquals(expected, map.offsetAt(at) + i, "seed " + seed);
                    assertEquals(expected, map.offsetAt(at + i), "seed " + seed);
                }
                at += run;
            }
        }
    }

    @Test
    void shouldReachBeyondTwoGibibytes() {
        PageMap map = new PageMap(1L << 40, 1L << 31, 1L << 31, new int[]{Integer.MAX_VALUE});
        assertEquals((1L << 40) + Integer.MAX_VALUE * (1L << 31) + 5, map.offsetAt(5));
        assertEquals(1L << 31, map.runAt(0, 1L << 31));
    }

    @Test
    void shouldCopyTheArray() {
        int[] pages = {1};
        PageMap map = new PageMap(0, 8, 8, pages);
        pages[0] = 2;
        assertEquals(8, map.offsetAt(0));
    }

    @Test
    void shouldRefuseWhatCannotBe() {
        refused(-1, 1, 1, 0);
        refused(0, 0, 1, 0);
        refused(0, 2, 1, 0);
        refused(0, 1, 1, -1);
        refused(0, 1, 1, 3, 3);
        refused(0, Long.MAX_VALUE, Long.MAX_VALUE, 2);
        refused(Long.MAX_VALUE, 1, 1, 0);
        refused(0, 1L << 62, 1L << 62, 0, 1);
    }

    private static void refused(long base, long pageBytes, long stride, int... pages) {
        MooncakeException e = assertThrows(MooncakeException.class, () -> new PageMap(base, pageBytes, stride, pages));
        assertEquals(Kind.INVALID_ARGUMENT, e.kind());
    }
}
