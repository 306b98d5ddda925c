package io.mooncake.rdma;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.UnitChecksums;
import io.mooncake.rdma.verbs.AsyncEvent;
import io.mooncake.rdma.verbs.CompletionChannel;
import io.mooncake.rdma.verbs.CompletionQueue;
import io.mooncake.rdma.verbs.Context;
import io.mooncake.rdma.verbs.Device;
import io.mooncake.rdma.verbs.DeviceAttributes;
import io.mooncake.rdma.verbs.Gid;
import io.mooncake.rdma.verbs.GidChoice;
import io.mooncake.rdma.verbs.LocalPath;
import io.mooncake.rdma.verbs.MemoryRegion;
import io.mooncake.rdma.verbs.PathMtu;
import io.mooncake.rdma.verbs.Port;
import io.mooncake.rdma.verbs.ProtectionDomain;
import io.mooncake.rdma.verbs.QueuePair;
import io.mooncake.rdma.verbs.VerbsException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * One port of one network card, open, with what is registered there. When the card is reset another one takes its place, with the next key
 * epoch: no key of this one is used again.
 *
 * <p>Made and closed by the registrar, who alone registers; the poller polls {@link #completions} and posts.
 */
final class Nic implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Nic.class);
    /** Queue pairs for peers never complete anything: nothing is posted to them. */
    private static final int SERVED_ENTRIES = 16;

    /**
     * What is given back.
     *
     * @param call has the card take it
     * @param then what the card must have taken it for
     */
    private record Returned(Runnable call, Runnable then) {}

    final Device device;
    final long keyEpoch;
    final int numaNode;
    private final ProtectionDomain domain;
    final CompletionChannel channel;
    final CompletionQueue completions;
    final CompletionQueue servedCompletions;
    final DeviceAttributes attributes;
    private final Context context;
    private final RdmaConfig config;
    private final Deque<Runnable> made = new ArrayDeque<>();
    /** What the card did not take back when it was to. */
    private final Queue<Returned> refused = new ConcurrentLinkedQueue<>();
    private final Map<Integer, Registration> registrations = new HashMap<>();
    private volatile Port port;
    private volatile Gid gid;
    private final AtomicInteger queuePairs = new AtomicInteger();
    private volatile boolean failed;
    private volatile boolean abandoned;
    private volatile @Nullable String dead;
    private volatile @Nullable MessagePort messages;

    /** Lanes of peers that end here; the registrar's. */
    int served;
    /** What the poller has of it. */
    final NicUse use = new NicUse(this);

    /**
     * Opens a port.
     *
     * @param device the card
     * @param config which port, and by which address
     * @param completions that its queue holds at least
     * @param keyEpoch higher than that of every earlier one in this process
     * @throws VerbsException when the card refuses
     * @throws MooncakeException CONFIG_ERROR when the port has no address to be used
     */
    Nic(Device device, RdmaConfig config, int completions, long keyEpoch) {
        this.device = device;
        this.config = config;
        this.keyEpoch = keyEpoch;
        numaNode = device.numaNode();
        boolean done = false;
        try {
            context = device.open();
            made.push(context::close);
            attributes = context.attributes();
            port = context.port(config.devices().port());
            gid = chooseGid();
            domain = context.newProtectionDomain();
            made.push(domain::close);
            channel = context.newCompletionChannel();
            made.push(channel::close);
            this.completions = newCompletionQueue(completions);
            made.push(this.completions::close);
            servedCompletions = context.newCompletionQueue(SERVED_ENTRIES, null);
            made.push(servedCompletions::close);
            done = true;
        } finally {
            if (!done) {
                closeMade();
            }
        }
    }

    private Gid chooseGid() {
        List<Gid> table = context.gids(port);
        String wanted = config.devices().gid();
        return GidChoice.of(table, wanted)
                .orElseThrow(() -> new MooncakeException(Kind.CONFIG_ERROR, this + " has no GID"
                        + (wanted == null
                                ? ": give its network interface an address"
                                : " '" + wanted + "' among " + table + ": leave it out to have one chosen")))
                .gid();
    }

    /** What the port is now, and which address of it peers are told. */
    Port port() {
        return port;
    }

    Gid gid() {
        return gid;
    }

    LocalPath path() {
        LocalPath own = LocalPath.of(port, gid);
        int mtu = config.link().mtuBytes();
        return mtu == 0 || mtu >= own.mtu().bytes()
                ? own
                : new LocalPath(own.port(), own.gidIndex(), PathMtu.of(Integer.numberOfTrailingZeros(mtu) - 7),
                        own.ethernet());
    }

    /** Whether a lane may be made on it now. */
    boolean isUsable() {
        return !failed && port.isActive();
    }

    boolean isFailed() {
        return failed;
    }

    /** The card is lost; false when that was known. */
    boolean fail() {
        boolean first = !failed;
        failed = true;
        return first;
    }

    /** The poller has no lane on it any more and polls it no more. */
    void abandon() {
        abandoned = true;
    }

    /** Whether it is lost and nothing of it is used. */
    boolean isDone() {
        return failed && abandoned && queuePairs.get() == 0;
    }

    /** It does not work any more, or its completion queue does not. Any thread. */
    void onDead(String why) {
        dead = why;
    }

    /** Why it is dead; null while it is not known to be. */
    @Nullable
    String dead() {
        return dead;
    }

    /** A queue pair, to be given back by {@link #close(QueuePair)}. */
    QueuePair newQueuePair(CompletionQueue queue, QueuePair.Capacity capacity) {
        QueuePair made = domain.newQueuePair(queue, capacity);
        queuePairs.incrementAndGet();
        return made;
    }

    /** What it has for messages, made when it is asked for the first time. The registrar. */
    MessagePort messages() {
        MessagePort known = messages;
        if (known == null) {
            known = new MessagePort(this, config.limits().memory().landingBytes());
            made.push(known::close);
            messages = known;
        }
        return known;
    }

    /** The same; null as long as nobody has asked for it. Any thread. */
    @Nullable
    MessagePort messagePort() {
        return messages;
    }

    /** A completion queue of so many entries, or as many as the card has; its events come with those of {@link #completions}. */
    CompletionQueue newCompletionQueue(int entries) {
        return context.newCompletionQueue(Math.min(entries, attributes.maxEntries()), channel);
    }

    /** Registers memory that is no region's, to be {@link #giveBack given back}. */
    MemoryRegion register(MemorySegment memory, int access) {
        return domain.register(memory.address(), memory.byteSize(), access);
    }

    /**
     * Gives something back that was made on it. What the card refuses to take is offered again at each look; a lost one has forgotten it.
     * Any thread.
     *
     * @param call has the card take it
     * @param then follows as soon as it has: frees what the card might touch until then
     * @return false when the card refused
     */
    boolean giveBack(Runnable call, Runnable then) {
        Returned given = new Returned(call, then);
        boolean taken = isTaken(given, Level.WARN);
        if (!taken) {
            refused.add(given);
        }
        return taken;
    }

    private void offerAgain() {
        for (int left = refused.size(); left > 0; left--) {
            Returned again = refused.remove();
            if (!isTaken(again, Level.DEBUG)) {
                refused.add(again);
            }
        }
    }

    private boolean isTaken(Returned given, Level level) {
        try {
            given.call.run();
        } catch (VerbsException e) {
            LOG.atLevel(level).setCause(e).log("{} does not take something back", this);
            if (!failed) {
                return false;
            }
        }
        given.then.run();
        return true;
    }

    /**
     * Destroys a queue pair: none of its requests touches memory any more. Where the card refuses that, it is reset, which ends them as well; a
     * card that refuses both is lost. Any thread.
     */
    void close(QueuePair queuePair) {
        if (!giveBack(queuePair::close, queuePairs::decrementAndGet)) {
            try {
                queuePair.toReset();
            } catch (VerbsException e) {
                onDead("it neither destroys nor resets a queue pair: " + e.getMessage());
            }
        }
    }

    /** Looks at the port again; whether it is another one for peers than before, so that lanes over it are of no use. */
    boolean refresh() {
        Gid formerGid = gid;
        Port former = port;
        port = context.port(config.devices().port());
        gid = chooseGid();
        return !formerGid.equals(gid) || former.lid() != port.lid() || (former.isActive() && !port.isActive());
    }

    /** What the card says beside completions; null when it says nothing. */
    @Nullable
    AsyncEvent takeEvent() {
        return context.awaitEvent(0);
    }

    /** Registers what peers may read already: pools. One on a device that the card cannot take is left out: its blocks go by host memory. */
    void registerAll(EngineContext node, Consumer<Region> onRefused) {
        for (Region region : node.regions().open()) {
            if (region.access() != Access.LOCAL_ONLY && Reach.isRegistrable(region)) {
                registerOrLeave(region, node, onRefused);
            }
        }
    }

    private void registerOrLeave(Region region, EngineContext node, Consumer<Region> onRefused) {
        try {
            register(region, node);
        } catch (MooncakeException e) {
            if (Reach.isHost(region) || e.kind() == Kind.PEER_UNREACHABLE) {
                throw e;
            }
            LOG.warn("{} does not get at {}, which is read and written by way of host memory: {}", this, region,
                    e.getMessage());
            onRefused.accept(region);
        }
    }

    /**
     * Registers a region, unless it is.
     *
     * @return its registration
     * @throws MooncakeException when it cannot be
     */
    Registration register(Region region, EngineContext node) {
        Registration known = registrations.get(region.id());
        if (known != null) {
            return known;
        }
        if (!Reach.isRegistrable(region)) {
            throw new MooncakeException(Kind.UNSUPPORTED, region + " is memory of a device, of which " + this
                    + " cannot be told: register it as CudaDevices.memory says it, or copy by way of host memory");
        }
        List<Memory> tables = region.access() == Access.GUARDED ? tables(region, node) : List.of();
        long most = Math.min(config.limits().memory().registrationBytes(),
                attributes.maxRegionBytes() <= 0 ? Long.MAX_VALUE : attributes.maxRegionBytes());
        Registration made = new Registration(region, tables, most);
        boolean done = false;
        try {
            made.register(domain);
            done = true;
        } finally {
            if (!done) {
                giveBack(made);
            }
        }
        registrations.put(region.id(), made);
        return made;
    }

    private static List<Memory> tables(Region region, EngineContext node) {
        Memory guards = node.guards().table(region.id());
        if (guards == null) {
            throw new MooncakeException(Kind.UNAUTHORIZED, region + " has no guards that could be read");
        }
        UnitChecksums checksums = node.guards().checksums(region.id());
        return checksums == null ? List.of(guards) : List.of(guards, checksums.memory());
    }

    /** Takes a registration from the card: nothing lands by it any more. The registrar. */
    void deregister(Registration registration) {
        if (registrations.remove(registration.region().id(), registration)) {
            giveBack(registration);
        }
    }

    private void giveBack(Registration registration) {
        giveBack(registration::close, registration::release);
    }

    /** A ring for short reads, closed with the card. The registrar, once. */
    BounceRing newBounceRing() {
        BounceRing ring = new BounceRing(this);
        made.push(ring::close);
        return ring;
    }

    List<Registration> registrations() {
        return List.copyOf(registrations.values());
    }

    /** Whether its registration of a region uses that region. */
    boolean isRetaining(Region region) {
        Registration registration = registrations.get(region.id());
        return registration != null && registration.isRetaining();
    }

    /**
     * Deregisters what was closed, and offers again what was refused.
     *
     * @param retaining how many registrations, of all cards, use a region
     * @return the regions' numbers
     */
    List<Integer> sweep(ToIntFunction<Region> retaining) {
        offerAgain();
        List<Integer> gone = new ArrayList<>();
        registrations.values().removeIf(registration -> {
            if (!registration.isOver(retaining.applyAsInt(registration.region()))) {
                return false;
            }
            gone.add(registration.region().id());
            giveBack(registration);
            return true;
        });
        return gone;
    }

    /** Every queue pair was destroyed before. What the card does not take back even now stays until the process ends. */
    @Override
    public void close() {
        registrations.values().forEach(this::giveBack);
        registrations.clear();
        offerAgain();
        closeMade();
    }

    private void closeMade() {
        RuntimeException first = null;
        while (!made.isEmpty()) {
            try {
                made.pop().run();
            } catch (RuntimeException e) {
                first = first == null ? e : first;
            }
        }
        if (first != null) {
            throw first;
        }
    }

    @Override
    public String toString() {
        return device + " port " + config.devices().port();
    }
}
