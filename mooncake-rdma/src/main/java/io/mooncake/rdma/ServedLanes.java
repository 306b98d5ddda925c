package io.mooncake.rdma;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Region;
import io.mooncake.rdma.LaneMessage.Closed;
import io.mooncake.rdma.LaneMessage.NoRegion;
import io.mooncake.rdma.LaneMessage.Purpose;
import io.mooncake.rdma.LaneMessage.Query;
import io.mooncake.rdma.LaneMessage.Refused;
import io.mooncake.rdma.LaneMessage.Reply;
import io.mooncake.rdma.LaneMessage.Request;
import io.mooncake.rdma.verbs.ConnectionSettings;
import io.mooncake.rdma.verbs.PeerEnd;
import io.mooncake.rdma.verbs.QueuePair;
import io.mooncake.rdma.verbs.VerbsException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The ends of peers' lanes. Those of readers only answer READs: nothing is ever posted to them, so they take no credit and complete nothing.
 * A peer may read what this node's regions allow, by keys that it asks for lane by lane. Those of senders of messages are the poller's once they
 * are connected ({@link IncomingLane}). The registrar's.
 *
 * <p>There are so many as configured: a newcomer pushes out the one that SIEVE finds, that is the oldest that has not asked for a region
 * since it was passed over last. Its peer makes a new lane when it needs one.
 */
final class ServedLanes {
    private record Key(NodeId reader, long lane) {}

    private static final class Served {
        final Key key;
        final Nic nic;
        final QueuePair queuePair;
        /** What receives on it; null for a lane that reads. */
        final @Nullable IncomingLane messages;
        boolean visited;

        Served(Key key, Nic nic, QueuePair queuePair, @Nullable IncomingLane messages) {
            this.key = key;
            this.nic = nic;
            this.queuePair = queuePair;
            this.messages = messages;
        }

        Purpose purpose() {
            return messages == null ? Purpose.READS : Purpose.MESSAGES;
        }

        boolean takeVisited() {
            boolean was = visited || (messages != null && messages.takeHeard());
            visited = false;
            return was;
        }
    }

    private final RdmaFabric fabric;
    private final MessageLanes messages;
    private final Map<Purpose, Integer> most;
    private final Map<Key, Served> lanes = new HashMap<>();
    private final Map<Purpose, Deque<Served>> orders = new EnumMap<>(Purpose.class);

    ServedLanes(RdmaFabric fabric, MessageLanes messages, int most) {
        this.fabric = fabric;
        this.messages = messages;
        this.most = Map.of(Purpose.READS, most, Purpose.MESSAGES, MessagePort.LANES);
    }

    private Deque<Served> order(Purpose purpose) {
        return orders.computeIfAbsent(purpose, any -> new ArrayDeque<>());
    }

    int size() {
        return lanes.size();
    }

    /** A peer wants to read from this node. */
    void onRequest(NodeId reader, Request request) {
        NodeId self = fabric.node().self();
        Key key = new Key(reader, request.lane());
        if (lanes.containsKey(key)) {
            return; // Told twice.
        }
        if (lanes.keySet().stream().anyMatch(known -> isEarlier(reader, known.reader))) {
            return; // Late: nobody waits for an answer.
        }
        drop(lane -> isEarlier(lane.key.reader, reader), true);
        if (request.incarnation() != self.incarnation()) {
            refuse(key, Kind.STALE_INCARNATION, "node " + self + " answers, not its life " + request.incarnation());
            return;
        }
        Nic nic = fabric.chooseServing(request.end().gid());
        if (nic == null) {
            refuse(key, Kind.PEER_UNREACHABLE, "node " + self + " has no card with an active port now");
            return;
        }
        if (request.purpose() == Purpose.MESSAGES && !messages.isUsed()) {
            refuse(key, Kind.UNSUPPORTED, "node " + self + " takes no messages by RDMA (rdma.landingBytes = 0)");
            return;
        }
        makeRoom(request.purpose());
        try {
            serve(key, nic, request);
        } catch (VerbsException e) {
            refuse(key, e.asMooncake().kind(), "node " + self + ": " + e.getMessage());
        } catch (MooncakeException e) {
            refuse(key, e.kind(), "node " + self + ": " + e.getMessage());
        }
    }

    /** Whether one is a life that the other has followed. */
    private static boolean isEarlier(NodeId one, NodeId other) {
        return one.name().equals(other.name()) && one.incarnation() < other.incarnation();
    }

    private void refuse(Key key, Kind kind, String text) {
        fabric.send(key.reader, new Refused(key.lane, kind, text));
    }

