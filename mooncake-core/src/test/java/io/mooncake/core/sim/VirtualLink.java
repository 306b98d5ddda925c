package io.mooncake.core.sim;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.Memory.DeviceMemory;
import io.mooncake.core.base.Memory.FileMemory;
import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.ControlChannel;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Poller;
import io.mooncake.core.transfer.Priority;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Route;
import io.mooncake.core.transfer.Route.Health;
import io.mooncake.core.transfer.Route.Locality;
import io.mooncake.core.transfer.Topic;
import io.mooncake.core.transfer.TransferEngine;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A node's end of a link that takes virtual time: what the node reads from another one is sent one read after the other, loads first, each for so many
 * nanoseconds a byte, and arrives a while later. Messages take no time. One thread, the one that runs all nodes.
 */
public final class VirtualLink implements TransferEngine, Poller {
    private static final String NAME = "virtual";
    private static final Route THERE = new Route(Locality.NETWORK, true, Health.READY, "a link on virtual time");
    private static final Route HERE = new Route(Locality.NODE, false, Health.NONE, "the block is here");

    private final EngineContext context;
    private final Network network;
    private final ArrayDeque<GuardedRead> loads = new ArrayDeque<>();
    private final ArrayDeque<GuardedRead> background = new ArrayDeque<>();
    private final ArrayDeque<Runnable> messages = new ArrayDeque<>();
    private final ArrayDeque<Sent> sent = new ArrayDeque<>();
    private long freeNs = Long.MIN_VALUE;

    /** A read on its way. */
    private record Sent(GuardedRead read, long arrivesNs) {}

    /** All ends, and how fast they are. */
    public static final class Network {
        private final Map<NodeId, VirtualLink> ends = new HashMap<>();
        private final double nsPerByte;
        private final long delayNs;
        private Function<DeviceMemory, @Nullable MemorySegment> devices = memory -> null;

        /** No node has an end yet, and what is sent has arrived. */
        public Network(double nsPerByte) {
            this(nsPerByte, 0);
        }

        /** No node has an end yet. */
        public Network(double nsPerByte, long delayNs) {
            this.nsPerByte = nsPerByte;
            this.delayNs = delayNs;
        }

        /** A node's end, an engine. */
        public VirtualLink join(EngineContext context) {
            VirtualLink end = new VirtualLink(context, this);
            ends.put(context.self(), end);
            return end;
        }

        /** Lets the link write memory of devices, as cards do: where a device's bytes stand for it; null for memory that it does not reach. */
        public void reachDevices(Function<DeviceMemory, @Nullable MemorySegment> bytes) {
            devices = bytes;
        }

        private @Nullable MemorySegment bytes(Memory destination) {
            return switch (destination) {
                case HostMemory host -> host.segment();
                case DeviceMemory device -> devices.apply(device);
                case FileMemory _ -> null;
            };
        }

        /** When the next read arrives, or can be sent; {@link Long#MAX_VALUE} when there is none. */
        public long nextNs() {
            return ends.values().stream().mapToLong(VirtualLink::nextNs).min().orElse(Long.MAX_VALUE);
        }
    }

    private VirtualLink(EngineContext context, Network network) {
        this.context = context;
        this.network = network;
    }

