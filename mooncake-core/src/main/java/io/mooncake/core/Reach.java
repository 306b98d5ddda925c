package io.mooncake.core;

/** How far a view may reach for a block. */
public enum Reach {
    /** Blocks in this node's own memory. */
    NODE,
    /** And blocks of nodes of this host whose memory is shared: seen where they are, not copied. */
    HOST
}
