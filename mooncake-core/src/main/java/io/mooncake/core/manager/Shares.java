package io.mooncake.core.manager;

import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.Tier;
import io.mooncake.core.pool.RangeBook;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * What each tenant has of each tier, and what of it others may not take. Group 0 is whoever has no share. The conductor's, but for
 * {@link #group}.
 */
final class Shares {
    private static final int TIERS = Tier.values().length;

    private final Map<Integer, Integer> groups = new HashMap<>();
    /** By group and tier: bytes that there are, and that others leave. */
    private final long[] bytes;
    private final long[] share;

    Shares(SlotTable table, Map<Integer, Double> shares, int[] cachedBlocks) {
        int count = 1 + shares.size();
        bytes = new long[count * TIERS];
        share = new long[count * TIERS];
        shares.forEach((tag, part) -> {
            int group = groups.size() + 1;
            groups.put(tag, group);
            for (Tier tier : Tier.values()) {
                share[group * TIERS + tier.ordinal()] = bytes(table, tier, part, cachedBlocks[tier.ordinal()]);
            }
        });
    }

    /** Of what is kept at most: whole slots, so that where everybody has his share, and there is one block more, one is above his. */
    private static long bytes(SlotTable table, Tier tier, double part, int cachedBlocks) {
        Space[] spaces = Arrays.stream(table.spaces).filter(s -> s.pool().tier() == tier).toArray(Space[]::new);
        long slots = Arrays.stream(spaces).mapToLong(space -> space.pool().slots()).sum();
        if (slots == 0) {
            return 0;
        }
        double all = Arrays.stream(spaces).mapToDouble(Shares::bytes).sum();
        long largest = table.tiers.largestSlotBytes(tier);
        long blocks = (long) (part * all * cachedBlocks / slots / largest);
        return blocks * largest;
    }

    private static double bytes(Space space) {
        RangeBook ranges = space.pool().ranges();
        return ranges == null
                ? IntStream.range(0, space.pool().slots()).mapToDouble(space.pool()::slotBytes).sum()
                : ranges.bytes();
    }

    int groups() {
        return 1 + groups.size();
    }

    /** Any thread. */
    int group(BlockId id) {
        return groups.isEmpty() ? 0 : groups.getOrDefault(id.saltTag(), 0);
    }

    void add(int group, int tier, long more) {
        bytes[group * TIERS + tier] += more;
    }

    /** Whether a group would have its share still when so many bytes of it have gone. */
    boolean isAbove(int group, int tier, long without) {
        return bytes[group * TIERS + tier] - without >= share[group * TIERS + tier];
    }
}
