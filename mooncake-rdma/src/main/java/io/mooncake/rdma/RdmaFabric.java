package io.mooncake.rdma;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Topic;
import io.mooncake.core.transfer.onesided.Fabric;
import io.mooncake.core.transfer.onesided.FabricLimits;
import io.mooncake.core.transfer.onesided.Lane;
import io.mooncake.core.transfer.onesided.LaneListener;
import io.mooncake.core.transfer.onesided.RequestEnd;
import io.mooncake.rdma.verbs.ConnectionSettings;
import io.mooncake.rdma.verbs.Provider;
import io.mooncake.rdma.verbs.QueuePair;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The network cards of one node, for the one-sided machine. The poller's, but for what says otherwise; see the package for the picture.
 */
final class RdmaFabric implements Fabric {
    static final String NAME = "rdma";
    private static final Logger LOG = LoggerFactory.getLogger(RdmaFabric.class);

    private record NotPosted(RdmaLane lane, long cookie, MooncakeException cause) {}

    private final EngineContext node;
    private final RdmaConfig config;
    private final FabricLimits limits;
    private final String advertised;
    private final PacketNumbers packetNumbers;
    private final Registrar registrar;
    private final Cards cards;
    private final MessageLanes messages;
    private final ServedLanes served;
    private final Registrations registrations;
    private final Parking parking;
    /** By their numbers; any thread. */
    private final ConcurrentHashMap<Long, RequestedLane> lanes = new ConcurrentHashMap<>();
    /** From the registrar, at most a few for each lane, region and card; and one for each outbox with messages. */
    private final ConcurrentLinkedQueue<Runnable> notices = new ConcurrentLinkedQueue<>();

    /** For the registrar, however many commands wait. */
    private final ConcurrentLinkedQueue<NodeId> dead = new ConcurrentLinkedQueue<>();

    // The poller's.
    private final List<Nic> nics;
    private final List<RdmaLane> unflushed = new ArrayList<>();
    private final ArrayDeque<NotPosted> notPosted = new ArrayDeque<>();
    private long lastLane;
    private boolean closed;

    /**
     * Opens the cards and registers what peers may read already.
     *
     * @throws MooncakeException CONFIG_ERROR when no card can be used, or memory not be locked
     */
    RdmaFabric(EngineContext node, RdmaConfig config, Provider provider) {
        this.node = node;
        this.config = config;
        packetNumbers = new PacketNumbers(ThreadLocalRandom.current().nextInt());
        messages = new MessageLanes(this, config.limits());
        served = new ServedLanes(this, messages, config.limits().served());
        registrations = new Registrations(this);
        cards = new Cards(this, provider);
        nics = new ArrayList<>(cards.nics());
        advertised = nics.stream().map(nic -> Addresses.format(nic.gid().raw())).collect(Collectors.joining(","));
        parking = new Parking(this::isIdle, node.wakeup());
        boolean inline = config.registrar() == RdmaConfig.Registrar.POLLER;
        registrar = new Registrar("mooncake-" + node.self().name() + "-rdma-registrar", node.nanoClock(), this::look,
                inline ? parking::wakeup : null);
        boolean done = false;
        try {
            limits = limits(nics, config);
            node.control().onMessage(Topic.LANES, this::onMessage);
            done = true;
        } finally {
            if (!done) {
                cards.close();
            }
        }
        registrar.start();
    }

    private static FabricLimits limits(List<Nic> nics, RdmaConfig config) {
        int completions = config.window().completions();
        int requests = config.window().laneRequests();
        long bytes = config.window().chunkBytes();
        for (Nic nic : nics) {
            completions = Math.min(completions, nic.completions.entries());
            requests = Math.min(requests, nic.attributes.maxRequests());
            bytes = Math.min(bytes, nic.port().maxMessageBytes());
        }
        return new FabricLimits(completions, requests, bytes);
    }

    /**
     * Checks whether a card holds what the others held at the start, for which reads are laid out.
     *
     * @throws MooncakeException CONFIG_ERROR when it holds less
     */
    void requireRoom(Nic nic) {
        FabricLimits its = limits(List.of(nic), config);
        if (its.completions() < limits.completions() || its.requestsPerLane() < limits.requestsPerLane()
                || its.requestBytes() < limits.requestBytes()) {
            throw new MooncakeException(Kind.CONFIG_ERROR, nic + " holds " + its + ", less than " + limits
                    + " of the cards that were there at the start: it is used when the node is started again");
        }
    }

    EngineContext node() {
        return node;
    }

    RdmaConfig config() {
        return config;
    }

    ServedLanes served() {
        return served;
    }

    Registrations registrations() {
        return registrations;
    }

    // ---- for lanes, any thread

    long nowNs() {
        return node.nanoClock().getAsLong();
    }

    int nextPacketNumber() {
        return packetNumbers.next();
    }

