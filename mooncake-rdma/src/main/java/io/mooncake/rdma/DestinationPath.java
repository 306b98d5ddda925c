package io.mooncake.rdma;

/** How the bytes of a read get to where they go. One pure function chooses. */
enum DestinationPath {
    /** The card writes them there: it knows the region. */
    DIRECT,
    /** The card writes them into a ring of its own, and the poller copies. */
    BOUNCE,
    /** When the card has been told of the region: that takes longer than a copy, and lasts. */
    REGISTER;

    /** Of a read that bounces: what is copied in less time than memory is registered in. */
    static final long MOST_BOUNCED_BYTES = 64 << 10;
    /** What has bounced into a region after which it is registered after all. */
    static final long WORTH_REGISTERING_BYTES = 1 << 20;

    /**
     * Chooses.
     *
     * @param registered whether the card knows the region
     * @param readBytes of the whole read
     * @param bouncedBytes that have bounced into the region before
     * @param room whether the ring has a free place
     */
    static DestinationPath of(boolean registered, long readBytes, long bouncedBytes, boolean room) {
        if (registered) {
            return DIRECT;
        }
        return room && readBytes <= MOST_BOUNCED_BYTES && bouncedBytes < WORTH_REGISTERING_BYTES ? BOUNCE : REGISTER;
    }
}
