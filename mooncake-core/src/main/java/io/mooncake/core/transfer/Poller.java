package io.mooncake.core.transfer;

/** The agent of an engine: the one thread of control that touches its sockets or queues. */
public interface Poller {
    /**
     * Names the agent in thread names and messages.
     *
     * @return for example {@code tcp}
     */
    String roleName();

    /**
     * One bounded duty cycle. Called by one thread at a time.
     *
     * @return how much was done; 0 lets the caller back off
     */
    int doWork();

    /**
     * Blocks the polling thread until there may be work.
     *
     * @param maxNs nanoseconds at most
     */
    void park(long maxNs);

    /** Ends {@link #park}, now or the next one. Any thread; cheap when nothing is parked. */
    void wakeup();

    /** The last call of the polling thread: ends every read as CANCELED, closes what the poller owns. */
    void onClose();
}