    QueuePair.Capacity capacity() {
        return new QueuePair.Capacity(limits.requestsPerLane(), 1, 0);
    }

    /** READs that a queue pair of a card may have on the wire. */
    int reads(Nic nic) {
        return Math.clamp(nic.attributes.maxInitiatedReads(), 1, config.link().reads());
    }

    int answeredReads(Nic nic) {
        return Math.clamp(nic.attributes.maxReads(), 1, config.link().reads());
    }

    ConnectionSettings settings(int reads) {
        RdmaConfig.Link link = config.link();
        return new ConnectionSettings(
                new ConnectionSettings.Timers(link.timeout(), link.retries(), ConnectionSettings.MAX_RETRIES,
                        ConnectionSettings.Timers.DEFAULT.notReadyTimer()),
                ConnectionSettings.Route.DEFAULT, reads, reads);
    }

    boolean send(NodeId to, LaneMessage message) {
        return node.control().send(to, Topic.LANES, LaneMessages.encode(message));
    }

    /** Has the poller do something, soon. */
    void tell(Runnable notice) {
        notices.add(notice);
        parking.wakeup();
    }

    /** Has the registrar do something, soon; false when it has no room for that. */
    boolean order(Runnable command) {
        return registrar.offer(command);
    }

    /** Has the registrar do something to a lane, under its lock; what it has no room for is done here. */
    void later(Runnable command) {
        if (!registrar.offer(command)) {
            command.run();
        }
    }

    void log(String what, RuntimeException e) {
        LOG.warn("node {}: {}", node.self(), what, e);
    }

    // ---- the registrar's

    private void look() {
        for (NodeId life; (life = dead.poll()) != null;) {
            served.onDead(life);
        }
        served.look();
        cards.look();
    }

    private void onMessage(NodeId from, byte[] message) {
        if (!registrar.offer(() -> handle(from, message))) {
            node.counters().increment(Counter.MESSAGES_DROPPED);
        }
    }

    private void handle(NodeId from, byte[] bytes) {
        LaneMessage message;
        try {
            message = LaneMessages.decode(bytes);
        } catch (MooncakeException e) {
            node.counters().increment(Counter.PROTOCOL_ERRORS);
            return;
        }
        switch (message) {
            case LaneMessage.Request request -> served.onRequest(from, request);
            case LaneMessage.Query query -> served.onQuery(from, query);
            case LaneMessage.Closed gone when !gone.byOwner() -> served.onClosed(from, gone.lane());
            default -> answer(from, message);
        }
    }

    /** What an owner says of a lane of this node. */
    private void answer(NodeId from, LaneMessage message) {
        RequestedLane lane = lanes.get(message.lane());
        if (lane == null || !lane.isOf(from, message)) {
            return; // Gone in the meantime, or nobody's business.
        }
        switch (message) {
            case LaneMessage.Reply reply -> lane.onReply(reply);
            case LaneMessage.Refused refused -> lane.onRefused(refused);
            case LaneMessage.Keys keys -> lane.onKeys(keys);
            case LaneMessage.NoRegion none -> lane.onNoRegion(none);
            default -> lane.onClosed();
        }
    }

    @Nullable
    Nic chooseServing(byte[] peer) {
        return choose(cards.nics(), nic -> nic.served, List.of(peer));
    }

    private @Nullable Nic choose(List<Nic> nics, ToIntFunction<Nic> lanesOf, List<byte[]> peer) {
        List<Nic> usable = nics.stream().filter(Nic::isUsable).toList();
        int chosen = NicChoice.choose(usable.stream()
                .map(nic -> new NicChoice.Candidate(nic.gid().raw(), cards.isBesideMemory(nic),
                        lanesOf.applyAsInt(nic)))
                .toList(), peer);
        return chosen < 0 ? null : usable.get(chosen);
    }

    /** A card is lost, or what was made on it. */
    void onFatal(Nic nic, String why) {
        cards.onFatal(nic, why);
    }

    /** A card says that a queue pair failed. */
    void onQueuePairFailed(Nic nic, int number, String why) {
        if (served.onFailed(nic, number)) {
            return;
        }
        for (RequestedLane lane : lanes.values()) {
            if (lane.nic().equals(nic) && lane.queuePairNumber() == number) {
                lane.broken(Kind.PEER_UNREACHABLE, why);
            }
        }
    }

    /** The lanes over a card are of no use any more. */
    void onNicLost(Nic nic, String why) {
        served.dropAll(nic);
        tell(() -> {
            MooncakeException cause = new MooncakeException(Kind.PEER_UNREACHABLE, nic + ": " + why);
            for (RequestedLane lane : List.copyOf(lanes.values())) {
                if (lane.nic().equals(nic)) {
                    lane.onBroken(cause);
                }
            }
            abandonIfUnused(nic);
        });
    }

