package io.mooncake.rdma;

import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.ControlChannel;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Poller;
import io.mooncake.core.transfer.Route;
import io.mooncake.core.transfer.Topic;
import io.mooncake.core.transfer.TransferEngine;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.BiPredicate;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** What carries control messages between the nodes of a rig: in order, to whoever has the name. */
final class MessageBus {
    private final Consumer<Runnable> soon;
    private final BiPredicate<String, String> isCut;
    private final Map<String, EngineContext> nodes = new HashMap<>();
    private int lost;

    /**
     * A bus.
     *
     * @param soon runs a delivery some time later, one after the other
     * @param isCut whether two hosts do not reach each other now
     */
    MessageBus(Consumer<Runnable> soon, BiPredicate<String, String> isCut) {
        this.soon = soon;
        this.isCut = isCut;
    }

    /** From now on the node sends and is sent to. */
    void join(EngineContext context) {
        nodes.put(context.self().name(), context);
        context.control().carriedBy(id -> new Peer(id, Map.of()), List.of(new Carrier(context.self())));
    }

    /** From now on an engine carries what it takes, and the bus the rest. */
    void prefer(EngineContext context, TransferEngine engine, Function<NodeId, @Nullable Peer> peers) {
        context.control().carriedBy(peers, List.of(engine, new Carrier(context.self())));
    }

    /** Has a node send a message, as the application does. */
    boolean send(NodeId from, NodeId to, String message) {
        EngineContext sender = Objects.requireNonNull(nodes.get(from.name()));
        return sender.control().send(to, Topic.APPLICATION, ByteBuffer.wrap(message.getBytes(StandardCharsets.UTF_8)));
    }

    /** The next messages are lost. */
    void lose(int messages) {
        lost = messages;
    }

    /** A message of somebody who may not be a node. */
    void deliver(NodeId from, String to, byte[] message) {
        deliver(Topic.LANES, from, to, message);
    }

    private void deliver(Topic topic, NodeId from, String to, byte[] message) {
        EngineContext target = nodes.get(to);
        if (target != null && !isCut.test(from.name(), to)) {
            target.control().deliver(topic.number(), from, message);
        }
    }

    private final class Carrier implements TransferEngine, Poller {
        private final NodeId self;

        Carrier(NodeId self) {
            this.self = self;
        }

        @Override
        public boolean send(Peer peer, Topic topic, ByteBuffer message) {
            if (lost > 0) {
                lost--;
                return true;
            }
            byte[] bytes = ControlChannel.copy(peer, message);
            soon.accept(() -> deliver(topic, self, peer.id().name(), bytes));
            return true;
        }

        @Override
        public String name() {
            return "bus";
        }

        @Override
        public Optional<String> advertised() {
            return Optional.empty();
        }

        @Override
        public Route route(Peer peer, int region) {
            return Route.byAddress(false);
        }

        @Override
        public boolean submit(GuardedRead read) {
            return false;
        }

        @Override
        public void abort(GuardedRead read) {
            // It has none.
        }

        @Override
        public Poller poller() {
            return this;
        }

        @Override
        public String roleName() {
            return "bus";
        }

        @Override
        public int doWork() {
            return 0;
        }

        @Override
        public void park(long maxNs) {
            // Has nothing to wait for.
        }

        @Override
        public void wakeup() {
            // Is never parked.
        }

        @Override
        public void onClose() {
            // Has nothing to close.
        }
    }

}
