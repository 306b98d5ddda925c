package io.mooncake.core.transfer.shm;

import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Route;
import io.mooncake.core.transfer.Route.Health;
import io.mooncake.core.transfer.Route.Locality;
import java.io.IOException;
import java.util.Iterator;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What this node knows about its peers' shared memory. Any thread asks and gets an answer at once; the poller finds it out, looks after the
 * peers' lives and tries again what failed a while ago.
 */
final class PeerMemories implements AutoCloseable {
    /** How often the poller looks around. */
    static final long TICK_NS = 50_000_000;

    private static final Logger LOG = LoggerFactory.getLogger(PeerMemories.class);
    private static final long RETRY_NS = 5_000_000_000L;
    private static final int MAX_PEERS = 1024;

    private static final Route NOT_ADVERTISED = new Route(Locality.HOST, false, Health.NONE,
            "the node advertises no shared memory");
    private static final Route UNKNOWN = new Route(Locality.HOST, true, Health.UNKNOWN, "its file is being opened");
    private static final Route TOO_MANY = new Route(Locality.HOST, false, Health.NONE,
            "more than " + MAX_PEERS + " peers are mapped or tried");
    private static final Route READY = new Route(Locality.HOST, true, Health.READY, "its memory is mapped here");
    private static final Route OTHER_REGION = new Route(Locality.HOST, false, Health.READY,
            "that region is not in its shared memory");
    private static final Route CLOSED = new Route(Locality.HOST, false, Health.NONE, "the engine is closed");

    /** One process life of a peer. The poller writes; all read. */
    private static final class Link {
        final NodeId id;
        final String address;
        volatile Route route = UNKNOWN;
        volatile @Nullable PeerMemory memory;
        /** Somebody asked since it failed. */
        volatile boolean asked = true;
        volatile boolean viewsWanted;
        /** The poller's: when it was looked after last. */
        long triedNs;
        /** The poller's: views were tried and cannot be had. */
        boolean viewsFailed;

        Link(NodeId id, String address) {
            this.id = id;
            this.address = address;
        }
    }

    private final NodeId self;
    private final LongSupplier nanoClock;
    private final Runnable wakeup;
    private final ConcurrentMap<NodeId, Link> links = new ConcurrentHashMap<>();
    private volatile boolean work;
    private volatile boolean closed;
    private long tickedNs;

    PeerMemories(NodeId self, LongSupplier nanoClock, Runnable wakeup) {
        this.self = self;
        this.nanoClock = nanoClock;
        this.wakeup = wakeup;
        tickedNs = nanoClock.getAsLong();
    }

    /** Null when it is not mapped, or not yet: then asking makes the poller try. */
    @Nullable
    PeerMemory mapped(Peer peer) {
        Link link = links.get(peer.id());
        if (link == null) {
            link = begin(peer);
            return link == null ? null : link.memory;
        }
        PeerMemory memory = link.memory;
        if (memory == null && !link.asked) {
            link.asked = true;
        }
        return memory;
    }

    private @Nullable Link begin(Peer peer) {
        String address = peer.addresses().get(SharedMemoryTransferEngine.NAME);
        if (address == null || closed || peer.id().equals(self) || links.size() >= MAX_PEERS) {
            return null;
        }
        Link link = new Link(peer.id(), address);
        Link there = links.putIfAbsent(peer.id(), link);
        if (there != null) {
            return there;
        }
        due();
        return link;
    }

    private void due() {
        work = true;
        wakeup.run();
    }

    Route route(Peer peer, int region) {
        PeerMemory memory = mapped(peer);
        if (memory != null) {
            return memory.region() == region ? READY : OTHER_REGION;
        }
        Link link = links.get(peer.id());
        if (link != null) {
            return link.route;
        }
        return closed
                ? CLOSED
                : peer.addresses().containsKey(SharedMemoryTransferEngine.NAME) && !peer.id().equals(self)
                        ? TOO_MANY
                        : NOT_ADVERTISED;
    }

    /** Somebody wants to pin a block of a mapped peer. */
    void wantViews(Peer peer) {
        Link link = links.get(peer.id());
        if (link != null && !link.viewsWanted) {
            link.viewsWanted = true;
            due();
        }
    }

    // ---- the poller

    boolean hasWork() {
        return work;
    }

    int doWork() {
        long now = nanoClock.getAsLong();
        boolean tick = now - tickedNs >= TICK_NS;
        if (!work && !tick) {
            return 0;
        }
        work = false;
        if (tick) {
            tickedNs = now;
        }
        int done = 0;
        for (Iterator<Link> all = links.values().iterator(); all.hasNext();) {
            Link link = all.next();
            done += lookAfter(link, now, tick) ? 1 : 0;
            if (link.memory == null && !link.asked && now - link.triedNs >= RETRY_NS) {
                all.remove();
            }
        }
        return done;
    }

    /** True when something was opened or lost. */
    private boolean lookAfter(Link link, long now, boolean tick) {
        PeerMemory memory = link.memory;
        if (memory == null) {
            boolean due = link.route.health() == Health.UNKNOWN || (link.asked && now - link.triedNs >= RETRY_NS);
            return due && tryToMap(link, now);
        }
        if (tick && !memory.isOwnerAlive()) {
            lose(link, memory, now, memory.isOpen() ? "its process has ended" : "the node has closed");
            return true;
        }
        if (link.viewsWanted && !memory.hasPinTable() && !link.viewsFailed) {
            try {
                memory.beginPins(self);
            } catch (IOException | RuntimeException e) {
                link.viewsFailed = true;
                LOG.info("node {}: no views of blocks of node {} by shm: {}", self, link.id, SharedDirectory.reason(e));
            }
            return true;
        }
        return false;
    }

    private boolean tryToMap(Link link, long now) {
        link.asked = false;
        link.triedNs = now;
        try {
            PeerMemory memory = PeerMemory.open(link.id, link.address);
            link.memory = memory;
            link.route = READY;
            return true;
        } catch (IOException | RuntimeException e) {
            fail(link, SharedDirectory.reason(e));
            return false;
        }
    }

    private void lose(Link link, PeerMemory memory, long now, String why) {
        link.triedNs = now;
        link.asked = false;
        fail(link, why);
        link.memory = null;
        memory.close();
    }

    private void fail(Link link, String why) {
        if (!why.equals(link.route.reason())) {
            LOG.info("node {}: node {} is not read by shm: {}", self, link.id, why);
        }
        link.route = new Route(Locality.HOST, false, Health.NONE, why);
    }

    @Override
    public void close() {
        closed = true;
        for (Link link : links.values()) {
            PeerMemory memory = link.memory;
            if (memory != null) {
                lose(link, memory, nanoClock.getAsLong(), "the engine is closed");
            }
        }
    }
}
