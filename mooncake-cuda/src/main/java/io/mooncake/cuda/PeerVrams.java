package io.mooncake.cuda;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Route;
import io.mooncake.core.transfer.Route.Health;
import io.mooncake.core.transfer.Route.Locality;
import io.mooncake.cuda.runtime.Device;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What an engine knows about pools on devices of other processes of this host. Any thread asks and gets an answer at once; the agent finds it out,
 * looks after the owners' lives and tries again what failed a while ago.
 *
 * <pre>
 *   an engine's address:  region # path of the pool's {@link io.mooncake.core.transfer.shm.SharedGuards}
 * </pre>
 */
final class PeerVrams {
    /** How often the agent looks around. */
    static final long TICK_NS = 50_000_000;
    private static final long RETRY_NS = 10_000_000_000L;
    private static final int MOST_PEERS = 1024;
    private static final Logger LOG = LoggerFactory.getLogger(PeerVrams.class);
    private static final Route UNKNOWN = new Route(Locality.HOST, false, Health.UNKNOWN, "being opened");
    private static final Route READY = new Route(Locality.HOST, true, Health.READY,
            "its device memory is open in this process");
    private static final Route NONE = new Route(Locality.NODE, false, Health.NONE,
            "the block is on another node, and not on a device that this process reaches");

    private final EngineContext context;
    private final Device device;
    private final Runnable wakeup;
    private final ConcurrentHashMap<NodeId, List<Link>> links = new ConcurrentHashMap<>();
    private volatile boolean work;
    private volatile boolean closed;
    private long tickedNs;

    /** One pool of one peer. */
    private static final class Link {
        final NodeId owner;
        final int region;
        final Path file;
        volatile Route route = UNKNOWN;
        /** Whether its owner's life is over, as the cluster says. */
        volatile boolean dead;
        @Nullable
        PeerVram memory;
        long triedNs;

        Link(NodeId owner, int region, Path file) {
            this.owner = owner;
            this.region = region;
            this.file = file;
        }
    }

    PeerVrams(EngineContext context, Device device, Runnable wakeup) {
        this.context = context;
        this.device = device;
        this.wakeup = wakeup;
        tickedNs = context.nanoClock().getAsLong();
    }

    static String address(int region, Path file) {
        return region + "#" + file;
    }

    // ---- any thread

    Route route(Peer peer, int region) {
        Link link = link(peer, region);
        return link == null ? NONE : link.route;
    }

    private @Nullable Link link(Peer peer, int region) {
        List<Link> all = links.get(peer.id());
        if (all == null) {
            all = begin(peer);
        }
        for (int i = 0; i < all.size(); i++) {
            if (all.get(i).region == region) {
                return all.get(i);
            }
        }
        return null;
    }

    private List<Link> begin(Peer peer) {
        if (closed || links.size() >= MOST_PEERS || peer.id().equals(context.self())) {
            return List.of();
        }
        List<Link> made = new ArrayList<>();
        for (Map.Entry<String, String> address : peer.addresses().entrySet()) {
            Link link = address.getKey().startsWith(CopyAgent.NAME) ? read(peer.id(), address.getValue()) : null;
            if (link != null) {
                made.add(link);
            }
        }
        List<Link> there = links.putIfAbsent(peer.id(), List.copyOf(made));
        if (there != null) {
            return there;
        }
        if (!made.isEmpty()) {
            work = true;
            wakeup.run();
        }
        return made;
    }

    private static @Nullable Link read(NodeId owner, String address) {
        int mark = address.indexOf('#');
        try {
            return new Link(owner, Integer.parseInt(address.substring(0, Math.max(0, mark))),
                    Path.of(address.substring(mark + 1)));
        } catch (IllegalArgumentException e) {
            LOG.warn("node {}: '{}' is not region#path, and its device is not read", owner, address, e);
            return null;
        }
    }

    /** The cluster says that a life is over. */
    void dead(NodeId life) {
        List<Link> all = links.get(life);
        if (all == null || links.remove(life, List.of())) {
            return;
        }
        all.forEach(link -> link.dead = true);
        work = true;
        wakeup.run();
    }

    // ---- the agent

    /** Null when it is not open. */
    @Nullable
    PeerVram find(Peer peer, int region) {
        Link link = link(peer, region);
        return link == null ? null : link.memory;
    }

    boolean hasWork() {
        return work;
    }

    int doWork() {
        long nowNs = context.nanoClock().getAsLong();
        boolean tick = nowNs - tickedNs >= TICK_NS;
        if (!work && !tick) {
            return 0;
        }
        work = false;
        tickedNs = tick ? nowNs : tickedNs;
        int done = 0;
        for (List<Link> all : links.values()) {
            for (Link link : all) {
                done += lookAfter(link, nowNs) ? 1 : 0;
            }
        }
        links.values().removeIf(all -> !all.isEmpty() && all.stream().allMatch(link -> link.dead));
        return done;
    }

    private boolean lookAfter(Link link, long nowNs) {
        PeerVram memory = link.memory;
        if (memory == null) {
            boolean due = link.route.health() == Health.UNKNOWN || nowNs - link.triedNs >= RETRY_NS;
            return due && !link.dead && device.loss() == null && opens(link, nowNs);
        }
        String why = link.dead
                ? "the cluster says that it has ended"
                : device.loss() == null ? memory.look() : device + " is lost";
        if (why == null) {
            return false;
        }
        link.triedNs = nowNs;
        fail(link, why);
        link.memory = null;
        memory.lose(why);
        return true;
    }

    private boolean opens(Link link, long nowNs) {
        link.triedNs = nowNs;
        try {
            link.memory = PeerVram.open(device, context.self(), link.owner, link.file);
            link.route = READY;
            LOG.info("node {}: {} reads the device memory of node {} in place", context.self(), device, link.owner);
            return true;
        } catch (IOException | MooncakeException e) {
            fail(link, String.valueOf(e.getMessage()));
            return false;
        }
    }

    private void fail(Link link, String why) {
        if (!why.equals(link.route.reason())) {
            LOG.info("node {}: {} does not read the device memory of node {} in place: {}", context.self(), device,
                    link.owner, why);
        }
        link.route = new Route(Locality.HOST, false, Health.NONE, why);
    }

    /** When no copy runs any more. */
    void close() {
        closed = true;
        for (List<Link> all : links.values()) {
            for (Link link : all) {
                PeerVram memory = link.memory;
                link.memory = null;
                fail(link, "the engine is closed");
                if (memory != null) {
                    memory.lose("the engine is closed");
                }
            }
        }
    }
}
