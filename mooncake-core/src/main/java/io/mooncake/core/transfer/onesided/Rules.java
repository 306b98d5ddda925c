package io.mooncake.core.transfer.onesided;

/**
 * What the machine's correctness stands on, each rule by itself. The machine asks here whenever it could do something wrong; tests plant
 * a fault by overriding one rule, and must find it.
 */
class Rules {
    /**
     * Whether a lane's proof may be posted now: a READ posted while others are outstanding may be sampled before them.
     *
     * @param outstanding the read's chunks outstanding on the lane
     * @param completed the read's chunks that completed on the lane and are not proven
     */
    boolean mayProve(int outstanding, int completed) {
        return outstanding == 0 && completed > 0;
    }

    /**
     * Whether a proof proves a chunk of its lane: only one whose completion was seen before the proof was posted.
     *
     * @param completedAt when the chunk's completion was polled, in the machine's count of events
     * @param proofPostedAt when the proof was posted, in the same count
     */
    boolean proves(long completedAt, long proofPostedAt) {
        return completedAt < proofPostedAt;
    }

    /**
     * Whether the lane is to hold a proof back until the chunks that were posted before it have completed. The machine posts one in the same
     * go as the last chunk, where nothing else would have to wait behind it.
     */
    boolean fencesProofs() {
        return true;
    }

    /**
     * Whether a proof that the lane held back proves a chunk of its lane, which has completed: only one that was posted before it.
     *
     * @param postedAt when the chunk was posted, in the machine's count of events
     * @param proofPostedAt when the proof was posted, in the same count
     */
    boolean provesBehindFence(long postedAt, long proofPostedAt) {
        return postedAt < proofPostedAt;
    }

    /**
     * Whether a request that ended has brought its bytes: a lane that is broken can report OK for bytes that never came.
     *
     * @param end as reported
     * @param laneIsOpen whether the lane is not known to be broken, up to now
     */
    boolean hasArrived(RequestEnd end, boolean laneIsOpen) {
        return end == RequestEnd.OK && laneIsOpen;
    }

    /**
     * Whether the loss of a lane has ended its outstanding requests, so that their chunks may be posted again: until it is destroyed,
     * their bytes can land at any time.
     *
     * @param destroyed whether the lane is destroyed, not only broken
     */
    boolean endsRequests(boolean destroyed) {
        return destroyed;
    }

    /**
     * Whether a completion belongs to what stands in its slot.
     *
     * @param reported the completion's cookie
     * @param posted the cookie of the slot's last post
     */
    boolean isCurrent(long reported, long posted) {
        return reported == posted;
    }

    /**
     * Whether a read may end: from its end on nobody writes its destination.
     *
     * @param outstanding its requests that have not ended
     */
    boolean mayEnd(int outstanding) {
        return outstanding == 0;
    }
}
