package io.mooncake.core.transfer.onesided;

import io.mooncake.core.base.Memory;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Region;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.function.IntPredicate;

/** A fabric whose completions go wrong, as drivers and cards do: by a seed, each fault with a probability of its own. */
public final class FaultyFabric implements Fabric {
    /** What goes wrong. */
    public enum Fault {
        /** A completion is reported some polls later. */
        DELAY,
        /** It is never reported. */
        DROP,
        /** It is reported again some polls later. */
        DUPLICATE,
        /** Completions of one poll are reported in another order. */
        REORDER,
        /** A request that was carried out is reported as FAILED, and its lane breaks. */
        ERROR,
        /** Half of a request is carried out and reported OK; its lane is broken by then. */
        PARTIAL,
        /** A lane reports nothing any more, until it is broken. */
        STALL
    }

    private static final int MOST_POLLS_LATE = 40;

    private record Report(long cookie, RequestEnd end, int atPoll) {}

    private final Fabric inner;
    private final Random random;
    private Map<Fault, Double> odds;
    private final Map<Fault, Integer> hits = new EnumMap<>(Fault.class);
    private final Map<Long, FaultyLane> posted = new HashMap<>();
    private final List<Report> late = new ArrayList<>();
    private final List<Report> batch = new ArrayList<>();
    private final BitSet railsInUse = new BitSet();
    private final Map<Integer, Integer> connects = new HashMap<>();
    private IntPredicate faultyRails = rail -> true;
    private int polls;

    /** Wraps a fabric. */
    public FaultyFabric(Fabric inner, long seed, Map<Fault, Double> odds) {
        this.inner = inner;
        this.odds = Map.copyOf(odds);
        random = new Random(seed);
    }

    /** How often a fault was done. */
    public int hits(Fault fault) {
        return hits.getOrDefault(fault, 0);
    }

    /** From now on lanes fail, stall and do half by these odds, and only those of some rails: the first one that is free is a lane's. */
    public void odds(Map<Fault, Double> odds, IntPredicate rails) {
        this.odds = Map.copyOf(odds);
        faultyRails = rails;
    }

    /** How often a lane was connected by a rail. */
    public int connects(int rail) {
        return connects.getOrDefault(rail, 0);
    }

    private boolean draw(Fault fault) {
        boolean hit = random.nextDouble() < odds.getOrDefault(fault, 0.0);
        if (hit) {
            hits.merge(fault, 1, Integer::sum);
        }
        return hit;
    }

    @Override
    public int poll(Completions completions, int limit) {
        polls++;
        batch.clear();
        for (int i = late.size() - 1; i >= 0 && batch.size() < limit; i--) {
            if (late.get(i).atPoll <= polls) {
                batch.add(late.remove(i));
            }
        }
        if (batch.size() < limit) {
            inner.poll(this::onCompletion, limit - batch.size());
        }
        if (draw(Fault.REORDER)) {
            Collections.shuffle(batch, random);
        }
        for (Report report : batch) {
            completions.onCompletion(report.cookie, report.end);
        }
        return batch.size();
    }

    private void onCompletion(long cookie, RequestEnd end) {
        FaultyLane lane = posted.remove(cookie);
        RequestEnd reported = end;
        if (end == RequestEnd.OK && lane != null) {
            if (lane.shortened.remove(cookie) != null) {
                lane.inner.fail();
                lane.flushNeverBegun();
            } else if (lane.draw(Fault.ERROR)) {
                reported = RequestEnd.FAILED;
                lane.inner.fail();
            } else if (lane.draw(Fault.STALL)) {
                lane.stalled = true;
            }
        }
        if (lane != null && lane.stalled && !lane.failed) {
            lane.held.add(new Report(cookie, reported, 0));
        } else if (!draw(Fault.DROP)) {
            report(cookie, reported);
        }
    }

    private void report(long cookie, RequestEnd end) {
        if (draw(Fault.DELAY)) {
            late.add(new Report(cookie, end, polls + 1 + random.nextInt(MOST_POLLS_LATE)));
        } else {
            batch.add(new Report(cookie, end, polls));
        }
        if (draw(Fault.DUPLICATE)) {
            late.add(new Report(cookie, end, polls + 1 + random.nextInt(MOST_POLLS_LATE)));
        }
    }

    @Override
    public Lane connect(Peer peer, LaneListener listener) {
        return new FaultyLane(inner.connect(peer, listener));
    }

    /** One lane with its faults. */
    private final class FaultyLane implements Lane {
        private final Lane inner;
        private final int rail;
        private final List<Report> held = new ArrayList<>();
        private final Map<Long, Boolean> shortened = new HashMap<>();
        /** Fenced behind what is carried out in part: its lane is broken before they begin. */
        private final List<Long> neverBegun = new ArrayList<>();
        private boolean stalled;
        private boolean failed;

        FaultyLane(Lane inner) {
            this.inner = inner;
            rail = railsInUse.nextClearBit(0);
            railsInUse.set(rail);
            connects.merge(rail, 1, Integer::sum);
        }

        private boolean draw(Fault fault) {
            return faultyRails.test(rail) && FaultyFabric.this.draw(fault);
        }

        @Override
        public RemoteRegion region(int number) {
            return inner.region(number);
        }

        @Override
        public boolean isReady(Region destination, long readBytes) {
            return inner.isReady(destination, readBytes);
        }

        @Override
        public boolean post(ReadRequest request) {
            if (request.isFenced() && !shortened.isEmpty()) {
                neverBegun.add(request.cookie());
                return true;
            }
            boolean part = request.bytes() > 64 && draw(Fault.PARTIAL);
            boolean accepted = inner.post(part
                    ? new ReadRequest().of(request.cookie(), request.bytes() / 2)
                            .from(request.source(), request.part(), request.sourceOffset())
                            .into(request.destination(), request.destinationOffset())
                    : request);
            if (accepted) {
                posted.put(request.cookie(), this);
                if (part) {
                    shortened.put(request.cookie(), true);
                }
            }
            return accepted;
        }

        private void flushNeverBegun() {
            neverBegun.forEach(cookie -> late.add(new Report(cookie, RequestEnd.FLUSHED, polls + 1)));
            neverBegun.clear();
        }

        @Override
        public void fail() {
            flushNeverBegun();
            failed = true;
            inner.fail();
            for (Report report : held) {
                late.add(new Report(report.cookie, report.end, polls + 1));
            }
            held.clear();
        }

        @Override
        public void destroy() {
            railsInUse.clear(rail);
            inner.destroy();
        }
    }

    @Override
    public String name() {
        return inner.name();
    }

    @Override
    public Optional<String> advertised() {
        return inner.advertised();
    }

    @Override
    public boolean reaches(Peer peer) {
        return inner.reaches(peer);
    }

    @Override
    public boolean canWrite(Memory destination) {
        return inner.canWrite(destination);
    }

    @Override
    public FabricLimits limits() {
        return inner.limits();
    }

    @Override
    public void flush() {
        inner.flush();
    }

    @Override
    public void park(long maxNs) {
        inner.park(maxNs);
    }

    @Override
    public void wakeup() {
        inner.wakeup();
    }

    @Override
    public void close() {
        inner.close();
    }

}
