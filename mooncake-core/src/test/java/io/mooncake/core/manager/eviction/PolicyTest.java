package io.mooncake.core.manager.eviction;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What the policies keep of traces of several kinds: each compared with others, or with what a cache that knows the future hits. */
final class PolicyTest {
    private static final int REQUESTS = 6_000;
    private static final int ALL = Integer.MAX_VALUE;

    record Case(String name, List<long[]> requests, int capacity) {
        @Override
        public String toString() {
            return name + ", " + capacity + " blocks";
        }
    }

    static Stream<Case> cases() {
        List<Case> cases = new ArrayList<>();
        for (int capacity : new int[]{100, 400, 1_600}) {
            for (long seed = 1; seed <= 2; seed++) {
                cases.add(new Case("zipf " + seed, Traces.zipf(seed, REQUESTS, 2_000), capacity));
                cases.add(new Case("zipf and scans " + seed,
                        Traces.zipfWithScans(seed, REQUESTS, 500, 20, 100), capacity));
                cases.add(new Case("conversations " + seed, Traces.conversations(seed, REQUESTS, 40), capacity));
                cases.add(new Case("drift " + seed, Traces.drift(seed, REQUESTS, 600, 500), capacity));
            }
            cases.add(new Case("loop", Traces.loop(REQUESTS, 150), capacity));
        }
        return cases.stream();
    }

    private static double hits(Case of, String policy, int lookAhead) {
        return new PolicyRun(of.capacity, policy).hitRatio(of.requests, lookAhead);
    }

    @ParameterizedTest
    @MethodSource("cases")
    void shouldKeepUpWithBothLruAndS3Fifo(Case of) {
        double lru = hits(of, "lru", 0);
        double s3fifo = hits(of, "s3fifo", 0);
        double adaptive = hits(of, "adaptive", 0);
        double best = Math.max(lru, s3fifo);
        // What it loses is largest where popularity alone decides, or where everything comes round again.
        double loss = of.name.equals("loop") ? best : 0.06;
        assertTrue(adaptive >= best - loss && adaptive >= Math.min(lru, s3fifo) - 0.015,
                () -> of + ": adaptive " + adaptive + ", lru " + lru + ", s3fifo " + s3fifo);
    }

    @Test
    void shouldNotFlushHotBlocksForAScan() {
        List<long[]> hot = Traces.loop(400, 10);
        long[] scan = LongStream.range(1L << 40, (1L << 40) + 5_000).toArray();
        List<long[]> all = new ArrayList<>(hot);
        all.add(scan);
        all.addAll(Traces.loop(10, 10));
        // 40 blocks are hot; the last 10 requests use each of them once more, after a scan of fifty times the cache.
        Case of = new Case("scan", all, 100);
        long references = all.stream().mapToLong(ids -> ids.length).sum();
        long lost = Math.round((1 - hits(of, "adaptive", 0)) * references) - scan.length;
        // The first requests, which find nothing, and nothing else.
        assertEquals(40, lost);
    }

    @ParameterizedTest
    @MethodSource("cases")
    void shouldHitAsOftenAsTheOptimumWhereTheNextUseIsKnown(Case of) {
        assertEquals(optimum(of), hits(of, "adaptive", ALL), 0.0005, of::toString);
    }

    @ParameterizedTest
    @MethodSource("cases")
    void shouldHitMoreOftenTheMoreIsKnown(Case of) {
        double nothing = hits(of, "adaptive", 0);
        double some = hits(of, "adaptive", 100);
        double more = hits(of, "adaptive", 1_000);
        assertTrue(some >= nothing - 0.005 && more >= some - 0.005,
                () -> of + ": " + nothing + ", of 100 requests " + some + ", of 1000 " + more);
    }

    /** After each request the blocks go whose next use lies furthest ahead, of equals the deepest; those that are never used again at once. */
    private static double optimum(Case of) {
        List<long[]> requests = of.requests;
        Map<Long, Integer> following = new HashMap<>();
        int[][] next = new int[requests.size()][];
        for (int number = requests.size() - 1; number >= 0; number--) {
            long[] ids = requests.get(number);
            next[number] = new int[ids.length];
            for (int i = 0; i < ids.length; i++) {
                Integer use = following.put(ids[i], number);
                next[number][i] = use == null ? ALL : use;
            }
        }
        long hits = 0;
        long references = 0;
        Map<Long, long[]> cache = new HashMap<>();
        for (int number = 0; number < requests.size(); number++) {
            long[] ids = requests.get(number);
            references += ids.length;
            Set<Long> here = new HashSet<>(cache.keySet());
            hits += Arrays.stream(ids).takeWhile(here::contains).count();
            for (int i = 0; i < ids.length; i++) {
                if (next[number][i] == ALL) {
                    cache.remove(ids[i]);
                } else {
                    cache.put(ids[i], new long[]{next[number][i], i});
                }
            }
            if (cache.size() > of.capacity) {
                cache.entrySet()
                        .stream()
                        .sorted(Comparator.comparingLong((Map.Entry<Long, long[]> e) -> -e.getValue()[0])
                                .thenComparingLong(e -> -e.getValue()[1]))
                        .limit(cache.size() - of.capacity)
                        .map(Map.Entry::getKey)
                        .toList()
                        .forEach(cache::remove);
            }
        }
        return (double) hits / references;
    }
}
