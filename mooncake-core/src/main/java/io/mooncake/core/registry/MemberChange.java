package io.mooncake.core.registry;

import io.mooncake.core.base.NodeId;

/**
 * Something that a registry found out about a life of a node. Immutable.
 *
 * @param kind what
 * @param node which life
 * @param reason in words
 */
public record MemberChange(Kind kind, NodeId node, String reason) {
    /** What happened. */
    public enum Kind {
        /** It is a member, and where it is reached is known. */
        JOINED,
        /** It is not a member any more: its blocks are unreadable, what it said is forgotten. */
        DEAD,
        /** It has this node's own name and came later: this node is to stop. */
        DUPLICATE
    }
}
