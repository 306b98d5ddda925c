package io.mooncake.bench.cli;

import io.mooncake.core.Destination;
import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.Piece;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.core.registry.Registry;
import io.mooncake.core.schedule.Scheduler;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Region;
import java.io.PrintWriter;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** Two nodes have a block, and the wire to one of them gets longer: how soon a reader leaves it, and comes back when it is repaired. */
final class SlowLink {
    private static final int MOST_READS = 20;
    private static final double MOST_SECONDS = 30;
    private static final double PATIENCE_SECONDS = 60;
    /** Once may be a look; so many in a row are use. */
    private static final int USED_READS = 3;
    private static final int SETTLED_READS = 20;
    private static final long PAUSE_NS = TimeUnit.MILLISECONDS.toNanos(100);

    private final long bytes;
    private final long delayMs;
    private final NodeSettings settings;
    private @Nullable String chosen;

    SlowLink(long bytes, long delayMs, NodeSettings settings) {
        this.bytes = bytes;
        this.delayMs = delayMs;
        this.settings = settings.serving().with("sharedMemory", "off");
    }

    /** What all nodes know, but to others this way leads by a relay. */
    private record Detour(Registry registry, Map<String, LateRelay> relays) implements Registry {
        @Override
        public void join(Peer self) {
            registry.join(self);
        }

        @Override
        public void leave(NodeId node) {
            registry.leave(node);
        }

        @Override
        public List<Peer> nodes() {
            return registry.nodes();
        }

        @Override
        public @Nullable Peer peer(NodeId node) {
            Peer peer = registry.peer(node);
            LateRelay relay = relays.get(node.name());
            return peer == null || relay == null
                    ? peer
                    : new Peer(node, Map.of("tcp", "127.0.0.1:" + relay.port()), peer.site());
        }

        @Override
        public List<BlockRef> locations(BlockId id) {
            return registry.locations(id);
        }

        @Override
        public void announce(BlockRef written) {
            registry.announce(written);
        }

        @Override
        public void withdraw(BlockRef evicted) {
            registry.withdraw(evicted);
        }
    }

    /**
     * Runs it.
     *
     * @return the figures; {@code met} says whether they are within the limits
     */
    Map<String, Object> run(PrintWriter out) {
        LocalRegistry registry = new LocalRegistry();
        Map<String, LateRelay> relays = new ConcurrentHashMap<>();
        Scheduler watched = (holders, wanted, view) -> {
            BlockRef source = Scheduler.cheapestHolder().source(holders, wanted, view);
            chosen = source == null ? null : source.node().name();
            return source;
        };
        try (MatrixMember near = new MatrixMember(settings.applyTo(NodeConfig.builder("holder-0").registry(registry)),
                bytes);
                MatrixMember far = new MatrixMember(settings.applyTo(NodeConfig.builder("holder-1").registry(registry)),
                        bytes);
                Node reader = Node.start(settings
                        .applyTo(NodeConfig.builder("reader").registry(new Detour(registry, relays)).scheduler(watched))
                        .blockSize(1 << 20)
                        .poolSize(2 << 20)
                        .build());
                Arena arena = Arena.ofShared();
                Region region = reader.register(Memory.of(arena.allocate(bytes, 4096)), Access.LOCAL_ONLY)) {
            near.write();
            far.replicate();
            for (MatrixMember holder : List.of(near, far)) {
                relays.put(holder.node().id().name(), new LateRelay(holder.node().endpoint().orElseThrow().port()));
            }
            return trial(reader, region, relays, out);
        } finally {
            relays.values().forEach(LateRelay::close);
        }
    }

    private Map<String, Object> trial(Node reader, Region region, Map<String, LateRelay> relays, PrintWriter out) {
        String slow = usual(reader, region);
        LateRelay link = Objects.requireNonNull(relays.get(slow));
        link.delay(delayMs);
        List<String> after = new ArrayList<>();
        for (int i = 0; i < MOST_READS; i++) {
            after.add(read(reader, region));
        }
        int readsUntilLeft = after.lastIndexOf(slow) + 1;
        link.delay(0);
        long repaired = System.nanoTime();
        int inARow = 0;
        while (inARow < USED_READS && seconds(repaired) < PATIENCE_SECONDS) {
            inARow = read(reader, region).equals(slow) ? inARow + 1 : 0;
        }
        boolean used = inARow == USED_READS;
        double secondsUntilUsed = seconds(repaired);
        boolean met = readsUntilLeft < MOST_READS && used && secondsUntilUsed < MOST_SECONDS;
        out.printf(Locale.ROOT,
                "%d ms added to the link to %s: %d reads over it before it was left, limit %d; used again %s after repair, limit %.0f s: %s%n",
                delayMs, slow, readsUntilLeft, MOST_READS,
                used ? String.format(Locale.ROOT, "%.1f s", secondsUntilUsed) : "not at all", MOST_SECONDS,
                met ? "met" : "MISSED");
        if (!met) {
            out.printf("read meanwhile from %s%n", String.join(" ", after));
            reader.matrix().forEach(pair -> out.printf("known in the end: %s%n", pair));
        }
        out.flush();
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("delayMs", delayMs);
        json.put("readFrom", after);
        json.put("readsUntilLeft", readsUntilLeft);
        json.put("readsLimit", MOST_READS);
        json.put("secondsUntilUsedAgain", used ? secondsUntilUsed : null);
        json.put("secondsLimit", MOST_SECONDS);
        json.put("met", met);
        return json;
    }

    /** Whom all reads go to but for looks at the other, where no link is slow: so that is what to come back to. */
    private String usual(Node reader, Region region) {
        long began = System.nanoTime();
        String usual = read(reader, region);
        for (int inARow = 1; inARow < SETTLED_READS;) {
            String from = read(reader, region);
            inARow = from.equals(usual) ? inARow + 1 : 1;
            usual = from;
            if (seconds(began) > PATIENCE_SECONDS) {
                throw new IllegalStateException("reads do not settle on one of two links, neither of which is slow");
            }
        }
        return usual;
    }

    private static double seconds(long since) {
        return (System.nanoTime() - since) / 1e9;
    }

    /** One read, and a pause after it; whom it came from. */
    private String read(Node reader, Region region) {
        Outcome outcome = reader.store()
                .read(Piece.of(MatrixMember.BLOCK, 0, Piece.WHOLE, Destination.at(region, 0)));
        if (outcome != Outcome.OK) {
            throw new IllegalStateException("a read ended " + outcome);
        }
        LockSupport.parkNanos(PAUSE_NS);
        return Objects.requireNonNull(chosen);
    }
}
