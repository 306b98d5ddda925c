package io.mooncake.core.transfer.tcp;

import io.mooncake.core.base.Bounds;
import io.mooncake.core.transfer.GuardedRead;

/** What is known of a region of a peer, and the reads that wait until it is. */
final class RemoteRegion {
    final int id;
    final RangesQueue waiting = new RangesQueue();
    boolean known;
    long length;
    long keyEpoch;

    RemoteRegion(int id) {
        this.id = id;
    }

    boolean contains(GuardedRead read) {
        return Bounds.contains(read.offset(), read.length(), length);
    }
}
