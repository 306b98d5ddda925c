package io.mooncake.bench.cli;

import java.io.IOException;
import java.util.List;

/** Nodes that a trace is replayed on, and how. One thread. */
interface Replay extends AutoCloseable {
    /**
     * Serves every request once.
     *
     * @param trace the requests
     * @param pace when each arrives
     * @param progress is told after each
     * @throws IOException when a process of a node has ended
     */
    void pass(Trace trace, Pace pace, Progress progress) throws IOException;

    /**
     * What the nodes' processes use together, after a full garbage collection.
     *
     * @throws IOException when one of them has ended
     */
    MemoryUse memory() throws IOException;

    /**
     * What the nodes have to say, in the order of routing.
     *
     * @throws IOException when a process of a node has ended
     */
    List<NodeReport> nodes() throws IOException;

    /**
     * Kills the processes of all nodes, as {@code kill -9} does, and starts them again: they have what their files kept. What they have to
     * say until then is in {@link #nodes} all the same.
     *
     * @return how many blocks those are
     * @throws IOException when one of them cannot be started
     */
    default long restart() throws IOException {
        throw new UnsupportedOperationException("nodes of this process are not killed");
    }

    /** Closes every node. */
    @Override
    void close();
}
