package io.mooncake.core;

import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.Tier;
import io.mooncake.core.registry.NodeSpace;
import io.mooncake.core.registry.Registry;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * What this node gave others to do, and asked them to have room for since they said last what room they have: so that it does not place all on
 * one of them until that says how it fares. Any thread.
 */
final class Promises {
    private record Place(NodeId node, Tier tier) {}

    /** Bytes of a place that go off what its node said. */
    private record Promised(@Nullable NodeSpace said, long bytes) {}

    private final Registry registry;
    private final ConcurrentHashMap<Place, Promised> places = new ConcurrentHashMap<>();
    private final ConcurrentHashMap<NodeId, Integer> computing = new ConcurrentHashMap<>();

    Promises(Registry registry) {
        this.registry = registry;
    }

    /** That a node was asked to have room for since it said what room it has. */
    long bytes(NodeId node, Tier tier) {
        Promised known = places.get(new Place(node, tier));
        return known != null && Objects.equals(known.said, registry.space(node)) ? known.bytes : 0;
    }

    /** Blocks that it computes. */
    int computing(NodeId node) {
        return computing.getOrDefault(node, 0);
    }

    /** More room, or less where negative. */
    void add(NodeId node, Tier tier, long bytes) {
        NodeSpace now = registry.space(node);
        places.compute(new Place(node, tier), (_, known) -> {
            long before = known != null && Objects.equals(known.said, now) ? known.bytes : 0;
            long after = Math.max(0, before + bytes);
            return after == 0 ? null : new Promised(now, after);
        });
    }

    /** More to compute, or less where negative. */
    void compute(NodeId node, int blocks) {
        computing.compute(node, (_, known) -> {
            int after = Math.clamp((known == null ? 0L : known) + blocks, 0, Integer.MAX_VALUE);
            return after == 0 ? null : after;
        });
    }

    void forget(NodeId node) {
        places.keySet().removeIf(place -> place.node.equals(node));
        computing.remove(node);
    }
}
