package io.mooncake.core.transfer.tcp;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Inbox;
import io.mooncake.core.transfer.Poller;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import java.io.IOException;
import java.net.ProtocolException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;
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
    /** What one peer may send, and what it may receive, before it is another one's turn: while there is no other, and when there is. */
    static final int CYCLE_BYTES = 2 << 20;
    static final int CONTENDED_BYTES = 32 << 10;
    private static final int LEAST_BYTES = 8 << 10;
    /** What is received in one go at most: more makes nothing faster, and a cancel, as any command, waits for the end of it. */
    private static final int RECEIVE_BYTES = 128 << 10;
    /** For so many duty cycles a peer that had traffic is reckoned with. */
    private static final int OTHERS_CYCLES = 256;
    private static final long TICK_NS = 1_000_000;
    private static final long IDLE_TICK_NS = 10_000_000;
    private static final long SWEEP_NS = 1_000_000_000;

    private final TcpConfig config;
    private final EngineContext context;
    private final Inbox<Object> inbox;
    private final RandomGenerator random;
    private final Credentials credentials;
    private final Selector selector;
    private final Acceptor acceptor;
    private final LimitedLog log;
    private final Consumer<SelectionKey> onReady = this::onReady;

    private final List<Lane> lanes = new ArrayList<>();
    private final Peers peers;
    private final HotLanes hot = new HotLanes();
    private final List<Lane> ready = new ArrayList<>();
    private boolean coldTraffic;
    private int cycle;
    /** Duty cycles since a peer that is none of the hot lanes' had traffic. */
    private int othersCycle = OTHERS_CYCLES;
    private long movedBytes;

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

    TcpPoller(TcpConfig config, EngineContext context, Selector selector,
            ServerSocketChannel server, TcpEnvironment environment) throws IOException {
        this.config = config;
        this.context = context;
        random = environment.random();
        credentials = new Credentials(config.secret(), random);
        peers = new Peers(this, new HostNames(environment, this::wakeup));
        inbox = new Inbox<>(config.limits().queue());
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

    /** Reads and messages. */
    Inbox<Object> inbox() {
        return inbox;
    }

    RandomGenerator random() {
        return random;
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
        othersCycle = Math.min(othersCycle + 1, OTHERS_CYCLES);
        if (coldTraffic || othersCycle < OTHERS_CYCLES || hot.size() == 0 || ++cycle % CYCLES_PER_SELECT == 0
                || movedBytes >= CYCLE_BYTES) {
            work += select();
        }
        if (inbox.takeRing() || nowNs - earliestDeadlineNs >= 0) {
            earliestDeadlineNs = nowNs + SWEEP_NS;
            peers.expire(nowNs);
        }
        if (nowNs - nextTickNs >= 0) {
            work += tick();
        }
        return peers.isTouched() ? work + 1 : work;
    }

    private int takeCommands() {
        int taken = 0;
        int most = inbox.commandsDue(COMMANDS_PER_CYCLE);
        for (; taken < most; taken++) {
            Object command = inbox.poll();
            if (command == null) {
                break;
            }
            if (command instanceof GuardedRead read) {
                peers.onRead(read);
            } else {
                peers.onMessage((Message) command);
            }
        }
        for (Inbox.Death death = inbox.pollDeath(); death != null; death = inbox.pollDeath()) {
            peers.onDead(death);
        }
        peers.takeAnswers();
        peers.pump();
        return taken;
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
        movedBytes = 0;
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
                if (hot.hasOtherThan(lane.peer())) {
                    othersCycle = 0;
                }
                work += poll(lane) ? 1 : 0;
                warm(lane);
            }
        }
        ready.clear();
        work += acceptor.accept(lanes);
        return work;
    }

    /** What a lane may receive in this duty cycle. */
    int receiveBudget(Lane lane) {
        return Math.min(RECEIVE_BYTES, sendBudget(lane));
    }

    /** What a lane may send in this duty cycle. */
    int sendBudget(Lane lane) {
        int all = hot.areMixed() || othersCycle < OTHERS_CYCLES ? CONTENDED_BYTES : CYCLE_BYTES;
        return lane.sharers == 1 ? all : Math.max(LEAST_BYTES, all / lane.sharers);
    }

    /** Bytes were received or sent: after so many the selector is asked for whom they are kept waiting. */
    void moved(int bytes) {
        movedBytes += bytes;
    }

    /** The lanes of a peer share its budget: says to each how many they are. */
    private void share(Lane changed) {
        int sharers = 0;
        for (int i = 0; i < lanes.size(); i++) {
            sharers += lanes.get(i).sharesWith(changed) ? 1 : 0;
        }
        for (int i = 0; i < lanes.size(); i++) {
            if (lanes.get(i).sharesWith(changed)) {
                lanes.get(i).sharers = sharers;
            }
        }
    }

    private boolean poll(Lane lane) {
        try {
            return lane.poll();
        } catch (IOException | RuntimeException e) {
            lose(lane, e);
            return true;
        }
    }

    /** Sends what a lane has, and can be found for it. */
    void pump(Lane lane) {
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

    /** Looks after the lanes. Not after the reads: so many may wait that others would wait for that look. */
    private int tick() {
        int lanesBefore = lanes.size();
        nextTickNs = nowNs + TICK_NS;
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
        peers.tick(nowNs);
        acceptor.tick();
        if (nowNs - nextSweepNs >= 0) {
            nextSweepNs = nowNs + SWEEP_NS;
            sources.sweep();
            destinations.sweep();
            peers.sweep(nowNs);
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
        if (read.engineState != inbox) {
            throw new IllegalStateException(read + " has ended before, and now " + status);
        }
        inbox.ended();
        try {
            read.end(status, cause);
        } catch (RuntimeException e) {
            // It has been told. Others that end with it must be, too.
            log.warn("whoever submitted the " + read + " threw when told its end, which is " + status, e);
        }
    }

    /** A message was sent or dropped. */
    void messageGone() {
        inbox.ended();
    }

    void onOpened(Lane lane) {
        if (lane instanceof ServerLane) {
            acceptor.onStrangerGone();
        }
        share(lane);
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
        share(lane);
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
            if (awake.getAndSet(false) || closed || maxNs <= 0 || !inbox.isEmpty() || peers.isTouched()) {
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
        peers.close(cause);
        close(acceptor.channel());
        close(selector);
        inbox.drain(command -> {
            if (command instanceof GuardedRead read) {
                end(read, ReadStatus.CANCELED, cause);
            } else {
                messageGone();
            }
        });
    }
}
