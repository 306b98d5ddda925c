package io.mooncake.core.block;

/** How far a block is from the computation, as seen from one node; in the order of preference, by which number it is also sent. */
public enum Tier {
    /** Device memory of this node. */
    VRAM,
    /** Host memory of this node. */
    DRAM,
    /** A file of this node, or any memory of another. */
    SLOW
}
