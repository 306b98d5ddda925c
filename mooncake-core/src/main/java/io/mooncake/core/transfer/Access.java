package io.mooncake.core.transfer;

/** What others may do with a region. */
public enum Access {
    /** Only this node's engines touch it; nothing about it is told to peers. */
    LOCAL_ONLY,
    /** Peers may read it. */
    READABLE,
    /** Peers may read it, but only together with a guard: a pool's slots. */
    GUARDED
}
