package io.mooncake.core.manager;

import io.mooncake.core.block.Tier;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * Blocks that are brought to a slower tier before they go. Their room counts as good as free, so that not more leave than need be; but not of
 * those that are late, since then the slower tier is in the way. The conductor's.
 */
final class Departures {
    /** Blocks that leave at a time, of one tier. */
    private static final int MOST = 16;
    private static final int TIERS = Tier.values().length;

    /**
     * One of them.
     *
     * @param entry what leaves
     * @param lastUse when it was used last before
     * @param over whether it is there, or could not be brought there
     * @param sinceNs on the node's clock
     */
    record Departure(Entry entry, long bytes, long lastUse, BooleanSupplier over, long sinceNs) {}

    private final ArrayDeque<Departure> under = new ArrayDeque<>();
    /** How long one counts as good as gone: less than who allocates waits. */
    private final long patienceNs;
    /** By tier: how many there are, how many of them are in time, and the room of those. */
    private final int[] all = new int[TIERS];
    private final int[] soon = new int[TIERS];
    private final long[] soonBytes = new long[TIERS];

    Departures(long patienceNs) {
        this.patienceNs = patienceNs;
    }

    /** Those of a tier that are in time. */
    int soon(Tier tier) {
        return soon[tier.ordinal()];
    }

    /** Their room. */
    long soonBytes(Tier tier) {
        return soonBytes[tier.ordinal()];
    }

    /** Whether another one may leave without waiting for those before it. */
    boolean hasRoom(Tier tier) {
        return soon(tier) < MOST;
    }

    /** Whether another one should: where one is late, others would only wait behind it. */
    boolean mayBegin(Tier tier) {
        return soon(tier) == all[tier.ordinal()] && hasRoom(tier);
    }

    void begin(Departure departure) {
        under.add(departure);
        count(departure, departure.sinceNs);
    }

    private void count(Departure one, long nowNs) {
        int tier = one.entry.tier.ordinal();
        all[tier]++;
        if (!isLate(one, nowNs)) {
            soon[tier]++;
            soonBytes[tier] += one.bytes;
        }
    }

    private boolean isLate(Departure one, long nowNs) {
        return nowNs - one.sinceNs >= patienceNs;
    }

    /** Takes out what has ended, and counts the others anew. */
    List<Departure> takeEnded(long nowNs) {
        if (under.isEmpty()) {
            return List.of();
        }
        Arrays.fill(all, 0);
        Arrays.fill(soon, 0);
        Arrays.fill(soonBytes, 0);
        List<Departure> ended = new ArrayList<>();
        for (int left = under.size(); left > 0; left--) {
            Departure next = under.remove();
            if (next.over.getAsBoolean()) {
                ended.add(next);
            } else {
                under.add(next);
                count(next, nowNs);
            }
        }
        return ended;
    }

    /** Those that take too long; still under way. */
    List<Departure> late(long nowNs) {
        return under.stream().filter(one -> isLate(one, nowNs)).toList();
    }
}
