package io.mooncake.core.transfer.tcp;

import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Topic;

/** A control message on its way to the poller. */
final class Message {
    final Peer to;
    final Topic topic;
    final byte[] bytes;

    Message(Peer to, Topic topic, byte[] bytes) {
        this.to = to;
        this.topic = topic;
        this.bytes = bytes;
    }
}
