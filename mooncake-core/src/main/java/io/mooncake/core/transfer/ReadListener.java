package io.mooncake.core.transfer;

/** Who submitted a {@link GuardedRead}. Called by the engine's poller, or in submit itself: quick, never blocking, never throwing. */
public interface ReadListener {
    /**
     * The read ended: from now on the engine neither reads nor writes memory for it, and it may be submitted again.
     * Called exactly once a submission.
     *
     * @param read its cause says more about REFUSED and UNREACHABLE
     * @param status how
     */
    void onReadEnded(GuardedRead read, ReadStatus status);

    /**
     * The deadline of a read passed, but it can't end yet: the engine still has work of it outstanding. At most once a submission.
     *
     * @param read which
     */
    default void onReadExpired(GuardedRead read) {}

    /**
     * Whether nobody wants the bytes any more; asked between chunks.
     *
     * @param read which
     * @return true to have it ended as CANCELED as soon as that is safe
     */
    boolean isGivenUp(GuardedRead read);
}
