package io.mooncake.bench.cli;

import io.mooncake.bench.cli.Trace.Request;
import io.mooncake.core.base.Counter;
import io.mooncake.core.pool.BlockPool;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Replays on nodes that are a process each, joined by JGroups over loopback: the requests one after the other, each on the next node, so many
 * at a time. A node begins a request when it knows what all requests changed that were served before that one was handed out; with one at a
 * time the cluster is then as if it were in one process. One thread.
 */
final class ReplayProcesses implements Replay {
    private static final Duration LIMIT = Duration.ofMinutes(5);
    /** This is no test of liveness: on a host with fewer cores than processes heartbeats may be late. */
    private static final List<String> PATIENT = List.of("cluster.heartbeat=1s", "cluster.heartbeatMisses=20");

    private final ReplayOptions options;
    private final int outstanding;
    private final ReplayStats stats;
    private final Versions versions;
    private final List<Seat> seats = new ArrayList<>();
    /** What those said that were killed. */
    private final List<NodeReport> past = new ArrayList<>();
    private int lives;

    /** A process and what it said last. */
    private static final class Seat {
        final String name;
        final Child child;
        String life = "";
        long changes;

        Seat(String name, Child child) {
            this.name = name;
            this.child = child;
        }
    }

    /** A request that is being served. */
    private record Going(Seat seat, int number, Request request) {}

    /**
     * Starts the processes.
     *
     * @param options how many nodes and how large
     * @param outstanding requests at a time, at most as many as nodes
     * @param stats counts and measures
     * @throws IOException when one of them could not
     */
    ReplayProcesses(ReplayOptions options, int outstanding, ReplayStats stats) throws IOException {
        this.options = options;
        this.outstanding = outstanding;
        this.stats = stats;
        versions = new Versions(stats);
        try {
            long _ = startAll();
        } catch (IOException | RuntimeException | Error e) {
            close();
            throw e;
        }
    }

    /** Blocks that they had in their files. */
    private long startAll() throws IOException {
        // The first one's port is known before it starts, so that it waits for nobody else.
        String first = "127.0.0.1:" + OneHost.freePorts(1).getFirst();
        start(first, first);
        String there = hello(seats.getFirst());
        // One after the other, so that they do not begin as several clusters.
        for (int i = 1; i < options.nodes(); i++) {
            start(there, "127.0.0.1:0");
            hello(seats.get(i));
        }
        long recovered = 0;
        for (Seat seat : seats) {
            say(seat, "meet " + options.nodes());
            // What it has from before is known to itself by now.
            List<String> met = expect(seat, "met");
            seat.changes = Long.parseLong(met.get(1));
            recovered += Long.parseLong(met.get(2));
        }
        lives++;
        return recovered;
    }

    @Override
    public long restart() throws IOException {
        past.addAll(report());
        stats.mark();
        for (Seat seat : seats) {
            seat.child.kill();
            seat.child.waitFor(LIMIT);
        }
        close();
        seats.clear();
        return startAll();
    }

    private void start(String discovery, String bind) {
        int index = seats.size();
        List<String> args = new ArrayList<>(List.of(Integer.toString(index), Integer.toString(options.nodes()),
                Integer.toString(outstanding), Integer.toString(lives), "block.size=" + options.blockSize(),
                "pool.size=" + options.poolBytes(), "pool.spareSlots=" + options.spareSlots(),
                "eviction.policy=" + options.policy(), "cluster.discovery=" + discovery, "cluster.bind=" + bind));
        args.addAll(options.tierSettings(index));
        args.addAll(PATIENT);
        List<String> flags = new ArrayList<>(Child.QUIET);
        flags.addAll(options.tiers() == null ? List.of() : options.tiers().jvmFlags());
        seats.add(new Seat("node-" + index, Child.start(flags, ReplayProcess.class, args)));
    }

    /** Where others find it. */
    private String hello(Seat seat) throws IOException {
        List<String> words = expect(seat, "node");
        seat.life = words.get(1);
        return words.get(2);
    }

    private List<String> expect(Seat seat, String what) throws IOException {
        List<String> words = words(seat);
        if (!words.getFirst().equals(what)) {
            throw new IOException(seat.name + " said '" + String.join(" ", words) + "' instead of " + what);
        }
        return words;
    }

    private static void say(Seat seat, String line) throws IOException {
        try {
            seat.child.writeLine(line);
        } catch (UncheckedIOException e) {
            throw ended(seat, e);
        }
    }

    private static List<String> words(Seat seat) throws IOException {
        String line = seat.child.readLine(LIMIT);
        if (line == null) {
            throw ended(seat, null);
        }
        return List.of(line.split(" ", -1));
    }

