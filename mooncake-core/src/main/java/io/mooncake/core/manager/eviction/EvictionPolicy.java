package io.mooncake.core.manager.eviction;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;

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
     */
    void add(int slot);

    /**
     * A slot's block is gone, or may not be evicted for a while.
     *
     * @param slot known to the policy
     */
    void remove(int slot);

    /**
     * A slot's block was evicted as the policy said: it is gone, and may be asked for again.
     *
     * @param slot known to the policy
     */
    default void evicted(int slot) {
        remove(slot);
    }

    /**
     * The {@linkplain SlotUse#nextUse next use} of a slot's block may have changed.
     *
     * @param slot known to the policy
     */
    default void changed(int slot) {}

    /**
     * Says which goes first; it stays known.
     *
     * @return a slot, or {@link #NONE}
     */
    int candidate();

    /**
     * Finds a policy. Each obeys hints of the next use before anything else.
     *
     * @param name of any case
     * @return makes policies of that name
     * @throws MooncakeException CONFIG_ERROR listing the names there are
     */
    static Function<SlotUse, EvictionPolicy> named(String name) {
        Map<String, Function<SlotUse, EvictionPolicy>> known = new TreeMap<>(
                Map.of("adaptive", AdaptivePolicy::new, "lru", LruPolicy::new, "s3fifo", S3FifoPolicy::new));
        Function<SlotUse, EvictionPolicy> observed = known.get(name.toLowerCase(Locale.ROOT));
        if (observed == null) {
            throw new MooncakeException(Kind.CONFIG_ERROR,
                    "eviction.policy = '" + name + "' is unknown: there are " + String.join(", ", known.keySet()));
        }
        return use -> new NextUsePolicy(use, observed.apply(use));
    }
}
