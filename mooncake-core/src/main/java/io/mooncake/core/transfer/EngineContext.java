package io.mooncake.core.transfer;

import io.mooncake.core.base.Counters;
import io.mooncake.core.base.NodeId;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What a node gives to each of its engines.
 *
 * @param self the node
 * @param cluster the cluster's name; peers of another are refused
 * @param regions the node's memory
 * @param guards pins and guards of the node's blocks
 * @param counters the node's counters
 * @param nanoClock the node's clock
 * @param control the node's control messages: where engines bring those that arrived
 * @param wakeup wakes the thread that runs the engine's poller where that parks somewhere else, in another engine's: to be called by whatever
 *     else would end {@link Poller#park}; any thread. Null where it parks in that poller
 */
public record EngineContext(NodeId self, String cluster, RegionTable regions, GuardSource guards, Counters counters,
        LongSupplier nanoClock, ControlChannel control, @Nullable Runnable wakeup) {
    /** A control message's bytes at most. */
    public static final int MAX_MESSAGE_BYTES = 64 * 1024;
    /** A chunk's bytes at most: the unit of pinning, of fairness and of proof. */
    public static final int MAX_CHUNK_BYTES = 1 << 20;

    /**
     * Of an engine whose poller has a thread to itself, or that threads shared with others park in.
     *
     * @param self the node
     * @param cluster the cluster's name; peers of another are refused
     * @param regions the node's memory
     * @param guards pins and guards of the node's blocks
     * @param counters the node's counters
     * @param nanoClock the node's clock
     * @param control the node's control messages: where engines bring those that arrived
     */
    public EngineContext(NodeId self, String cluster, RegionTable regions, GuardSource guards, Counters counters,
            LongSupplier nanoClock, ControlChannel control) {
        this(self, cluster, regions, guards, counters, nanoClock, control, null);
    }

    /**
     * The same for an engine whose thread parks elsewhere.
     *
     * @param elsewhere wakes it there
     * @return a context with that
     */
    public EngineContext wokenBy(Runnable elsewhere) {
        return new EngineContext(self, cluster, regions, guards, counters, nanoClock, control, elsewhere);
    }
}
