package io.mooncake.core.schedule;

import io.mooncake.core.base.NodeId;

/** What a decision may know. Values of one moment; a scheduler asks and remembers nothing. */
public interface ClusterView {
    /**
     * The node that decides.
     *
     * @return this node
     */
    NodeId self();

    /**
     * What reading from a node costs: 0 from this one, more the farther away.
     *
     * @param node a holder
     * @return a cost, comparable only with others of the same view
     */
    long cost(NodeId node);

    /**
     * Reads of this node outstanding at another.
     *
     * @param node a holder
     * @return 0 and up
     */
    int load(NodeId node);
}
