package io.mooncake.core.transfer;

import io.mooncake.core.base.NodeId;

/** Takes control messages from peers. Called by a poller: must only hand over. */
@FunctionalInterface
public interface MessageHandler {
    /**
     * A message arrived.
     *
     * @param from the sender, as it proved itself in the handshake
     * @param message the receiver's own copy
     */
    void onMessage(NodeId from, byte[] message);
}
