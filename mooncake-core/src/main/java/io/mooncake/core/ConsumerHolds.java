package io.mooncake.core;

import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Hold;
import io.mooncake.core.registry.Registry;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;

/** Holds for nodes that have not pulled yet: each ends before its time when that node has the blocks, or is dead. The conductor's. */
final class ConsumerHolds {
    private static final long LOOK_NS = 10_000_000;
    private static final int REFS_PER_LOOK = 4096;

    private final Registry registry;
    private final ConcurrentLinkedQueue<Promise> begun = new ConcurrentLinkedQueue<>();
    private final ArrayDeque<Promise> open = new ArrayDeque<>();
    private long lookedNs;

    private static final class Promise {
        final Hold hold;
        final NodeId consumer;
        /** Whether the registry knew the consumer: one that it has not heard of yet is not dead. */
        boolean known;

        Promise(Hold hold, NodeId consumer) {
            this.hold = hold;
            this.consumer = consumer;
        }
    }

    ConsumerHolds(Registry registry, long nowNs) {
        this.registry = registry;
        lookedNs = nowNs;
    }

    /** Any thread. */
    void add(Hold hold, NodeId consumer) {
        begun.add(new Promise(hold, consumer));
    }

    /** Now and then ends what is over. */
    int look(long nowNs) {
        if (nowNs - lookedNs < LOOK_NS) {
            return 0;
        }
        lookedNs = nowNs;
        for (Promise promise = begun.poll(); promise != null; promise = begun.poll()) {
            open.add(promise);
        }
        int ended = 0;
        int refs = 0;
        for (int left = open.size(); left > 0 && refs < REFS_PER_LOOK; left--) {
            Promise promise = open.remove();
            refs += 1 + promise.hold.refs().size();
            if (isOver(promise)) {
                promise.hold.close();
                ended++;
            } else {
                open.add(promise);
            }
        }
        return ended;
    }

    private boolean isOver(Promise promise) {
        boolean known = registry.peer(promise.consumer) != null;
        boolean dead = promise.known && !known;
        promise.known |= known;
        return dead || !promise.hold.isOpen() || hasAll(promise.consumer, promise.hold.refs());
    }

    private boolean hasAll(NodeId consumer, List<BlockRef> refs) {
        for (int i = 0; i < refs.size(); i++) {
            if (!has(consumer, refs.get(i))) {
                return false;
            }
        }
        return true;
    }

    private boolean has(NodeId consumer, BlockRef ref) {
        List<BlockRef> holders = registry.locations(ref.id());
        for (int i = 0; i < holders.size(); i++) {
            BlockRef holder = holders.get(i);
            if (holder.node().equals(consumer) && holder.isSameContent(ref)) {
                return true;
            }
        }
        return false;
    }
}
