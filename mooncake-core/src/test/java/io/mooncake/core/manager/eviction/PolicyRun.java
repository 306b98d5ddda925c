package io.mooncake.core.manager.eviction;

import io.mooncake.core.block.NextUse;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A cache of so many blocks without bytes, that serves requests as a node does: what of a request's leading run is here is a hit; what is
 * missing is brought, a block at a time, and what is too much goes by the policy; then the request has used its blocks, in order.
 */
final class PolicyRun implements SlotUse {
    private static final int SPARE = 1;

    private final int capacity;
    private final EvictionPolicy policy;
    private final Map<Long, Integer> slots = new HashMap<>();
    private final ArrayDeque<Integer> free = new ArrayDeque<>();
    private final long[] keys;
    private final long[] lastUse;
    private final long[] nextUse;
    private final int[] uses;
    private final int[] depth;
    private long tick;

    PolicyRun(int capacity, String policy) {
        this.capacity = capacity;
        int count = capacity + SPARE;
        for (int slot = 0; slot < count; slot++) {
            free.add(slot);
        }
        keys = new long[count];
        lastUse = new long[count];
        nextUse = new long[count];
        uses = new int[count];
        depth = new int[count];
        this.policy = EvictionPolicy.named(policy).apply(this);
    }

    /** The share of all references that were hits; with hints, of so many requests ahead each. */
    double hitRatio(List<long[]> requests, int lookAhead) {
        long hits = 0;
        long references = 0;
        long[][] next = lookAhead == 0 ? new long[0][] : nextUses(requests, lookAhead);
        for (int number = 0; number < requests.size(); number++) {
            long[] ids = requests.get(number);
            references += ids.length;
            for (int i = 0; i < ids.length && slots.containsKey(ids[i]); i++) {
                hits++;
                lastUse[slots.get(ids[i])] = ++tick;
            }
            if (lookAhead != 0 && (long) number + lookAhead < requests.size()) {
                queued(requests.get(number + lookAhead), number + lookAhead);
            }
            serve(ids, lookAhead == 0 ? null : next[number]);
        }
        return (double) hits / references;
    }

    private static long[][] nextUses(List<long[]> requests, int lookAhead) {
        Map<Long, Integer> following = new HashMap<>();
        long[][] next = new long[requests.size()][];
        for (int number = requests.size() - 1; number >= 0; number--) {
            long[] ids = requests.get(number);
            next[number] = new long[ids.length];
            for (int i = 0; i < ids.length; i++) {
                Integer use = following.put(ids[i], number);
                boolean known = use != null && use - number <= lookAhead;
                next[number][i] = known
                        ? use
                        : lookAhead >= requests.size() ? NextUse.NEVER : NextUse.UNKNOWN;
            }
        }
        return next;
    }

    private void serve(long[] ids, long @Nullable [] next) {
        for (int i = 0; i < ids.length; i++) {
            Integer here = slots.get(ids[i]);
            if (here != null && next != null) {
                foretell(here, next[i], i);
            }
        }
        for (int i = 0; i < ids.length; i++) {
            if (!slots.containsKey(ids[i])) {
                bring(ids[i], i, next == null ? NextUse.UNKNOWN : next[i]);
            }
        }
        for (int i = 0; i < ids.length; i++) {
            Integer here = slots.get(ids[i]);
            tick++;
            if (here != null) {
                uses[here]++;
                depth[here] = i;
                lastUse[here] = tick;
            }
        }
    }

    /** What is here and was not known to be used again is, from now on. */
    private void queued(long[] ids, int number) {
        for (int i = 0; i < ids.length; i++) {
            Integer here = slots.get(ids[i]);
            if (here != null && nextUse[here] == NextUse.UNKNOWN) {
                foretell(here, number, i);
            }
        }
    }

    private void foretell(int slot, long when, int place) {
        nextUse[slot] = when;
        depth[slot] = place;
        policy.changed(slot);
    }

    private void bring(long id, int place, long when) {
        int slot = free.remove();
        slots.put(id, slot);
        keys[slot] = id;
        lastUse[slot] = ++tick;
        // The use of the request that brought it is none.
        uses[slot] = -1;
        depth[slot] = when == NextUse.UNKNOWN ? 0 : place;
        nextUse[slot] = when;
        policy.add(slot);
        if (slots.size() > capacity) {
            int victim = policy.candidate();
            policy.evicted(victim);
            slots.remove(keys[victim]);
            free.add(victim);
        }
    }

    @Override
    public long lastUse(int slot) {
        return lastUse[slot];
    }

    @Override
    public int uses(int slot) {
        return Math.max(0, uses[slot]);
    }

    @Override
    public int depth(int slot) {
        return depth[slot];
    }

    @Override
    public long nextUse(int slot) {
        return nextUse[slot];
    }

    @Override
    public long key(int slot) {
        return keys[slot];
    }
}
