package io.mooncake.core.schedule;

import io.mooncake.core.registry.PairFigures.Figure;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Measures one way to one life of a peer: what a read takes by itself, however many wait there. Any thread; takes no lock, and allocates
 * only at the first read of a size.
 *
 * <p>A read that waited behind others took long, and the way is not slow. So not the time of a read is measured but the time in which the
 * way was busy, divided by the reads that ended in it:
 *
 * <pre>
 *   reads       a |=========|
 *                b  |================|                 c |=====|
 *   busy          |---- a ---|-- b --|                   |- c -|      each end adds the time since its own beginning,
 *                                                                     or since the end before it, whichever is later
 *   windows       |----- 2 reads ----|                   |1 read|     until nothing is outstanding, or twice as many
 *                                                                     ended as were ever outstanding in it
 * </pre>
 *
 * <p>The parts of a window add up to the time in which something was outstanding, whether the engine serves reads one after the other or in
 * turn: no moment is counted twice, so waiting adds nothing. A window that ends while reads are half served is wrong by as many at each
 * of its ends, hence by half at most. Where the way itself has a delay, and reads are outstanding side by side, the time of one is the
 * delay divided by them: which is what one more costs.
 *
 * <p>Reads of other peers share the poller, and perhaps the wire: then a read took between the whole and its share (the number of peers that
 * were busy) of the time, and what is known is changed only where it lies outside that. A read that ran out of time took at least so long.
 * One that ended otherwise tells nothing, and the window begins anew.
 */
public final class PathMeter {
    /** Bytes of the largest read of each class but the last one. */
    private static final long[] CLASSES = {16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20,
            Long.MAX_VALUE};
    private static final int ENDS_PER_READ = 2;

    private final String engine;
    /** Ways of this node with reads outstanding. */
    private final AtomicInteger busyPaths;
    private final AtomicInteger outstanding = new AtomicInteger();
    private final AtomicReferenceArray<@Nullable Estimate> estimates = new AtomicReferenceArray<>(CLASSES.length);

    /** Whoever has it writes what follows. Two ends at one moment: the second one is left out. */
    private final AtomicBoolean taken = new AtomicBoolean();
    private long lastEndNs = Long.MIN_VALUE;
    private long busyNs;
    private long bytes;
    private long reads;
    private int peak;
    private boolean late;
    /** Also written where reads begin: a maximum that now and then misses one is a measurement in doubt. */
    private volatile int sharers = 1;

    PathMeter(String engine, AtomicInteger busyPaths) {
        this.engine = engine;
        this.busyPaths = busyPaths;
    }

    String engine() {
        return engine;
    }

    /** Reads outstanding. */
    int load() {
        return outstanding.get();
    }

    /** A read is given to the engine. */
    public void begin() {
        int busy = outstanding.getAndIncrement() == 0 ? busyPaths.incrementAndGet() : busyPaths.get();
        if (busy > sharers) {
            sharers = busy;
        }
    }

    /**
     * A read was served.
     *
     * @param beganNs when it was given to the engine, on the node's clock
     * @param length its bytes
     * @param nowNs on the node's clock
     */
    public void served(long beganNs, long length, long nowNs) {
        end(beganNs, length, nowNs, false);
    }

    /**
     * A read ran out of time.
     *
     * @param beganNs when it was given to the engine, on the node's clock
     * @param length its bytes
     * @param nowNs on the node's clock
     */
    public void timedOut(long beganNs, long length, long nowNs) {
        end(beganNs, length, nowNs, true);
    }

    /**
     * A read ended in a way that tells nothing of the path.
     *
     * @param nowNs on the node's clock
     */
    public void dropped(long nowNs) {
        int busy = busyPaths.get();
        int left = ended();
        if (taken.compareAndSet(false, true)) {
            lastEndNs = nowNs;
            newWindow(left, busy);
            taken.set(false);
        }
    }

    private int ended() {
        int left = outstanding.decrementAndGet();
        if (left == 0) {
            busyPaths.decrementAndGet();
        }
        return left;
    }

    private void end(long beganNs, long length, long nowNs, boolean isLate) {
        int busy = busyPaths.get();
        int left = ended();
        if (!taken.compareAndSet(false, true)) {
            return;
        }
        busyNs += nowNs - (lastEndNs == Long.MIN_VALUE || beganNs - lastEndNs > 0 ? beganNs : lastEndNs);
        lastEndNs = nowNs;
        bytes += length;
        reads++;
        late |= isLate;
        peak = Math.max(peak, left + 1);
        sharers = Math.max(sharers, busy);
        if (left == 0 || reads >= (long) ENDS_PER_READ * peak) {
            long readNs = Math.max(1, busyNs / reads);
            estimate(bytes / reads).add(readNs / sharers, late ? Long.MAX_VALUE : readNs, bytes / reads, reads, nowNs);
            newWindow(left, busy);
        }
        taken.set(false);
    }

    private void newWindow(int left, int busy) {
        busyNs = 0;
        bytes = 0;
        reads = 0;
        late = false;
        peak = left;
        sharers = left == 0 ? 1 : busy;
    }

    private Estimate estimate(long length) {
        int at = classOf(length);
        Estimate there = estimates.get(at);
        if (there == null) {
            there = new Estimate();
            estimates.set(at, there);
        }
        return there;
    }

    /**
     * A figure of what was measured elsewhere.
     *
     * @param path its name
     * @param bytes that were copied
     * @param ns what that took
     * @return in the class of that size
     */
    public static Figure figure(String path, long bytes, long ns) {
        return new Figure(path, CLASSES[classOf(bytes)], ns, bytes);
    }

    private static int classOf(long length) {
        int at = 0;
        while (length > CLASSES[at]) {
            at++;
        }
        return at;
    }

    /** What is known of reads of a size; 0 = nothing. */
    long readNs(long length) {
        Estimate there = estimates.get(classOf(length));
        return there == null ? 0 : there.readNs();
    }

    boolean isDue(long length, long nowNs) {
        Estimate there = estimates.get(classOf(length));
        return outstanding.get() == 0 && (there == null || there.isDue(nowNs));
    }

    void addFigures(List<Figure> figures) {
        for (int i = 0; i < CLASSES.length; i++) {
            Estimate there = estimates.get(i);
            if (there != null && there.readNs() > 0) {
                figures.add(new Figure(engine, CLASSES[i], there.readNs(), there.readBytes()));
            }
        }
    }
}
