package io.mooncake.core.manager.eviction;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/** Request traces of several kinds, each a list of prefix chains; equal seeds make equal traces. */
final class Traces {
    private static final int CHAIN = 4;

    private Traces() {}

    /** Prefixes of very different popularity. */
    static List<long[]> zipf(long seed, int requests, int prefixes) {
        SplittableRandom random = new SplittableRandom(seed);
        List<long[]> trace = new ArrayList<>();
        for (int i = 0; i < requests; i++) {
            // The density falls with one over the rank.
            trace.add(chain((long) Math.pow(prefixes, random.nextDouble())));
        }
        return trace;
    }

    /** The same with a long one-off request now and then. */
    static List<long[]> zipfWithScans(long seed, int requests, int prefixes, int every, int scan) {
        List<long[]> trace = new ArrayList<>();
        List<long[]> hot = zipf(seed, requests, prefixes);
        for (int i = 0; i < requests; i++) {
            trace.add(hot.get(i));
            if (i % every == 0) {
                long first = (1L << 40) + (long) i * scan;
                long[] once = new long[scan];
                Arrays.setAll(once, at -> first + at);
                trace.add(once);
            }
        }
        return trace;
    }

    /** All prefixes in turn, again and again. */
    static List<long[]> loop(int requests, int prefixes) {
        List<long[]> trace = new ArrayList<>();
        for (int i = 0; i < requests; i++) {
            trace.add(chain(i % prefixes));
        }
        return trace;
    }

    /** Conversations: several go on at a time, each turn repeats all before it and adds to it. */
    static List<long[]> conversations(long seed, int requests, int atATime) {
        SplittableRandom random = new SplittableRandom(seed);
        List<long[]> open = new ArrayList<>();
        List<long[]> trace = new ArrayList<>();
        long next = 1L << 20;
        for (int i = 0; i < requests; i++) {
            int which = random.nextInt(atATime);
            if (which >= open.size() || random.nextInt(5) == 0) {
                long[] fresh = {random.nextInt(8), next++, next++};
                if (which < open.size()) {
                    open.set(which, fresh);
                } else {
                    open.add(fresh);
                    which = open.size() - 1;
                }
            } else {
                long[] longer = Arrays.copyOf(open.get(which), open.get(which).length + 1 + random.nextInt(3));
                for (int at = open.get(which).length; at < longer.length; at++) {
                    longer[at] = next++;
                }
                open.set(which, longer);
            }
            trace.add(open.get(which));
        }
        return trace;
    }

    /** What is popular changes all the time. */
    static List<long[]> drift(long seed, int requests, int prefixes, int every) {
        SplittableRandom random = new SplittableRandom(seed);
        List<long[]> trace = new ArrayList<>();
        for (int i = 0; i < requests; i++) {
            trace.add(chain((long) Math.pow(prefixes, random.nextDouble()) + (long) (i / every) * prefixes / 2));
        }
        return trace;
    }

    private static long[] chain(long prefix) {
        long[] ids = new long[CHAIN];
        Arrays.setAll(ids, i -> prefix * CHAIN + i);
        return ids;
    }
}