    private long nextNs() {
        long arrivesNs = sent.isEmpty() ? Long.MAX_VALUE : sent.element().arrivesNs;
        return loads.isEmpty() && background.isEmpty() ? arrivesNs : Math.min(arrivesNs, freeNs);
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public String roleName() {
        return NAME;
    }

    @Override
    public Optional<String> advertised() {
        return Optional.of(NAME);
    }

    @Override
    public Route route(Peer peer, int region) {
        return peer.id().equals(context.self()) ? HERE : THERE;
    }

    @Override
    public boolean reaches(Peer peer, int region, Memory destination) {
        return network.bytes(destination) != null;
    }

    @Override
    public boolean submit(GuardedRead read) {
        (read.priority() == Priority.LOAD ? loads : background).add(read);
        return true;
    }

    @Override
    public void abort(GuardedRead read) {
        // It is looked at in every cycle.
    }

    @Override
    public boolean send(Peer peer, Topic topic, ByteBuffer message) {
        byte[] bytes = ControlChannel.copy(peer, message);
        VirtualLink to = network.ends.get(peer.id());
        if (to == null) {
            return false;
        }
        to.messages.add(() -> to.context.control().deliver(topic.number(), context.self(), bytes));
        return true;
    }

    @Override
    public Poller poller() {
        return this;
    }

    @Override
    public int doWork() {
        int work = 0;
        for (Runnable message = messages.poll(); message != null; message = messages.poll()) {
            message.run();
            work++;
        }
        work += endGivenUp(loads) + endGivenUp(background);
        long nowNs = context.nanoClock().getAsLong();
        while (!sent.isEmpty() && nowNs - sent.element().arrivesNs >= 0) {
            GuardedRead arriving = sent.remove().read;
            if (arriving.isGivenUp()) {
                arriving.end(ReadStatus.CANCELED, null);
            } else {
                end(arriving);
            }
            work++;
        }
        if (freeNs == Long.MIN_VALUE || nowNs - freeNs >= 0) {
            GuardedRead next = loads.isEmpty() ? background.poll() : loads.poll();
            if (next != null) {
                freeNs = nowNs + (long) Math.ceil(next.length() * network.nsPerByte);
                sent.add(new Sent(next, freeNs + network.delayNs));
                work++;
            }
        }
        return work;
    }

    private static int endGivenUp(ArrayDeque<GuardedRead> queue) {
        int ended = 0;
        for (int left = queue.size(); left > 0; left--) {
            GuardedRead read = queue.remove();
            if (read.isGivenUp()) {
                read.end(ReadStatus.CANCELED, null);
                ended++;
            } else {
                queue.add(read);
            }
        }
        return ended;
    }

    private void end(GuardedRead read) {
        MemorySegment to = network.bytes(read.destination().memory());
        if (to == null) {
            read.end(ReadStatus.REFUSED, new MooncakeException(Kind.UNSUPPORTED, "the link does not write " + read));
            return;
        }
        ReadStatus status = arrive(read, to);
        try {
            if (status == ReadStatus.OK && read.destination().memory() instanceof DeviceMemory device
                    && device.cards() != null) {
                device.cards().makeVisible();
            }
        } catch (MooncakeException e) {
            read.end(ReadStatus.REFUSED, e);
            return;
        }
        read.end(status, null);
    }

    /** The bytes, then the guard. */
    private ReadStatus arrive(GuardedRead read, MemorySegment to) {
        EngineContext owner = Objects.requireNonNull(network.ends.get(read.owner().id())).context;
        Region source = owner.regions().readable(read.region());
        long pin = owner.guards().pin(read.region(), read.guardOffset(), read.expected(), read.offset(), read.length());
        if (source == null || pin < 0) {
            return ReadStatus.STALE;
        }
        try {
            MemorySegment from = ((HostMemory) source.memory()).segment();
            for (long at = 0; at < read.length();) {
                long run = read.runAt(at, read.length() - at);
                MemorySegment.copy(from, read.offset() + at, to, read.destinationAt(at), run);
                at += run;
            }
            read.received = read.length();
            return owner.guards().guard(pin) == read.expected() ? ReadStatus.OK : ReadStatus.STALE;
        } finally {
            owner.guards().unpin(pin);
        }
    }

    @Override
    public void park(long maxNs) {
        // Whoever runs the nodes turns the clock on.
    }

    @Override
    public void wakeup() {
        // The same.
    }

    @Override
    public void onClose() {
        sent.forEach(one -> one.read.end(ReadStatus.CANCELED, null));
        sent.clear();
        loads.forEach(read -> read.end(ReadStatus.CANCELED, null));
        background.forEach(read -> read.end(ReadStatus.CANCELED, null));
        loads.clear();
        background.clear();
        network.ends.remove(context.self());
    }
}
