package io.mooncake.bench.cli;

import java.io.PrintWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * What the processes of a cluster say of each other, judged by what was done to them: who may lose whom is excused beforehand, and whatever
 * else goes wrong is a violation. Any thread.
 */
final class ClusterWatch {
    private static final int TOLD = 20;

    /**
     * Who reads from whom.
     *
     * @param reader its number
     * @param peer its number
     */
    record Pair(int reader, int peer) {}

    /** Something that a process saw of another. */
    private record Seen(long ns, String what, Pair pair) {}

    private final PrintWriter err;
    private final Set<Pair> up = new HashSet<>();
    private final Set<Pair> excused = new HashSet<>();
    private final Set<Integer> frozen = new HashSet<>();
    private final Set<Integer> ready = new HashSet<>();
    private final Set<Integer> ended = new HashSet<>();
    private final List<Seen> seen = new ArrayList<>();
    private final List<String> violations = new ArrayList<>();
    private long reads;
    private long bytes;
    private long writes;

    /**
     * Nothing seen yet.
     *
     * @param err where violations are told
     */
    ClusterWatch(PrintWriter err) {
        this.err = err;
    }

    // ---- what processes say

    /**
     * A process printed a line, as {@link ClusterPeer} describes them.
     *
     * @param by its number
     * @param line without its end
     */
    synchronized void onLine(int by, String line) {
        String[] words = line.split(" ", 5);
        switch (words[0]) {
            case "ready" -> ready.add(by);
            case "did" -> {
                reads += Long.parseLong(words[1]);
                bytes += Long.parseLong(words[2]);
                writes += Long.parseLong(words[3]);
            }
            case "event" -> onEvent(by, words, line);
            case "up" -> {
                Pair pair = pair(by, words[2]);
                up.add(pair);
                seen.add(new Seen(Long.parseLong(words[1]), words[0], pair));
            }
            case "lost" -> {
                Pair pair = pair(by, words[2]);
                up.remove(pair);
                seen.add(new Seen(Long.parseLong(words[1]), words[0], pair));
                if (!excused.contains(pair)) {
                    violation(ClusterPeer.name(by) + ": blocks of " + ClusterPeer.name(pair.peer)
                            + ", to which nothing was done, became unavailable: " + line);
                }
            }
            case "late" -> {
                if (!frozen.contains(by)) {
                    violation(ClusterPeer.name(by) + ": a transfer did not end in time: " + line);
                }
            }
            default -> violation(ClusterPeer.name(by) + ": " + line);
        }
        notifyAll();
    }

    private void onEvent(int by, String[] words, String line) {
        Pair pair = pair(by, words[3]);
        seen.add(new Seen(Long.parseLong(words[1]), words[2], pair));
        if (!words[2].equals("JOINED") && !excused.contains(pair)) {
            violation(ClusterPeer.name(by) + ": a false suspicion: " + line);
        }
    }

    private static Pair pair(int by, String peer) {
        return new Pair(by, Integer.parseInt(peer));
    }

    /**
     * A process closed its output.
     *
     * @param by its number
     */
    synchronized void onEnd(int by) {
        ended.add(by);
        ready.remove(by);
        up.removeIf(pair -> pair.reader == by);
        notifyAll();
    }

    // ---- what is done to them

    /** From now on these may lose each other. */
    synchronized void excuse(Collection<Pair> pairs) {
        excused.addAll(pairs);
    }

    /** From now on nobody may lose anybody. */
    synchronized void excuseNobody() {
        excused.clear();
        frozen.clear();
        seen.clear();
    }

    /** A process stands still, so that its own clock's deadlines pass without it. */
    synchronized void frozen(int process) {
        frozen.add(process);
    }

    /** A process is started: what its earlier life said is over. */
    synchronized void started(int process) {
        ended.remove(process);
    }

    /** Something is not as it must be. */
    synchronized void violation(String what) {
        violations.add(what);
        if (violations.size() <= TOLD) {
            err.println("VIOLATION: " + what);
            err.flush();
        }
    }

    // ---- what came of it

    /**
     * Waits until something is so.
     *
     * @param condition asked whenever a process has said something, holding this
     * @param limit at most
     * @return whether it became so
     */
    synchronized boolean await(BooleanSupplier condition, Duration limit) {
        long deadlineNs = System.nanoTime() + limit.toNanos();
        while (!condition.getAsBoolean()) {
            long leftNs = deadlineNs - System.nanoTime();
            if (leftNs <= 0) {
                return false;
            }
            try {
                TimeUnit.NANOSECONDS.timedWait(this, leftNs);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return false;
            }
        }
        return true;
    }

    synchronized boolean isReady(int process) {
        return ready.contains(process);
    }

    synchronized boolean hasEnded(int process) {
        return ended.contains(process);
    }

    synchronized boolean areUp(Collection<Pair> pairs) {
        return up.containsAll(pairs);
    }

    /** When one of these was first said of a pair since a time. */
    synchronized OptionalLong firstNs(Pair pair, Set<String> what, long sinceNs) {
        return seen.stream()
                .filter(one -> one.pair.equals(pair) && what.contains(one.what) && one.ns - sinceNs >= 0)
                .mapToLong(one -> one.ns)
                .min();
    }

    synchronized List<String> violations() {
        return List.copyOf(violations);
    }

    synchronized long reads() {
        return reads;
    }

    synchronized long bytes() {
        return bytes;
    }

    synchronized long writes() {
        return writes;
    }
}
