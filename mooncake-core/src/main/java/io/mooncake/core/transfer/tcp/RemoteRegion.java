package io.mooncake.core.transfer.tcp;

/** What a lane knows of a region of its peer, and the reads that wait until it does. */
final class RemoteRegion {
    final int id;
    final ReadQueue waiting = new ReadQueue();
    boolean known;
    long length;
    long keyEpoch;

    RemoteRegion(int id) {
        this.id = id;
    }
}
