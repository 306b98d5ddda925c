package io.mooncake.testing;

import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Poller;
import io.mooncake.core.transfer.ReadListener;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Route;
import io.mooncake.core.transfer.Topic;
import io.mooncake.core.transfer.TransferEngine;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * An engine whose reads go wrong, by a seed, each fault with a probability of its own. Reads into one piece of memory only; scattered
 * ones pass through. The last two faults break the contract: they are for tests of tests.
 */
public final class FaultyEngine implements TransferEngine, Poller {
    /** What goes wrong. */
    public enum Fault {
        /** The end is reported some duty cycles later. */
        DELAY,
        /** Ends that were delayed are reported in another order. */
        REORDER,
        /** The end is lost; the read ends by its deadline. */
        DROP,
        /** The read is never begun; it ends by its deadline. */
        STALL,
        /** The read was carried out and ends UNREACHABLE. */
        ERROR,
        /** Half of the bytes come, then it ends UNREACHABLE. */
        PARTIAL,
        /** The end is reported twice. */
        DUPLICATE,
        /** A byte is written after the end. */
        LATE_BYTE
    }

    private static final int MOST_CYCLES_LATE = 20;

    private final TransferEngine inner;
    private final Random random;
    private final Map<Fault, Double> odds;
    private final LongSupplier nanoClock;
    private final List<Relay> held = new ArrayList<>();
    private final Map<NodeId, Long> slowNs = new HashMap<>();
    private final List<Relay> lateBytes = new ArrayList<>();
    private int cycles;

    /** Wraps an engine. */
    public FaultyEngine(TransferEngine inner, long seed, Map<Fault, Double> odds, LongSupplier nanoClock) {
        this.inner = inner;
        random = new Random(seed);
        this.odds = Map.copyOf(odds);
        this.nanoClock = nanoClock;
    }

    /** From now on the ends of a peer's reads are reported so much later; 0 ends that. The bytes are there before. */
    public synchronized void slow(NodeId peer, long ns) {
        slowNs.put(peer, ns);
    }

    private boolean draw(Fault fault) {
        return random.nextDouble() < odds.getOrDefault(fault, 0.0);
    }

    @Override
    public synchronized boolean submit(GuardedRead read) {
        if (read.length() <= 0 || !read.fitsDestination() || read.runAt(0, read.length()) < read.length()) {
            return inner.submit(read);
        }
        Relay relay = new Relay(read, draw(Fault.PARTIAL));
        if (draw(Fault.STALL)) {
            relay.status = ReadStatus.TIMED_OUT;
            relay.dueCycle = Integer.MAX_VALUE;
            held.add(relay);
            return true;
        }
        read.engineState = relay;
        return inner.submit(relay.inward);
    }

    @Override
    public void abort(GuardedRead read) {
        if (read.engineState instanceof Relay relay) {
            inner.abort(relay.inward);
        } else {
            inner.abort(read);
        }
    }

    @Override
    public synchronized int doWork() {
        cycles++;
        for (Relay relay : lateBytes) {
            relay.writeByte();
        }
        lateBytes.clear();
        int work = inner.poller().doWork();
        if (draw(Fault.REORDER)) {
            Collections.shuffle(held, random);
        }
        for (int i = held.size() - 1; i >= 0; i--) {
            Relay relay = held.get(i);
            boolean late = nanoClock.getAsLong() - relay.outward.deadlineNs() >= 0;
            boolean due = relay.dueCycle <= cycles && nanoClock.getAsLong() - relay.dueNs >= 0;
            if (late || due || relay.outward.isGivenUp()) {
                held.remove(i);
                relay.end();
                work++;
            }
        }
        return work;
    }

    @Override
    public synchronized void onClose() {
        inner.poller().onClose();
        List<Relay> left = List.copyOf(held);
        held.clear();
        left.forEach(Relay::end);
    }

    /** One read on its way in and its end on its way out. */
    private final class Relay implements ReadListener {
        private final GuardedRead outward;
        private final GuardedRead inward = new GuardedRead(this, 0);
        private final Region destination;
        private final long at;
        private final boolean part;
        private ReadStatus status = ReadStatus.UNREACHABLE;
        private @Nullable MooncakeException cause;
        private int dueCycle;
        private long dueNs;

        Relay(GuardedRead outward, boolean part) {
            this.outward = outward;
            this.part = part;
            destination = outward.destination();
            at = outward.destinationAt(0);
            inward.from(outward.owner(), outward.region(), outward.offset(),
                    part ? outward.length() / 2 : outward.length())
                    .guardedBy(outward.guardOffset(), outward.expected())
                    .into(destination, at)
                    .by(outward.deadlineNs())
                    .withPriority(outward.priority());
        }

        @Override
        public void onReadEnded(GuardedRead read, ReadStatus how) {
            boolean failed = how == ReadStatus.OK && (part || draw(Fault.ERROR));
            status = failed ? ReadStatus.UNREACHABLE : how;
            dueNs = nanoClock.getAsLong() + slowNs.getOrDefault(outward.owner().id(), 0L);
            cause = failed ? new MooncakeException(Kind.PEER_UNREACHABLE, outward + ": a planted fault") : read.cause();
            if (how == ReadStatus.OK && draw(Fault.DROP)) {
                status = ReadStatus.TIMED_OUT;
                cause = null;
                dueCycle = Integer.MAX_VALUE;
            } else if (draw(Fault.DELAY)) {
                dueCycle = cycles + 1 + random.nextInt(MOST_CYCLES_LATE);
            } else if (nanoClock.getAsLong() - dueNs >= 0) {
                end();
                return;
            }
            held.add(this);
        }

        void end() {
            outward.received = inward.received;
            outward.end(status, cause);
            if (draw(Fault.DUPLICATE)) {
                outward.end(status, cause);
            }
            if (draw(Fault.LATE_BYTE)) {
                lateBytes.add(this);
            }
        }

        void writeByte() {
            if (destination.memory() instanceof HostMemory host) {
                host.segment().set(ValueLayout.JAVA_BYTE, at, (byte) 1);
            }
        }

        @Override
        public void onReadExpired(GuardedRead late) {
            outward.expire();
        }

        @Override
        public boolean isGivenUp(GuardedRead asked) {
            return outward.isGivenUp();
        }
    }

    @Override
    public String name() {
        return inner.name();
    }

    @Override
    public String roleName() {
        return inner.poller().roleName();
    }

    @Override
    public Optional<String> advertised() {
        return inner.advertised();
    }

    @Override
    public Route route(Peer peer, int region) {
        return inner.route(peer, region);
    }

    @Override
    public boolean send(Peer peer, Topic topic, ByteBuffer message) {
        return inner.send(peer, topic, message);
    }

    @Override
    public void onPeerDead(NodeId life, String reason) {
        inner.onPeerDead(life, reason);
    }

    @Override
    public Poller poller() {
        return this;
    }

    @Override
    public void park(long maxNs) {
        inner.poller().park(maxNs);
    }

    @Override
    public void wakeup() {
        inner.poller().wakeup();
    }
}
