package io.mooncake.core.schedule;

import io.mooncake.core.base.Hop;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.registry.PairFigures;
import io.mooncake.core.registry.PairFigures.Figure;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * What reading from each peer takes, by engine and size, as this node measured it: its row of the cluster's matrix. Any thread; asking
 * and measuring allocate nothing and take no lock once a peer is known.
 *
 * <p>A row belongs to one life of a peer. What was not measured is what is usual at that distance.
 */
public final class TopologyMatrix {
    private static final int MAX_PEERS = 4096;
    /** What changed less is not said again. */
    private static final double NOTEWORTHY = 1.25;
    /** By hop: nanoseconds before the first byte, and bytes in each one after that. Orders of magnitude, to begin with. */
    private static final long[] USUAL_NS = {1_000, 10_000, 10_000, 30_000, 100_000, 500_000};
    private static final long[] USUAL_BYTES_PER_NS = {10, 8, 8, 5, 3, 1};

    private final NodeId self;
    /** The pair of this node and itself, where ways inside it were measured. */
    private final List<PairFigures> inside;
    private final ConcurrentHashMap<NodeId, Row> rows = new ConcurrentHashMap<>();
    private final Queue<PairFigures> withdrawn = new ConcurrentLinkedQueue<>();
    private final AtomicInteger busyPaths = new AtomicInteger();
    /** What of {@link #inside} {@link #changes} has not said yet; its caller's. */
    private List<PairFigures> insideUnsaid;

    /** What is known of one life of a peer. */
    private static final class Row {
        final Hop hop;
        volatile PathMeter[] meters = {};
        /** What {@link #changes} said last; its caller's. */
        volatile List<Figure> said = List.of();

        Row(Hop hop) {
            this.hop = hop;
        }

        @Nullable
        PathMeter find(String engine) {
            for (PathMeter meter : meters) {
                if (meter.engine().equals(engine)) {
                    return meter;
                }
            }
            return null;
        }

        synchronized PathMeter make(String engine, AtomicInteger busyPaths) {
            PathMeter there = find(engine);
            if (there == null) {
                there = new PathMeter(engine, busyPaths);
                PathMeter[] more = Arrays.copyOf(meters, meters.length + 1);
                more[meters.length] = there;
                meters = more;
            }
            return there;
        }

        int load() {
            int load = 0;
            for (PathMeter meter : meters) {
                load += meter.load();
            }
            return load;
        }

        List<Figure> figures() {
            List<Figure> figures = new ArrayList<>();
            for (PathMeter meter : meters) {
                meter.addFigures(figures);
            }
            return announceable(figures);
        }
    }

    /**
     * A row in which nothing is measured of peers.
     *
     * @param self the node that reads
     * @param inside what copies inside it take, which is the pair of the node and itself
     */
    public TopologyMatrix(NodeId self, List<Figure> inside) {
        this.self = self;
        this.inside = inside.isEmpty()
                ? List.of()
                : List.of(new PairFigures(self, self, Hop.NODE, announceable(inside)));
        insideUnsaid = this.inside;
    }

    private static List<Figure> announceable(List<Figure> figures) {
        return figures.subList(0, Math.min(figures.size(), PairFigures.MAX_FIGURES));
    }

    /**
     * What measures the reads of an engine from a peer.
     *
     * @param peer which life of it
     * @param engine the engine's name
     * @return the same one as long as the peer is known; null before {@link #begin}
     */
    public @Nullable PathMeter meter(NodeId peer, String engine) {
        Row row = rows.get(peer);
        return row == null ? null : row.find(engine);
    }

    /**
     * Begins to measure the reads of an engine from a peer, unless that has begun.
     *
     * @param peer which life of it
     * @param hop how far it is
     * @param engine the engine's name
     * @return what measures them
     */
    public PathMeter begin(NodeId peer, Hop hop, String engine) {
        Row row = rows.get(peer);
        if (row == null) {
            forgetEarlier(peer);
            row = rows.computeIfAbsent(peer, id -> new Row(hop));
        }
        return row.make(engine, busyPaths);
    }

