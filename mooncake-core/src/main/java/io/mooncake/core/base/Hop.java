package io.mooncake.core.base;

/** How far apart two nodes are, by what is known of their places: the class of a pair, the nearest first. */
public enum Hop {
    /** A node and itself. */
    NODE,
    /** Two nodes of one process. */
    PROCESS,
    /** Two processes of one host. */
    HOST,
    /** Two hosts of one rack. */
    RACK,
    /** Two racks of one zone. */
    ZONE,
    /** Farther, or not known to be nearer. */
    FAR
}