    private static IOException ended(Seat seat, @Nullable Exception cause) {
        return new IOException("the process of " + seat.name + " ended before the replay did, with code "
                + seat.child.waitFor(LIMIT) + " (137 = killed); see its error above, and begin anew", cause);
    }

    /** The processes, in the order of routing. */
    List<Child> processes() {
        return seats.stream().map(seat -> seat.child).toList();
    }

    @Override
    public void pass(Trace trace, Pace pace, Progress progress) throws IOException {
        pace.start();
        ArrayDeque<Going> going = new ArrayDeque<>();
        List<Request> requests = trace.requests();
        for (int number = 0; number < requests.size(); number++) {
            Request request = requests.get(number);
            pace.await(request.timestampMs());
            if (going.size() == outstanding) {
                end(going.remove());
                progress.update(stats.requests().count(), stats::progress);
            }
            Seat seat = seats.get(number % seats.size());
            tell(seat, number, request);
            going.add(new Going(seat, number, request));
        }
        while (!going.isEmpty()) {
            end(going.remove());
        }
        versions.settle();
    }

    private void tell(Seat seat, int number, Request request) throws IOException {
        StringBuilder line = new StringBuilder("serve ").append(AccessPath.ofLocal(number / seats.size())).append(' ');
        for (int i = 0; i < request.blocks(); i++) {
            line.append(i == 0 ? "" : ",").append(request.hashId(i));
        }
        for (Seat other : seats) {
            if (other != seat && other.changes > 0) {
                line.append(' ').append(other.life).append('=').append(other.changes);
            }
        }
        say(seat, line.toString());
    }

    private void end(Going going) throws IOException {
        List<String> words = expect(going.seat, "served");
        int run = Integer.parseInt(words.get(1));
        int blocks = going.request.blocks();
        stats.request(Long.parseLong(words.get(2)), blocks, run, blocks * options.blockSize());
        going.seat.changes = Long.parseLong(words.get(3));
        for (String word : words.subList(4, words.size())) {
            if (!word.isEmpty()) {
                Testimony.judge(word, going.seat.name, versions);
            }
        }
    }

    @Override
    public MemoryUse memory() throws IOException {
        MemoryUse all = null;
        for (Seat seat : seats) {
            say(seat, "memory");
            long[] use = expect(seat, "memory").stream().skip(1).mapToLong(Long::parseLong).toArray();
            MemoryUse one = new MemoryUse(use[0], use[1], use[2], use[3]);
            all = all == null ? one : all.plus(one);
        }
        if (all == null) {
            throw new AssertionError("no process");
        }
        return all;
    }

    @Override
    public List<NodeReport> nodes() throws IOException {
        List<NodeReport> now = report();
        stats.mark();
        List<NodeReport> all = new ArrayList<>();
        for (NodeReport report : now) {
            NodeReport sum = report;
            for (NodeReport earlier : past) {
                sum = earlier.name().equals(report.name()) ? sum.after(earlier) : sum;
            }
            all.add(sum);
        }
        return all;
    }

    private List<NodeReport> report() throws IOException {
        List<NodeReport> reports = new ArrayList<>();
        for (Seat seat : seats) {
            say(seat, "report");
            reports.add(report(seat));
        }
        return reports;
    }

    private NodeReport report(Seat seat) throws IOException {
        BlockPool.@Nullable Usage usage = null;
        Set<String> engines = new TreeSet<>();
        Map<Counter, Long> counters = new EnumMap<>(Counter.class);
        for (List<String> words = words(seat); !words.getFirst().equals("end"); words = words(seat)) {
            List<String> rest = words.subList(1, words.size());
            switch (words.getFirst()) {
                case "path" -> stats.path(AccessPath.valueOf(rest.getFirst()))
                        .add(Measure.ofWords(rest.subList(1, rest.size())));
                case "writes" -> stats.writes().add(Measure.ofWords(rest));
                case "errors" -> stats.countedElsewhere(Long.parseLong(rest.get(0)), Long.parseLong(rest.get(1)),
                        Long.parseLong(rest.get(2)));
                case "usage" -> usage = new BlockPool.Usage(Integer.parseInt(rest.get(0)),
                        Integer.parseInt(rest.get(1)), Integer.parseInt(rest.get(2)));
                case "engines" -> engines.addAll(rest);
                case "counter" -> counters.put(Counter.valueOf(rest.get(0)), Long.parseLong(rest.get(1)));
                default -> throw new IOException(seat.name + " reported " + words);
            }
        }
        if (usage == null) {
            throw new IOException(seat.name + " reported no usage");
        }
        return new NodeReport(seat.name, usage, counters, engines);
    }

    /** Ends the processes, all at once. */
    @Override
    public void close() {
        seats.forEach(seat -> seat.child.endInput());
        seats.forEach(seat -> seat.child.close());
    }
}