    /** A card is there again. */
    void onNicOpened(Nic nic) {
        List<Registration> registrations = nic.registrations();
        tell(() -> {
            registrations.forEach(nic.use::onRegistered);
            nics.add(nic);
        });
    }

    // ---- the poller's

    /** A failed card is given back when no lane uses it: until then its queue is polled. */
    private void abandonIfUnused(Nic nic) {
        if (nic.isFailed() && nic.use.lanes == 0 && nics.remove(nic)) {
            nic.abandon();
        }
    }

    void onFilled(RdmaLane lane) {
        unflushed.add(lane);
    }

    void onNotPosted(RdmaLane lane, long cookie, MooncakeException cause) {
        notPosted.add(new NotPosted(lane, cookie, cause));
    }

    void onDestroyed(RequestedLane lane) {
        lanes.remove(lane.number());
        lane.nic().use.lanes--;
        abandonIfUnused(lane.nic());
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Optional<String> advertised() {
        return Optional.of(advertised);
    }

    @Override
    public boolean reaches(Peer peer) {
        return peer.addresses().containsKey(NAME);
    }

    @Override
    public boolean canWrite(Memory destination) {
        return Reach.isWritable(destination) && !registrations.isRefused(destination);
    }

    @Override
    public void keep(Region proofs) {
        registrations.keep(proofs);
    }

    @Override
    public FabricLimits limits() {
        return limits;
    }

    @Override
    public Lane connect(Peer peer, LaneListener listener) {
        Nic nic = choose(peer);
        if (nic == null) {
            return new NoLane(this, peer.id(), listener);
        }
        RdmaLane lane = new RdmaLane(this, nic, peer.id(), listener);
        begin(lane);
        return lane;
    }

    long nextLane() {
        return ++lastLane;
    }

    /** The card for a lane to a peer; null when there is none now. */
    @Nullable
    Nic choose(Peer peer) {
        return choose(nics, nic -> nic.use.lanes, Addresses.parse(peer.addresses().getOrDefault(NAME, "")));
    }

    /** Has a lane connected. */
    void begin(RequestedLane lane) {
        lanes.put(lane.number(), lane);
        if (!registrar.offer(lane::begin)) {
            lane.broken(Kind.BACK_PRESSURE, "too much is to be registered and connected");
        }
    }

    @Override
    public boolean send(Peer peer, Topic topic, ByteBuffer message) {
        return reaches(peer) && messages.send(peer, topic, message);
    }

    @Override
    public boolean carries(Peer peer, Topic topic) {
        return messages.carries(peer, topic);
    }

    @Override
    public void onDead(NodeId life) {
        messages.onDead(life);
        dead.add(life);
    }

    @Override
    public int poll(Completions completions, int limit) {
        if (config.registrar() == RdmaConfig.Registrar.POLLER) {
            registrar.doWork();
        }
        takeNotices();
        for (int i = 0; i < nics.size(); i++) {
            messages.poll(nics.get(i));
        }
        messages.tick();
        int polled = 0;
        for (NotPosted failed; polled < limit && (failed = notPosted.poll()) != null; polled++) {
            failed.lane.onBroken(failed.cause);
            completions.onCompletion(failed.cookie, RequestEnd.FAILED);
        }
        for (int i = 0; i < nics.size() && polled < limit; i++) {
            polled += nics.get(i).use.poll(completions, limit - polled);
        }
        return polled;
    }

    private void takeNotices() {
        for (Runnable notice; (notice = notices.poll()) != null;) {
            notice.run();
        }
    }

    @Override
    public void flush() {
        for (int i = 0; i < unflushed.size(); i++) {
            unflushed.get(i).flush();
        }
        unflushed.clear();
    }

    @Override
    public void park(long maxNs) {
        // Waits for one card only: others are looked at soon enough.
        parking.park(nics.isEmpty() ? null : nics.getFirst().channel, nics.size() > 1 ? Parking.SHORT_NS : maxNs);
    }

    /** Whether there is nothing to poll; from now on every completion ends the parking. */
    private boolean isIdle() {
        if (!notices.isEmpty() || !notPosted.isEmpty()) {
            return false;
        }
        for (Nic nic : nics) {
            nic.use.requestNotification();
            // What came before that makes no event.
            if (nic.use.hasCompletions() || messages.poll(nic) > 0) {
                return false;
            }
        }
        return true;
    }

    @Override
    public void wakeup() {
        parking.wakeup();
    }

    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        parking.close();
        messages.close();
        registrar.close();
        // Whatever one of them says, the others are given back too.
        attempt(() -> served.dropAll(null));
        attempt(this::takeNotices);
        lanes.values().forEach(lane -> attempt(lane::end));
        attempt(cards::close);
    }

    private void attempt(Runnable step) {
        try {
            step.run();
        } catch (RuntimeException e) {
            log("closing goes on after an error", e);
        }
    }
}
