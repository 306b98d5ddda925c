package io.mooncake.core;

import io.mooncake.core.base.NodeId;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;

/** Numbers what happens to other nodes, and hands it to the listeners through the callbacks. Any thread. */
final class NodeEvents {
    /** Suspects that are remembered; beyond, all are forgotten and may be reported again. */
    private static final int MAX_SUSPECTS = 4096;

    private final List<Consumer<? super NodeEvent>> listeners = new CopyOnWriteArrayList<>();
    private final Set<NodeId> suspects = new HashSet<>();
    private final Callbacks callbacks;
    private long lastNumber;

    NodeEvents(Callbacks callbacks) {
        this.callbacks = callbacks;
    }

    BlockStore.Subscription listen(Consumer<? super NodeEvent> listener) {
        listeners.add(listener);
        return () -> listeners.remove(listener);
    }

    /** A life is a suspect once, until it joins anew or is dead. */
    synchronized void raise(NodeEvent.Kind kind, NodeId node, String reason) {
        if (kind != NodeEvent.Kind.SUSPECT) {
            suspects.remove(node);
        } else if (suspects.size() >= MAX_SUSPECTS) {
            suspects.clear();
        }
        if (kind == NodeEvent.Kind.SUSPECT && !suspects.add(node)) {
            return;
        }
        NodeEvent event = new NodeEvent(++lastNumber, kind, node, reason);
        for (Consumer<? super NodeEvent> listener : listeners) {
            // Refused when listeners are too slow: they see a gap in the numbers.
            boolean _ = callbacks.offer(() -> listener.accept(event));
        }
    }
}
