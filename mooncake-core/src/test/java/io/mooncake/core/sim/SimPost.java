package io.mooncake.core.sim;

import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.ControlChannel;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Poller;
import io.mooncake.core.transfer.Route;
import io.mooncake.core.transfer.Route.Health;
import io.mooncake.core.transfer.Route.Locality;
import io.mooncake.core.transfer.Topic;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.testing.VirtualTime;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;

/** Carries the nodes' control messages: in order and a little late, and where that is asked for some of them not at all. */
final class SimPost {
    private static final long DELAY_NS = 2_000;
    private static final Route NONE = new Route(Locality.NETWORK, false, Health.NONE, "it carries messages only");

    private final VirtualTime time;
    private final SplittableRandom random;
    private final Map<NodeId, EngineContext> living = new HashMap<>();
    private int lostPermille;

    SimPost(VirtualTime time, long seed) {
        this.time = time;
        // Its own, so that the worlds' other dice fall as they did.
        random = new SplittableRandom(~seed);
    }

    /** From now on so many of a thousand messages are lost. */
    void lose(int permille) {
        lostPermille = permille;
    }

    TransferEngine join(EngineContext context) {
        living.put(context.self(), context);
        return new End(context.self());
    }

    void leave(NodeId node) {
        living.remove(node);
    }

    private void deliver(NodeId from, NodeId to, Topic topic, byte[] message) {
        EngineContext receiver = living.get(to);
        if (receiver != null && living.containsKey(from)) {
            receiver.control().deliver(topic.number(), from, message);
        }
    }

    private final class End implements TransferEngine, Poller {
        private final NodeId self;

        private End(NodeId self) {
            this.self = self;
        }

        @Override
        public String name() {
            return "post";
        }

        @Override
        public String roleName() {
            return name();
        }

        @Override
        public Optional<String> advertised() {
            return Optional.empty();
        }

        @Override
        public Route route(Peer peer, int region) {
            return NONE;
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
        public boolean send(Peer peer, Topic topic, ByteBuffer message) {
            byte[] copy = ControlChannel.copy(peer, message);
            if (random.nextInt(1000) >= lostPermille) {
                time.after(DELAY_NS, () -> deliver(self, peer.id(), topic, copy));
            }
            return true;
        }

        @Override
        public Poller poller() {
            return this;
        }

        @Override
        public int doWork() {
            return 0;
        }

        @Override
        public void park(long maxNs) {
            // Nobody waits in a simulation.
        }

        @Override
        public void wakeup() {
            // Nobody waits in a simulation.
        }

        @Override
        public void onClose() {
            living.remove(self);
        }
    }
}
