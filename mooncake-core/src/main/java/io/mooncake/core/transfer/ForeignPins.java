package io.mooncake.core.transfer;

/**
 * The owner's side of views that readers of other processes have of a pool's blocks. The block manager asks it, after it has raised a
 * slot's guard to EVICTED and before it frees the slot. Any thread; allocates nothing.
 */
@FunctionalInterface
public interface ForeignPins {
    /** For memory that no other process can map. */
    ForeignPins NONE = guardOffset -> false;

    /**
     * Whether a reader has the slot pinned. A pin that is not seen by this call will see the raised guard, and end itself unused.
     *
     * @param guardOffset the slot's place in the pool's guard table
     * @return false when no reader that lives has it pinned
     */
    boolean isPinned(long guardOffset);
}
