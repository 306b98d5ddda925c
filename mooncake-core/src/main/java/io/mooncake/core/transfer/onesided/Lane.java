package io.mooncake.core.transfer.onesided;

import io.mooncake.core.transfer.Region;

/**
 * One connection to one process life of a peer: with verbs, a queue pair of one network card. Never connected again: another lane is
 * made. The poller's.
 */
public interface Lane {
    /**
     * A region of the peer as this lane knows it: its keys belong to the lane's card and to one registration. The first time it is
     * asked from the peer, see {@link LaneListener#onRegion}.
     *
     * @param number the peer's number of the region
     * @return one object as long as the lane knows the region; it may forget regions, and asks anew then
     */
    RemoteRegion region(int number);

    /**
     * Whether requests of a read into a region of this node can be posted. Where the fabric does not know it yet, the first question makes it
     * learn.
     *
     * @param destination where bytes are to land
     * @param readBytes of the whole read that they belong to, by which a fabric may choose the way
     * @return false: ask again later
     * @throws io.mooncake.core.base.MooncakeException when the fabric could not learn it, for example OUT_OF_MEMORY; asked again, it
     *     tries again
     */
    boolean isReady(Region destination, long readBytes);

    /**
     * Posts a READ. Requests of a lane begin in the order of posting and complete in it, but their bytes may be fetched and may land
     * in any order, and until the completion was polled. A {@link ReadRequest#fence fenced} one fetches its first byte when all those before it
     * have completed: never, when one of them fails.
     *
     * @param request copied before this returns
     * @return false when the lane takes no request now; then none was posted
     */
    boolean post(ReadRequest request);

    /**
     * Breaks the lane, so that every outstanding request completes soon, {@link RequestEnd#FLUSHED} or as it was. The second time
     * nothing happens.
     */
    void fail();

    /**
     * Ends the lane and with it every outstanding request: when this returns, no byte is written for it any more. Completions of
     * its requests that stand in the queue may still be reported and count there until then; no listener is called any more.
     */
    void destroy();
}
