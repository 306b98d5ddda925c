package io.mooncake.core.transfer;

/** What a transfer moves; the store's side of it. */
public interface TransferWork {
    /**
     * Starts every piece: each ends by one call of {@link Transfer#end}.
     *
     * @param transfer the transfer
     * @param deadlineNs when everything must have ended
     */
    void start(Transfer transfer, long deadlineNs);

    /**
     * The submission was given up: makes haste to end what has not ended. Any thread, perhaps while {@link #start} still runs; the
     * submission is not released before it returns. Quick, never blocking, allocating nothing.
     */
    void abort();

    /**
     * When a piece is needed.
     *
     * @param piece which
     * @return 0 first
     */
    int stage(int piece);

    /**
     * How many bytes have arrived, as {@link Transfer#received()} says.
     *
     * @return of all pieces; 0 where the work does not count
     */
    default long received() {
        return 0;
    }

    /**
     * How many bytes of a piece were compared with checksums, as {@link Transfer#verified} says.
     *
     * @param piece which
     * @return 0 where the work does not count
     */
    default long verified(int piece) {
        return 0;
    }
}