    private void forgetEarlier(NodeId peer) {
        boolean full = rows.size() >= MAX_PEERS;
        rows.forEach((id, row) -> {
            boolean earlier = id.name().equals(peer.name()) && id.incarnation() < peer.incarnation();
            if (earlier || (full && row.load() == 0)) {
                forget(id);
            }
        });
    }

    /**
     * Forgets a life that is over.
     *
     * @param peer which
     */
    public void forget(NodeId peer) {
        Row row = rows.remove(peer);
        if (row != null && !row.said.isEmpty()) {
            withdrawn.add(new PairFigures(self, peer, row.hop, List.of()));
        }
    }

    /**
     * What a read takes that waits for no other.
     *
     * @param peer from whom
     * @param hop how far it is
     * @param engine the engine's name
     * @param bytes how much
     * @return nanoseconds: as measured, else what is usual at that distance
     */
    public long expectedNs(NodeId peer, Hop hop, String engine, long bytes) {
        PathMeter meter = meter(peer, engine);
        long measuredNs = meter == null ? 0 : meter.readNs(bytes);
        return measuredNs > 0 ? measuredNs : usualNs(hop, bytes);
    }

    /** What a read takes at a distance, where nothing is measured. */
    static long usualNs(Hop hop, long bytes) {
        return USUAL_NS[hop.ordinal()] + bytes / USUAL_BYTES_PER_NS[hop.ordinal()];
    }

    /**
     * Whether nothing is outstanding on a way, and what is known of it is old, in doubt, or nothing.
     *
     * @param peer from whom
     * @param engine the engine's name
     * @param bytes how much
     * @param nowNs on the node's clock
     * @return whether a read would tell something
     */
    public boolean isDue(NodeId peer, String engine, long bytes, long nowNs) {
        PathMeter meter = meter(peer, engine);
        return meter == null || meter.isDue(bytes, nowNs);
    }

    /**
     * Reads outstanding at a peer, whichever way they go.
     *
     * @param peer which
     * @return 0 and up
     */
    public int load(NodeId peer) {
        Row row = rows.get(peer);
        return row == null ? 0 : row.load();
    }

    /**
     * This node's row.
     *
     * @return one pair for each peer that was measured, and one of the node and itself where ways inside it were
     */
    public List<PairFigures> figures() {
        List<PairFigures> pairs = new ArrayList<>(inside);
        rows.forEach((peer, row) -> {
            List<Figure> figures = row.figures();
            if (!figures.isEmpty()) {
                pairs.add(new PairFigures(self, peer, row.hop, figures));
            }
        });
        return pairs;
    }

    /**
     * What others are to be told: pairs that are not what was said of them last, and those of peers that were forgotten. One thread.
     *
     * @return whole pairs, each in place of what was said before
     */
    public List<PairFigures> changes() {
        List<PairFigures> changes = new ArrayList<>(insideUnsaid);
        insideUnsaid = List.of();
        for (PairFigures gone = withdrawn.poll(); gone != null; gone = withdrawn.poll()) {
            changes.add(gone);
        }
        rows.forEach((peer, row) -> {
            List<Figure> figures = row.figures();
            if (differ(figures, row.said)) {
                row.said = figures;
                changes.add(new PairFigures(self, peer, row.hop, figures));
            }
        });
        return changes;
    }

    private static boolean differ(List<Figure> now, List<Figure> said) {
        if (now.size() != said.size()) {
            return true;
        }
        for (int i = 0; i < now.size(); i++) {
            Figure one = now.get(i);
            Figure other = said.get(i);
            if (!one.path().equals(other.path()) || one.upToBytes() != other.upToBytes()
                    || one.readNs() > NOTEWORTHY * other.readNs() || other.readNs() > NOTEWORTHY * one.readNs()) {
                return true;
            }
        }
        return false;
    }
}
