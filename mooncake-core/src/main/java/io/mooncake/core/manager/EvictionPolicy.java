package io.mooncake.core.manager;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.IntToLongFunction;
import java.util.function.Supplier;

/**
 * Which block of a size class goes first. Used by the conductor alone; knows only blocks that were announced.
 *
 * <p>Between the size classes of a node the candidate that was used least recently goes first.
 */
public interface EvictionPolicy {
    /** What {@link #candidate} answers when there is none. */
    int NONE = -1;

    /**
     * A slot's block may be evicted from now on.
     *
     * @param slot not known to the policy
     * @param lastUse its tick now
     */
    void add(int slot, long lastUse);

    /**
     * A slot's block is gone, or may not be evicted for a while.
     *
     * @param slot known to the policy
     */
    void remove(int slot);

    /**
     * Says which goes first; it stays known.
     *
     * @param lastUse the slots' ticks as they are now
     * @return a slot, or {@link #NONE}
     */
    int candidate(IntToLongFunction lastUse);

    /**
     * Finds a policy.
     *
     * @param name of any case
     * @return makes policies of that name
     * @throws MooncakeException CONFIG_ERROR listing the names there are
     */
    static Supplier<EvictionPolicy> named(String name) {
        Map<String, Supplier<EvictionPolicy>> known = new TreeMap<>(Map.of("lru", LruPolicy::new));
        Supplier<EvictionPolicy> policy = known.get(name.toLowerCase(Locale.ROOT));
        if (policy == null) {
            throw new MooncakeException(Kind.CONFIG_ERROR,
                    "eviction.policy = '" + name + "' is unknown: there are " + String.join(", ", known.keySet()));
        }
        return policy;
    }
}
