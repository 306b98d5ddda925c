package io.mooncake.core.transfer.tcp;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Endpoint;
import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Poller;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ProtocolException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.UnresolvedAddressException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The TCP engine's agent. All sockets of a node are its own: it accepts and makes connections, serves peers and reads from them.
 *
 * <p>A few lanes with traffic are polled directly, which saves the selector's system call; the others are found by the selector.
 * {@link #park} waits in whole milliseconds, rounded up.
 */
final class TcpPoller implements Poller {
    private static final int COMMANDS_PER_CYCLE = 256;
    private static final int CYCLES_PER_SELECT = 16;
    private static final long TICK_NS = 1_000_000;
    private static final long IDLE_TICK_NS = 10_000_000;
    private static final long SWEEP_NS = 1_000_000_000;

    private final TcpConfig config;
    private final EngineContext context;
    private final TcpInbox inbox;
    private final Credentials credentials;
    private final Selector selector;
    private final Acceptor acceptor;
    private final LimitedLog log;
    private final Consumer<SelectionKey> onReady = this::onReady;

    private final List<Lane> lanes = new ArrayList<>();
    private final Map<NodeId, ClientLane> clients = new HashMap<>();
    private final HotLanes hot = new HotLanes();
    private final List<Lane> ready = new ArrayList<>();
    private final List<ClientLane> dirty = new ArrayList<>();
    private boolean coldTraffic;
    private int cycle;

    private final Windows.Cache sources = new Windows.Cache();
    private final Windows.Cache destinations = new Windows.Cache();
    private final Buffers buffers = new Buffers();

    private long nowNs;
    private long nextTickNs;
    private long nextSweepNs;
    private long earliestDeadlineNs;

    private final AtomicBoolean awake = new AtomicBoolean();
    private volatile boolean parked;
    private volatile boolean closed;

    TcpPoller(TcpConfig config, EngineContext context, Credentials credentials, Selector selector,
            ServerSocketChannel server) throws IOException {
        this.config = config;
        this.context = context;
        this.credentials = credentials;
        inbox = new TcpInbox(config.limits().queue());
        this.selector = selector;
        log = new LimitedLog(context.self(), context.nanoClock());
        acceptor = new Acceptor(this, selector, server);
        nowNs = context.nanoClock().getAsLong();
        nextTickNs = nowNs;
        nextSweepNs = nowNs + SWEEP_NS;
        earliestDeadlineNs = nowNs + SWEEP_NS;
    }

    TcpConfig config() {
        return config;
    }

    EngineContext context() {
        return context;
    }

    TcpInbox inbox() {
        return inbox;
    }

    Credentials credentials() {
        return credentials;
    }

    Selector selector() {
        return selector;
    }

    LimitedLog log() {
        return log;
    }

    /** The time at which this duty cycle began. */
    long nowNs() {
        return nowNs;
    }

    @Override
    public String roleName() {
        return "tcp";
    }

    @Override
    public int doWork() {
        if (closed) {
            return 0;
        }
        nowNs = context.nanoClock().getAsLong();
        int work = takeCommands();
        work += pollHot();
        if (coldTraffic || hot.size() == 0 || ++cycle % CYCLES_PER_SELECT == 0) {
            work += select();
        }
        if (nowNs - nextTickNs >= 0 || nowNs - earliestDeadlineNs >= 0) {
            work += tick();
        }
        return work;
    }

    private int takeCommands() {
        int taken = 0;
        for (; taken < COMMANDS_PER_CYCLE; taken++) {
            Object command = inbox.poll();
            if (command == null) {
                break;
            }
            if (command instanceof GuardedRead read) {
                onRead(read);
            } else {
                onMessage((TcpInbox.Message) command);
            }
        }
        for (int i = 0; i < dirty.size(); i++) {
            ClientLane lane = dirty.get(i);
            lane.dirty = false;
            if (!lane.lost) {
                pump(lane);
            }
        }
        dirty.clear();
        return taken;
    }

    private void onRead(GuardedRead read) {
        ReadStatus expired = expired(read, nowNs);
        if (expired != null) {
            end(read, expired, null);
        } else if (read.length() < 0 || read.offset() < 0 || (read.length() > 0 && !read.fitsDestination())) {
            end(read, ReadStatus.REFUSED, new MooncakeException(Kind.OUT_OF_BOUNDS,
                    read + ": a number is negative, or the destination is too small"));
        } else if (read.length() > 0 && !isWritable(read.destination())) {
            end(read, ReadStatus.REFUSED, new MooncakeException(Kind.UNSUPPORTED, read + ": the destination "
                    + read.destination() + " is read-only or no host memory, tcp cannot write it"));
        } else {
            ClientLane lane = laneTo(read.owner(), read);
            if (lane != null) {
                lane.add(read);
            }
        }
    }

    private static boolean isWritable(Region region) {
        return region.memory() instanceof HostMemory host && !host.segment().isReadOnly();
    }

    private void onMessage(TcpInbox.Message message) {
        ClientLane lane = laneTo(message.to, null);
        if (lane == null) {
            messageGone();
        } else {
            lane.add(message.bytes);
        }
    }

    /** The lane to a peer, connecting where there is none. Without one, ends the read that asked. */
    private @Nullable ClientLane laneTo(Peer peer, @Nullable GuardedRead read) {
        ClientLane lane = clients.get(peer.id());
        if (lane == null) {
            String address = peer.addresses().get(TcpTransferEngine.NAME);
            try {
                if (address == null) {
                    throw new LaneLost(Kind.PEER_UNREACHABLE, "it listens on no tcp address");
                }
                lane = connect(peer.id(), Endpoint.parse(address, 0));
            } catch (IOException | UnresolvedAddressException | SecurityException | MooncakeException e) {
                if (read != null) {
                    end(read, ReadStatus.UNREACHABLE,
                            new MooncakeException(Kind.PEER_UNREACHABLE, "node " + peer.id() + " at "
                                    + address + " by tcp: " + (e.getMessage() == null ? e.toString() : e.getMessage()),
                                    e));
                }
                return null;
            }
        }
        if (!lane.dirty) {
            lane.dirty = true;
            dirty.add(lane);
        }
        return lane;
    }

    private ClientLane connect(NodeId peer, Endpoint endpoint) throws IOException {
        SocketChannel channel = SocketChannel.open();
        try {
            config.tune(channel);
            channel.connect(new InetSocketAddress(endpoint.host(), endpoint.port()));
            ClientLane lane = new ClientLane(this, channel, peer, endpoint);
            keep(lane);
            clients.put(peer, lane);
            return lane;
        } catch (IOException | RuntimeException e) {
            channel.close();
            throw e;
        }
    }

    void keep(Lane lane) {
        lane.index = lanes.size();
        lanes.add(lane);
    }

    private int pollHot() {
        int work = 0;
        for (int i = hot.size() - 1; i >= 0; i--) {
            Lane lane = hot.get(i);
            boolean worked = poll(lane);
            hot.onPolled(lane, worked);
            work += worked ? 1 : 0;
        }
        return work;
    }

    private int select() {
        coldTraffic = false;
        try {
            selector.selectNow(onReady);
        } catch (IOException e) {
            throw new IllegalStateException("the selector of node " + context.self() + " failed", e);
        }
        return serveReady();
    }

    private void onReady(SelectionKey key) {
        if (key.attachment() instanceof Lane lane) {
            if (!lane.ready) {
                lane.ready = true;
                ready.add(lane);
            }
        } else {
            acceptor.onReady();
        }
    }

    private int serveReady() {
        int work = 0;
        for (int i = 0; i < ready.size(); i++) {
            Lane lane = ready.get(i);
            lane.ready = false;
            if (!lane.lost && !lane.hot) {
                coldTraffic = true;
                work += poll(lane) ? 1 : 0;
                warm(lane);
            }
        }
        ready.clear();
        work += acceptor.accept(lanes);
        return work;
    }

    private boolean poll(Lane lane) {
        try {
            return lane.poll();
        } catch (IOException | RuntimeException e) {
            lose(lane, e);
            return true;
        }
    }

    private void pump(Lane lane) {
        try {
            lane.pump();
            warm(lane);
        } catch (IOException | RuntimeException e) {
            lose(lane, e);
        }
    }

    /** A lane had traffic: polls it directly from now on where there is room for that, else leaves it to the selector. */
    private void warm(Lane lane) {
        if (!lane.lost && !lane.hot && !hot.add(lane)) {
            lane.updateInterest();
        }
    }

    /** Ends what is due, on every lane. */
    private int tick() {
        int lanesBefore = lanes.size();
        nextTickNs = nowNs + TICK_NS;
        earliestDeadlineNs = nowNs + SWEEP_NS;
        for (int i = lanes.size() - 1; i >= 0; i--) {
            Lane lane = lanes.get(i);
            try {
                lane.tick(nowNs);
                if (!lane.hot) {
                    lane.updateInterest();
                }
            } catch (IOException | RuntimeException e) {
                lose(lane, e);
            }
        }
        acceptor.tick();
        if (nowNs - nextSweepNs >= 0) {
            nextSweepNs = nowNs + SWEEP_NS;
            sources.sweep();
            destinations.sweep();
        }
        return lanesBefore - lanes.size();
    }

    /** How a read ends now for its own reasons; null when it goes on. */
    @Nullable
    ReadStatus expired(GuardedRead read, long now) {
        if (now - read.deadlineNs() >= 0) {
            return ReadStatus.TIMED_OUT;
        }
        if (read.deadlineNs() - earliestDeadlineNs < 0) {
            earliestDeadlineNs = read.deadlineNs();
        }
        return read.isGivenUp() ? ReadStatus.CANCELED : null;
    }

    /** Ends a read, which from now on is its owner's. */
    void end(GuardedRead read, ReadStatus status, @Nullable MooncakeException cause) {
        inbox.ended();
        read.end(status, cause);
    }

    /** A message was sent or dropped. */
    void messageGone() {
        inbox.ended();
    }

    void onOpened(Lane lane) {
        if (lane instanceof ServerLane) {
            acceptor.onStrangerGone();
        }
        context.counters().increment(Counter.LANES_OPENED);
        log.debug(lane, "is open", null);
    }

    void onRefused(String remote, String text) {
        log.warn("connection from " + remote + " refused: " + text, null);
    }

    /** What of a region of this node may be served, or null. */
    @Nullable
    Windows source(int region) {
        Windows cached = sources.find(region);
        if (cached != null) {
            return cached;
        }
        Region found = context.regions().readable(region);
        return found == null || found.isClosed() ? null : sources.of(found);
    }

    /** Where a read's bytes go. */
    Windows destination(GuardedRead read) {
        Windows windows = destinations.of(read.destination());
        if (windows == null) {
            throw new IllegalStateException(read + " has no host memory as its destination");
        }
        return windows;
    }

    Buffers buffers() {
        return buffers;
    }

    /** A connection has ended: closes it and ends what was on it. */
    void lose(Lane lane, Exception why) {
        if (lane.lost) {
            return;
        }
        lane.lost = true;
        hot.remove(lane);
        Lane last = lanes.removeLast();
        if (!last.equals(lane)) {
            lanes.set(lane.index, last);
            last.index = lane.index;
        }
        if (lane instanceof ClientLane client) {
            clients.remove(client.peer(), client);
        }
        if (lane.isOpen()) {
            context.counters().increment(Counter.LANES_LOST);
        } else {
            if (lane instanceof ServerLane) {
                acceptor.onStrangerGone();
            }
            context.counters().increment(Counter.HANDSHAKES_REFUSED);
        }
        close(lane.channel);
        report(lane, why);
        lane.onLost(why);
    }

    private void report(Lane lane, Exception why) {
        if (why instanceof ProtocolException) {
            context.counters().increment(Counter.PROTOCOL_ERRORS);
            log.warn(lane + " closed: " + why.getMessage(), null);
        } else if (why instanceof RuntimeException) {
            log.warn(lane + " closed", why);
        } else {
            log.debug(lane, "closed", why);
        }
    }

    private void close(AutoCloseable channel) {
        try {
            channel.close();
        } catch (Exception e) {
            log.debug(channel, "could not be closed", e);
        }
    }

    @Override
    public void park(long maxNs) {
        parked = true;
        try {
            if (awake.getAndSet(false) || closed || maxNs <= 0 || !inbox.isEmpty()) {
                return;
            }
            for (int i = 0; i < hot.size(); i++) {
                hot.get(i).updateInterest();
            }
            long mostNs = !inbox.isIdle() ? TICK_NS : acceptor.strangers() > 0 || hot.size() > 0 ? IDLE_TICK_NS : maxNs;
            selector.select(onReady, (Math.min(maxNs, mostNs) - 1) / 1_000_000 + 1);
            coldTraffic = true;
        } catch (IOException e) {
            throw new IllegalStateException("the selector of node " + context.self() + " failed", e);
        } finally {
            parked = false;
            awake.getAndSet(false);
        }
    }

    @Override
    public void wakeup() {
        awake.set(true);
        if (parked) {
            selector.wakeup();
        }
    }

    @Override
    public void onClose() {
        if (closed) {
            return;
        }
        closed = true;
        MooncakeException cause = new MooncakeException(Kind.CLOSED,
                "the tcp engine of node " + context.self() + " is closed");
        LaneLost why = new LaneLost(Kind.CLOSED, "this node's engine is closed");
        inbox.close();
        for (; !lanes.isEmpty();) {
            lose(lanes.getLast(), why);
        }
        while (!inbox.isIdle()) {
            Object command = inbox.poll();
            if (command instanceof GuardedRead read) {
                end(read, ReadStatus.CANCELED, cause);
            } else if (command != null) {
                messageGone();
            } else {
                Thread.onSpinWait();
            }
        }
        close(acceptor.channel());
        close(selector);
    }
}
