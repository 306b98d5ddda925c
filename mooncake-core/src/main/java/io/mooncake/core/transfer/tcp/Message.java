package io.mooncake.core.transfer.tcp;

import io.mooncake.core.transfer.Peer;

/** A control message on its way to the poller. */
final class Message {
    final Peer to;
    final byte[] bytes;

    Message(Peer to, byte[] bytes) {
        this.to = to;
        this.bytes = bytes;
    }
}
