package io.mooncake.bench.cli;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** What a replay has counted and measured so far, over all passes. One thread. */
final class ReplayStats {
    /** Errors that are told one by one; the others are only counted. */
    private static final int TOLD = 5;

    /**
     * One pass that has ended.
     *
     * @param requests served in it
     * @param references block ids of these
     * @param hits of these
     * @param ns how long it took
     * @param bytes read and written in it
     * @param memory what the process uses after it
     */
    record Pass(long requests, long references, long hits, long ns, long bytes, MemoryUse memory) {
        double hitRatio() {
            return ratio(hits, references);
        }
    }

    private final PrintWriter err;
    private final Map<AccessPath, Measure> paths = new EnumMap<>(AccessPath.class);
    private final Measure writes = new Measure();
    private final Measure requests = new Measure();
    private final List<Pass> passes = new ArrayList<>();
    private final List<Map<AccessPath, Long>> told = new ArrayList<>();
    private long references;
    private long hits;
    private long verificationErrors;
    private long failures;
    private long overtaken;

    /**
     * Nothing counted yet.
     *
     * @param err where the first errors are told
     */
    ReplayStats(PrintWriter err) {
        this.err = err;
        for (AccessPath path : AccessPath.values()) {
            paths.put(path, new Measure());
        }
    }

    /** Blocks read by a path. */
    Measure path(AccessPath path) {
        Measure measure = paths.get(path);
        if (measure == null) {
            throw new AssertionError(path);
        }
        return measure;
    }

    /** Blocks written: allocate and commit, without the filling. */
    Measure writes() {
        return writes;
    }

    /** Whole requests, with all filling and verifying. */
    Measure requests() {
        return requests;
    }

    /**
     * A request was served.
     *
     * @param ns how long it took
     * @param blocks its references
     * @param hitBlocks how many of them were read
     * @param bytes read and written
     */
    void request(long ns, long blocks, long hitBlocks, long bytes) {
        requests.record(ns, bytes);
        references += blocks;
        hits += hitBlocks;
    }

    /**
     * Another process counted errors, and told them.
     *
     * @param wrong blocks with a wrong byte
     * @param failed reads and writes that did not end well
     * @param gone blocks that were gone before they were read
     */
    void countedElsewhere(long wrong, long failed, long gone) {
        verificationErrors += wrong;
        failures += failed;
        overtaken += gone;
    }

    /** A block was gone before it was read, since another request was served meanwhile. */
    void overtaken() {
        overtaken++;
    }

    /** A block read had a wrong byte. */
    void verificationError(String what) {
        verificationErrors++;
        tell("verification error", what);
    }

    /** A read or write did not end well. */
    void failure(String what) {
        failures++;
        tell("failure", what);
    }

    private void tell(String kind, String what) {
        long told = verificationErrors + failures;
        if (told <= TOLD) {
            err.println(kind + ": " + what);
        } else if (told == TOLD + 1) {
            err.println("further errors are only counted");
        }
        err.flush();
    }

    /**
     * A pass has ended.
     *
     * @param ns how long it took
     * @param memory what the process uses now
     */
    void passEnded(long ns, MemoryUse memory) {
        long requestsBefore = 0;
        long referencesBefore = 0;
        long hitsBefore = 0;
        long bytesBefore = 0;
        for (Pass pass : passes) {
            requestsBefore += pass.requests;
            referencesBefore += pass.references;
            hitsBefore += pass.hits;
            bytesBefore += pass.bytes;
        }
        passes.add(new Pass(requests.count() - requestsBefore, references - referencesBefore, hits - hitsBefore, ns,
                requests.bytes() - bytesBefore, memory));
    }

    /** All that was read until now has been counted: what is counted from now on is told by itself. */
    void mark() {
        Map<AccessPath, Long> hitsNow = new EnumMap<>(AccessPath.class);
        for (AccessPath path : AccessPath.values()) {
            long before = 0;
            for (Map<AccessPath, Long> earlier : told) {
                before += earlier.getOrDefault(path, 0L);
            }
            hitsNow.put(path, path(path).count() - before);
        }
        told.add(hitsNow);
    }

    /** Blocks that were read from one {@link #mark} to the next, by path. */
    List<Map<AccessPath, Long>> hitsByPath() {
        return List.copyOf(told);
    }

    List<Pass> passes() {
        return passes;
    }

    long references() {
        return references;
    }

    long hits() {
        return hits;
    }

    double hitRatio() {
        return ratio(hits, references);
    }

    long verificationErrors() {
        return verificationErrors;
    }

    long failures() {
        return failures;
    }

    /** Blocks that were known, and gone when they were to be read. */
    long gone() {
        return overtaken;
    }

    /** Nanoseconds of all passes that have ended. */
    long ns() {
        return passes.stream().mapToLong(Pass::ns).sum();
    }

    /** Beside the requests' number, while the replay goes on. */
    String progress(double seconds) {
        return String.format(Locale.ROOT, "%.2f GB/s, hit ratio %.4f%s", requests.bytes() / 1e9 / seconds, hitRatio(),
                verificationErrors == 0 ? "" : ", " + verificationErrors + " VERIFICATION ERRORS");
    }

    private static double ratio(long part, long whole) {
        return whole == 0 ? 0 : (double) part / whole;
    }
}