    private void serve(Key key, Nic nic, Request request) {
        int reads = Math.min(request.reads(), fabric.answeredReads(nic));
        int packetNumber = fabric.nextPacketNumber();
        Served served = request.purpose() == Purpose.READS
                ? readersEnd(key, nic, request.end(), fabric.settings(reads))
                : sendersEnd(key, nic, request.end(), fabric.settings(reads), packetNumber);
        lanes.put(key, served);
        order(request.purpose()).addLast(served);
        nic.served++;
        fabric.send(key.reader, new Reply(key.lane, nic.keyEpoch, reads, new PeerEnd(served.queuePair.number(),
                packetNumber, nic.path().mtu(), nic.port().lid(), nic.gid().raw())));
        // What every reader will ask for, before it is asked for.
        for (Registration registration : nic.registrations()) {
            if (request.purpose() == Purpose.READS && registration.region().access() == Access.GUARDED
                    && !registration.region().isClosed()) {
                fabric.send(key.reader, registration.keys(key.lane, nic.keyEpoch));
            }
        }
    }

    private static Served readersEnd(Key key, Nic nic, PeerEnd end, ConnectionSettings settings) {
        QueuePair queuePair = nic.newQueuePair(nic.servedCompletions, new QueuePair.Capacity(1, 1, 0));
        try {
            queuePair.toInit(nic.path().port(), io.mooncake.rdma.verbs.Access.REMOTE_READ);
            // That is enough to answer; it never sends by itself.
            queuePair.toReadyToReceive(nic.path(), end, settings);
            return new Served(key, nic, queuePair, null);
        } catch (VerbsException e) {
            nic.close(queuePair);
            throw e;
        }
    }

    private Served sendersEnd(Key key, Nic nic, PeerEnd end, ConnectionSettings settings, int packetNumber) {
        IncomingLane lane = new IncomingLane(fabric, messages, nic, key.reader);
        try {
            QueuePair queuePair = lane.queuePair();
            queuePair.toInit(nic.path().port(), io.mooncake.rdma.verbs.Access.REMOTE_WRITE);
            lane.frames().prepare();
            queuePair.toReadyToReceive(nic.path(), end, settings);
            queuePair.toReadyToSend(packetNumber, settings);
            fabric.tell(() -> messages.onServed(lane));
            return new Served(key, nic, queuePair, lane);
        } catch (VerbsException e) {
            lane.stop();
            throw e;
        }
    }

    private void makeRoom(Purpose purpose) {
        Deque<Served> order = order(purpose);
        while (order.size() >= Objects.requireNonNull(most.get(purpose))) {
            Served oldest = order.removeFirst();
            if (oldest.takeVisited()) {
                order.addLast(oldest);
            } else {
                end(oldest, true);
            }
        }
    }

    /** A peer asks for a region's keys. */
    void onQuery(NodeId reader, Query query) {
        Served served = lanes.get(new Key(reader, query.lane()));
        if (served == null) {
            fabric.send(reader, new Closed(query.lane(), true));
            return;
        }
        served.visited = true;
        Region region = fabric.node().regions().readable(query.region());
        try {
            if (region == null || region.isClosed()) {
                throw new MooncakeException(Kind.UNAUTHORIZED, "node " + fabric.node().self() + " has no region r"
                        + query.region() + " that peers may read");
            }
            Registration registration = fabric.registrations().registered(served.nic, region);
            fabric.send(reader, registration.keys(query.lane(), served.nic.keyEpoch));
        } catch (MooncakeException e) {
            if (served.nic.isFailed()) {
                return; // The reader was told that the lane is closed.
            }
            fabric.send(reader, new NoRegion(query.lane(), query.region(), e.kind(), e.getMessage()));
        }
    }

    /** A peer's end is gone. */
    void onClosed(NodeId reader, long lane) {
        Served served = lanes.get(new Key(reader, lane));
        if (served != null) {
            order(served.purpose()).remove(served);
            end(served, false);
        }
    }

    /** A peer is said to be dead. One that is not is told that its lanes are gone, and makes others. */
    void onDead(NodeId reader) {
        drop(lane -> lane.key.reader.equals(reader), true);
    }

    /** From time to time: ends those that the poller has given up. */
    void look() {
        drop(served -> served.messages != null && served.messages.isLost(), true);
    }

    /** A card says that one of them failed; false when it has none of that number. */
    boolean onFailed(Nic nic, int queuePair) {
        return drop(lane -> lane.nic.equals(nic) && lane.queuePair.number() == queuePair, true);
    }

    /** A card's lanes are of no use any more. */
    void dropAll(@Nullable Nic nic) {
        drop(lane -> nic == null || lane.nic.equals(nic), true);
    }

    private boolean drop(Predicate<Served> which, boolean tell) {
        List<Served> gone = lanes.values().stream().filter(which).toList();
        orders.values().forEach(order -> order.removeAll(gone));
        gone.forEach(served -> end(served, tell));
        return !gone.isEmpty();
    }

    private void end(Served served, boolean tell) {
        lanes.remove(served.key);
        served.nic.served--;
        IncomingLane incoming = served.messages;
        if (incoming == null) {
            served.nic.close(served.queuePair);
        } else {
            fabric.tell(() -> incoming.lose("it was closed"));
        }
        if (tell) {
            fabric.send(served.key.reader, new Closed(served.key.lane, true));
        }
    }
}
