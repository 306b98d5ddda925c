package io.mooncake.core.transfer.onesided;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** What one cookie stands for: a chunk of a read, or a proof. Reused for ever. The poller's. */
final class Slot {
    enum State {
        /** Nobody's. */
        FREE,
        /** A chunk that is to be posted, and has no request outstanding. */
        WAITING,
        /** Its request is outstanding. */
        POSTED,
        /** A chunk that completed, to be proven. */
        COMPLETED
    }

    /** {@link #position} of the chunk with the checksums of the read's block. */
    static final long CHECKSUMS = -1;

    final int number;
    State state = State.FREE;
    /** The cookie of the last post. */
    long cookie;
    @Nullable
    ReadProgress read;
    /** While posted or completed. */
    @Nullable
    LaneState lane;
    /** First byte of the chunk in its read, or {@link #CHECKSUMS}. */
    long position;
    long bytes;
    int tries;
    /** When it was posted, and when its completion was polled, in the poller's count of events. */
    long postedAt;
    long completedAt;
    /** Of a proof: whether the lane held it back until the chunks before it had completed. */
    boolean fenced;
    /** The next one of the same read, or the next free one. */
    @Nullable
    Slot next;

    Slot(int number) {
        this.number = number;
    }

    ReadProgress read() {
        return Objects.requireNonNull(read);
    }

    LaneState lane() {
        return Objects.requireNonNull(lane);
    }
}
