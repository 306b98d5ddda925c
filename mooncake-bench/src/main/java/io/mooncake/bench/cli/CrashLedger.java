package io.mooncake.bench.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * What must be in a directory after a process was killed, by what that process had said until then. One thread.
 *
 * <p>A block that was said to be durable, and that nobody began to write again or to evict, must be back as it was. Of one that was being
 * written or evicted nothing is promised but that what is back is a writing that was begun, and none older than the last durable one.
 */
final class CrashLedger {
    private final Map<Integer, Promise> promises = new TreeMap<>();
    private final List<String> faults = new ArrayList<>();
    private long acknowledged;
    private long verified;
    private long unfinished;

    private static final class Promise {
        /** Writings that may be back. */
        final SortedSet<Long> possible = new TreeSet<>();
        boolean mayBeGone = true;
        boolean unfinished;
    }

    /** A writing of a block is about to begin. */
    void begins(int block, long writing) {
        Promise promise = promises.computeIfAbsent(block, _ -> new Promise());
        promise.possible.add(writing);
        promise.mayBeGone = true;
        promise.unfinished = true;
    }

    /** That writing is durable. */
    void durable(int block, long writing) {
        acknowledged++;
        is(block, writing);
    }

    private void is(int block, long writing) {
        Promise promise = promises.computeIfAbsent(block, _ -> new Promise());
        promise.possible.clear();
        promise.possible.add(writing);
        promise.mayBeGone = false;
        promise.unfinished = false;
    }

    /** A block is about to be evicted. */
    void evicts(int block) {
        promises.computeIfAbsent(block, _ -> new Promise()).mayBeGone = true;
    }

    /** The process is dead: how many blocks it was writing is counted. */
    void killed() {
        for (Promise promise : promises.values()) {
            unfinished += promise.unfinished ? 1 : 0;
            promise.unfinished = false;
        }
    }

    /** A block was reported present, and a byte of it is wrong. */
    void wrong(int block, String what) {
        faults.add("block " + block + " is half-written: " + what);
    }

    /**
     * Compares what is back, each block verified to the byte, with what was promised; from then on that is promised.
     *
     * @param back the writing of each block that is there
     */
    void judge(Map<Integer, Long> back) {
        back.forEach((block, writing) -> {
            Promise promise = promises.get(block);
            if (promise == null || !promise.possible.contains(writing)) {
                faults.add("block " + block + " is back as writing " + writing + ", not one of "
                        + (promise == null ? "none" : promise.possible));
            }
            verified++;
            is(block, writing);
        });
        promises.forEach((block, promise) -> {
            if (!back.containsKey(block)) {
                if (!promise.mayBeGone) {
                    faults.add(
                            "block " + block + " was durable as writing " + promise.possible.first() + " and is gone");
                }
                promise.possible.clear();
                promise.mayBeGone = true;
            }
        });
    }

    /** Blocks that were said to be durable. */
    long acknowledged() {
        return acknowledged;
    }

    /** Blocks that were back and right, over all restarts. */
    long verified() {
        return verified;
    }

    /** Blocks that were being written when a process was killed. */
    long unfinished() {
        return unfinished;
    }

    /** Broken promises, in words. */
    List<String> faults() {
        return List.copyOf(faults);
    }
}
