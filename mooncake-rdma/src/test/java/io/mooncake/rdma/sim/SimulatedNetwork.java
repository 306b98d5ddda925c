package io.mooncake.rdma.sim;

import io.mooncake.testing.VirtualTime;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What connects the devices of some hosts. One thread. */
public final class SimulatedNetwork {
    private static final int FIRST_QUEUE_PAIR = 17;

    private final VirtualTime time;
    private final Random random;
    private final Map<Integer, SimulatedQueuePair> queuePairs = new HashMap<>();
    private final Set<Integer> numbersUsed = new HashSet<>();
    private final Set<String> cuts = new HashSet<>();
    private SimulatedTiming timing = SimulatedTiming.defaults();
    private int lastQueuePair = FIRST_QUEUE_PAIR;
    private int lastKey;
    private long nsPerMib;
    private long freeNs;

    /** An empty network. */
    public SimulatedNetwork(VirtualTime time, long seed) {
        this.time = time;
        random = new Random(seed);
    }

    /** What a host's library shows; no devices yet. */
    public SimulatedProvider host(String name) {
        return new SimulatedProvider(this, name);
    }

    /** How it behaves from now on. */
    public void timing(SimulatedTiming newTiming) {
        timing = newTiming;
    }

    /** From now on READs fetch their bytes one after the other, each MiB in so much time; 0: all at once, as at first. */
    public void pace(long newNsPerMib) {
        nsPerMib = newNsPerMib;
    }

    /** Begins a request when what is before it on the wire is through. */
    void inTurn(long bytes, Runnable begin) {
        if (nsPerMib == 0) {
            begin.run();
            return;
        }
        freeNs = Math.max(freeNs, time.nowNs()) + bytes * nsPerMib / (1 << 20);
        time.after(freeNs - time.nowNs(), begin);
    }

    /** Cuts two hosts off from each other: packets are lost, and nobody is told. */
    public void cut(String one, String other) {
        cuts.add(pair(one, other));
    }

    /** Ends {@link #cut}. */
    public void heal(String one, String other) {
        cuts.remove(pair(one, other));
    }

    /** Whether two hosts do not reach each other. */
    public boolean isCut(String one, String other) {
        return cuts.contains(pair(one, other));
    }

    private static String pair(String one, String other) {
        return one.compareTo(other) < 0 ? one + " " + other : other + " " + one;
    }

    VirtualTime time() {
        return time;
    }

    SimulatedTiming timing() {
        return timing;
    }

    long upTo(long most) {
        return most <= 0 ? 0 : random.nextLong(most + 1);
    }

    int below(int bound) {
        return random.nextInt(bound);
    }

    int newKey() {
        // Spread, so that no key is another one's by chance of counting.
        return (++lastKey << 8) | random.nextInt(256);
    }

    void add(SimulatedQueuePair queuePair) {
        queuePairs.put(queuePair.number(), queuePair);
    }

    List<SimulatedQueuePair> queuePairsOf(SimulatedDevice device) {
        return queuePairs.values()
                .stream()
                .filter(queuePair -> queuePair.domain.context.device.equals(device))
                .toList();
    }

    int newQueuePairNumber() {
        lastQueuePair += 1 + random.nextInt(3);
        if (!numbersUsed.add(lastQueuePair)) {
            throw new AssertionError("queue pair number " + lastQueuePair + " is given out twice");
        }
        return lastQueuePair;
    }

    void remove(SimulatedQueuePair queuePair) {
        queuePairs.remove(queuePair.number());
    }

    @Nullable
    SimulatedQueuePair find(int number) {
        return queuePairs.get(number);
    }
}
