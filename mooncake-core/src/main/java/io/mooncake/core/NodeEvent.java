package io.mooncake.core;

import io.mooncake.core.base.NodeId;

/**
 * Something that happened to another node, as seen from here, numbered: a gap in the numbers means that events were dropped because
 * listeners were slower than the node. Immutable.
 *
 * @param number 1 and up, in the order of what happened
 * @param kind what
 * @param node which life of which node
 * @param reason in words
 */
public record NodeEvent(long number, Kind kind, NodeId node, String reason) {
    /** What happened. */
    public enum Kind {
        /** It is a member of the cluster, and its blocks can be found; also when it was dead and is back. */
        JOINED,
        /** A read from it failed because it could not be reached from here; others may reach it, and its blocks stay known. */
        SUSPECT,
        /** It is not a member any more, in this life: its blocks are unreadable. */
        DEAD
    }
}
