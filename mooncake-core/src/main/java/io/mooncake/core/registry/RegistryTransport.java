package io.mooncake.core.registry;

import io.mooncake.core.base.NodeId;

/**
 * Carries the registry's messages: may lose, double and reorder them, and must not change them. Called by the thread that calls
 * {@link ReplicatedRegistry#flush()}, hence may block.
 */
public interface RegistryTransport {
    /**
     * Sends to every member but this one.
     *
     * @param message at most {@link RegistryMessage#MAX_BYTES} bytes, not changed any more
     */
    void broadcast(byte[] message);

    /**
     * Sends to one member, if it is one.
     *
     * @param to who, in any incarnation
     * @param message at most {@link RegistryMessage#MAX_BYTES} bytes, not changed any more
     */
    void send(NodeId to, byte[] message);

    /**
     * The same for a message of many, where there is a better way for them.
     *
     * @param to who, in this incarnation
     * @param message at most {@link RegistryMessage#MAX_BYTES} bytes, not changed any more
     */
    default void sendBulk(NodeId to, byte[] message) {
        send(to, message);
    }
}
