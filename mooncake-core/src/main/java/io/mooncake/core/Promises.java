package io.mooncake.core;

import io.mooncake.core.base.NodeId;
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
    /**
     * Of one node.
     *
     * @param said what room that said it has, from which the bytes go off
     * @param bytes that it was asked to have room for since
     * @param computing blocks that it computes
     */
    record Promised(@Nullable NodeSpace said, long bytes, int computing) {
        static final Promised NOTHING = new Promised(null, 0, 0);
    }

    private final Registry registry;
    private final ConcurrentHashMap<NodeId, Promised> all = new ConcurrentHashMap<>();

    Promises(Registry registry) {
        this.registry = registry;
    }

    Promised of(NodeId node) {
        return upToDate(all.getOrDefault(node, Promised.NOTHING), registry.space(node));
    }

    private static Promised upToDate(Promised known, @Nullable NodeSpace now) {
        return Objects.equals(known.said, now) ? known : new Promised(now, 0, known.computing);
    }

    /** More, or less where negative. */
    void add(NodeId node, long bytes, int blocks) {
        NodeSpace now = registry.space(node);
        all.compute(node, (id, known) -> {
            Promised before = upToDate(known == null ? Promised.NOTHING : known, now);
            Promised after = new Promised(now, Math.max(0, before.bytes + bytes),
                    Math.clamp((long) before.computing + blocks, 0, Integer.MAX_VALUE));
            return after.bytes == 0 && after.computing == 0 ? null : after;
        });
    }

    void forget(NodeId node) {
        all.remove(node);
    }
}
