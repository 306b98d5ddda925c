package io.mooncake.core.manager.eviction;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.NextUse;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

final class LruPolicyTest {
    private static final class LastUse implements SlotUse {
        private final long[] ticks;

        LastUse(long[] ticks) {
            this.ticks = ticks;
        }

        @Override
        public long lastUse(int slot) {
            return ticks[slot];
        }

        @Override
        public int uses(int slot) {
            return 0;
        }

        @Override
        public int depth(int slot) {
            return 0;
        }

        @Override
        public long nextUse(int slot) {
            return NextUse.UNKNOWN;
        }

        @Override
        public long key(int slot) {
            return slot;
        }
    }

    @Test
    void shouldAlwaysNameTheLeastRecentlyUsed() {
        for (long seed = 0; seed < 50; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            long[] lastUse = new long[100];
            EvictionPolicy policy = new LruPolicy(new LastUse(lastUse));
            // A clock that wraps in the middle.
            long tick = Long.MAX_VALUE - 1_000;
            List<Integer> present = new ArrayList<>();
            for (int step = 0; step < 2_000; step++) {
                tick += random.nextInt(3);
                int slot = random.nextInt(100);
                switch (random.nextInt(4)) {
                    case 0 -> {
                        if (!present.contains(slot)) {
                            lastUse[slot] = tick;
                            present.add(slot);
                            policy.add(slot);
                        }
                    }
                    case 1 -> {
                        if (present.removeIf(s -> s == slot)) {
                            policy.remove(slot);
                        }
                    }
                    default -> lastUse[slot] = tick;
                }
                long now = tick;
                int oldest = present.stream()
                        .min(Comparator.<Integer>comparingLong(s -> lastUse[s] - now).thenComparing(s -> s))
                        .orElse(-1);
                assertEquals(oldest, policy.candidate(), "seed " + seed + ", step " + step);
            }
        }
    }

    @Test
    void shouldNameThePoliciesThereAre() {
        MooncakeException e = assertThrows(MooncakeException.class, () -> EvictionPolicy.named("fifo"));
        assertEquals(Kind.CONFIG_ERROR, e.kind());
        assertTrue(
                String.valueOf(e.getMessage())
                        .contains("eviction.policy = 'fifo' is unknown: there are adaptive, lru, s3fifo"),
                e::getMessage);
    }
}
