package io.mooncake.core.transfer;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Counters;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A node's small messages: one handler a topic takes what the engines bring, and the first engine that has a way carries what is sent.
 * Any thread.
 *
 * <p>Messages of one sender arrive in order as long as the connection lasts, each at most once; the sender is who it proved to be in the
 * handshake.
 */
public final class ControlChannel {
    private final Counters counters;
    private final AtomicReferenceArray<@Nullable MessageHandler> handlers = new AtomicReferenceArray<>(
            Topic.values().length);
    private volatile @Nullable Carriers carriers;

    /**
     * A channel without handlers, that reaches nobody yet.
     *
     * @param counters counts what nobody took
     */
    public ControlChannel(Counters counters) {
        this.counters = counters;
    }

    /**
     * Sets who takes a topic's messages. Without anybody they are counted and dropped.
     *
     * @param topic which
     * @param handler called by pollers: must only hand over
     * @throws MooncakeException IN_USE when the topic has a handler
     */
    public void onMessage(Topic topic, MessageHandler handler) {
        if (!handlers.compareAndSet(topic.ordinal(), null, handler)) {
            throw new MooncakeException(Kind.IN_USE,
                    "topic " + topic + " has a handler: one engine or registry of a node takes it");
        }
    }

    /**
     * Sends.
     *
     * @param to the receiver, in this incarnation
     * @param topic for whom there
     * @param message its remaining bytes, at most {@link EngineContext#MAX_MESSAGE_BYTES}; copied
     * @return false when the node is unknown, no engine has a way there, or the queue of the one that has is full
     * @throws MooncakeException OUT_OF_BOUNDS for a longer message
     */
    public boolean send(NodeId to, Topic topic, ByteBuffer message) {
        check(to, message);
        Carriers way = carriers;
        Peer peer = way == null ? null : way.peers.apply(to);
        if (way == null || peer == null) {
            return false;
        }
        for (TransferEngine engine : way.engines) {
            if (engine.send(peer, topic, message)) {
                return true;
            }
            if (engine.carries(peer, topic)) {
                return false;
            }
        }
        return false;
    }

    /**
     * Takes a message's bytes over. For engines.
     *
     * @param to the receiver, for the error
     * @param message its remaining bytes
     * @return a copy
     * @throws MooncakeException OUT_OF_BOUNDS for a longer message
     */
    public static byte[] copy(Peer to, ByteBuffer message) {
        check(to.id(), message);
        byte[] bytes = new byte[message.remaining()];
        message.get(message.position(), bytes);
        return bytes;
    }

    private static void check(NodeId to, ByteBuffer message) {
        if (message.remaining() > EngineContext.MAX_MESSAGE_BYTES) {
            throw new MooncakeException(Kind.OUT_OF_BOUNDS, "message to " + to + " has " + message.remaining()
                    + " bytes, more than " + EngineContext.MAX_MESSAGE_BYTES + ": write a block and send its ref");
        }
    }

    /**
     * Hands a message on. For engines, in their pollers.
     *
     * @param topic its number, from outside; a later version's is dropped
     * @param from the sender, as it proved itself
     * @param message the receiver's own copy
     */
    public void deliver(long topic, NodeId from, byte[] message) {
        Topic known = Topic.of(topic);
        MessageHandler handler = known == null ? null : handlers.get(known.ordinal());
        if (handler == null) {
            counters.increment(Counter.MESSAGES_DROPPED);
        } else {
            handler.onMessage(from, message);
        }
    }

    /**
     * Gives it what carries its messages. For the node, once, before its agents start.
     *
     * @param peers finds a node's addresses; null when it is not known
     * @param engines in the order of preference
     */
    public void carriedBy(Function<NodeId, @Nullable Peer> peers, List<TransferEngine> engines) {
        carriers = new Carriers(peers, List.copyOf(engines));
    }

    private record Carriers(Function<NodeId, @Nullable Peer> peers, List<TransferEngine> engines) {}
}
