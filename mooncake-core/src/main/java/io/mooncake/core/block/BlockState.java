package io.mooncake.core.block;

/** Where a slot stands in the one lifecycle; its ordinal is what control words and guards carry. */
public enum BlockState {
    /** Nobody's; its bytes mean nothing. */
    FREE,
    /** A {@link BlockWriter} owns it; invisible to readers. */
    ALLOCATED,
    /** Sealed and readable until evicted. */
    WRITTEN,
    /** No new readers; becomes FREE when the last one left. */
    EVICTED;

    private static final BlockState[] STATES = values();

    /**
     * The state of an ordinal.
     *
     * @param ordinal 0 to 3
     * @return the state
     */
    public static BlockState of(int ordinal) {
        return STATES[ordinal];
    }

    /**
     * Whether the lifecycle has this edge.
     *
     * @param next the state after
     * @return true for the five edges of the package picture
     */
    public boolean mayBecome(BlockState next) {
        return switch (this) {
            case FREE -> next == ALLOCATED;
            case ALLOCATED -> next == WRITTEN || next == FREE;
            case WRITTEN -> next == EVICTED;
            case EVICTED -> next == FREE;
        };
    }
}
