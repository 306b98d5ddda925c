package io.mooncake.bench.cli;

import com.sun.management.ThreadMXBean;
import io.mooncake.core.ThreadingMode;
import io.mooncake.core.base.ByteSize;
import io.mooncake.core.transfer.Transfer;
import java.io.IOException;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** How one poller is shared among peers. */
@Command(name = "fair", sortOptions = false, mixinStandardHelpOptions = true, versionProvider = Main.Version.class, description = {
        "Measures how peers share one poller: small pulls from one peer, alone and beside many large ones from another;"
                + " then many pulls from many peers. All nodes are in this process, by default on two threads in all: one for"
                + " the pulling node and the one that serves small pulls, one for those that serve large or many.",
        "Exit code 0: measured; 1: a pull failed; 2: bad input."})
final class FairCommand implements Callable<Integer> {
    private static final double MOST_RATIO = 3;
    private static final double MOST_BYTES = 0.5;
    private static final double WARM_UP = 0.3;
    private static final long LONGEST_NS = 60_000_000_000L;

    @Spec
    @SuppressWarnings("NullAway.Init") // by picocli
    private CommandSpec spec;

    @Option(names = "--engine", defaultValue = "tcp", description = "By which the pulling node reaches the others: tcp, shm or rdma (default: ${DEFAULT-VALUE}).")
    private String engine = "";

    @Option(names = "--outstanding", paramLabel = "N", defaultValue = "1000", description = "Large pulls requested from one peer; and pulls outstanding to all (default: ${DEFAULT-VALUE}).")
    private int outstanding;

    @Option(names = "--large", paramLabel = "SIZE", defaultValue = "64MiB", converter = SizeConverter.class, description = "Bytes of a large pull (default: ${DEFAULT-VALUE}).")
    private long large;

    @Option(names = "--small", paramLabel = "SIZE", defaultValue = "4KiB", converter = SizeConverter.class, description = "Bytes of a small pull (default: ${DEFAULT-VALUE}).")
    private long small;

    @Option(names = "--peers", paramLabel = "N", defaultValue = "16", description = "Peers of the many pulls (default: ${DEFAULT-VALUE}).")
    private int peers;

    @Option(names = "--each", paramLabel = "SIZE", defaultValue = "64KiB", converter = SizeConverter.class, description = "Bytes of each of the many pulls (default: ${DEFAULT-VALUE}).")
    private long each;

    @Option(names = "--seconds", defaultValue = "5", description = "Measured a figure, after a third of it as warm-up (default: ${DEFAULT-VALUE}).")
    private double seconds;

    @Mixin
    private NodeOptions nodes = new NodeOptions();

    @Option(names = "--json", paramLabel = "FILE", description = "Writes the figures there too.")
    private @Nullable Path json;

    /** Small pulls that one thread makes one after the other. */
    private record Small(long pulls, double p50Us, double p99Us) {
        Map<String, Object> toMap() {
            Map<String, Object> map = new LinkedHashMap<>();
            map.put("pulls", pulls);
            map.put("p50Us", p50Us);
            map.put("p99Us", p99Us);
            return map;
        }
    }

    @Override
    public Integer call() throws IOException {
        NodeSettings settings = checked();
        PrintWriter out = spec.commandLine().getOut();
        String threading = settings.threading() == ThreadingMode.INVOKER
                ? "invokers on two threads"
                : settings.threadingText();
        out.printf("one poller by %s; %s, idle %s%n", engine, threading, settings.idleText());
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("command", "fair");
        result.put("engine", engine);
        result.putAll(settings.toMap());
        result.put("threading", threading);
        result.put("seconds", seconds);
        try (FairPeers two = new FairPeers(engine, settings, List.of(small), List.of(large))) {
            result.put("beside", beside(two, out));
        }
        try (FairPeers all = new FairPeers(engine, settings, List.of(), Collections.nCopies(peers, each))) {
            result.put("many", many(all, out));
        }
        if (json != null) {
            Json.write(json, result);
        }
        return Main.OK;
    }

    private NodeSettings checked() throws IOException {
        ReplayOptions.within("--outstanding", outstanding, 1, 4000);
        ReplayOptions.within("--peers", peers, 1, 64);
        for (long size : new long[]{large, small, each}) {
            if (size < 1 || size > 1L << 30) {
                throw new BadInputException(
                        "--large, --small or --each = " + ByteSize.format(size) + " must be 1B to 1GiB");
            }
        }
        if (!(seconds > 0 && seconds <= 3600)) {
            throw new BadInputException("--seconds = " + seconds + " must be more than 0 and at most 3600");
        }
        NodeSettings settings = nodes.settings(ThreadingMode.INVOKER).forEngine(engine);
        Json.checkWritable(json);
        FreeMemory.read(Path.of("/")).check(3 * large + 2L * peers * each, "--large, --each or --peers");
        return settings;
    }

    private Map<String, Object> beside(FairPeers two, PrintWriter out) {
        Transfer pull = two.prepare(0);
        measure(two, pull, WARM_UP);
        Small alone = measure(two, pull, 1);
        print(out, alone, "alone", "");
        List<Transfer> heavy = new ArrayList<>();
        for (int i = 0; i < outstanding; i++) {
            heavy.add(two.prepare(1));
        }
        heavy.forEach(Transfer::submit);
        measure(two, pull, WARM_UP);
        long start = System.nanoTime();
        long before = received(heavy);
        Small beside = measure(two, pull, 1);
        long left = heavy.stream().filter(transfer -> !transfer.isDone()).count();
        double gbPerS = (double) (received(heavy) - before) / (System.nanoTime() - start);
        heavy.forEach(Transfer::cancel);
        heavy.forEach(Transfer::joinOrCancel);
        double ratio = beside.p99Us() / alone.p99Us();
        print(out, beside, "beside", String.format(Locale.ROOT, "%d x %s from another peer at %.3f GB/s, %d left",
                outstanding, ByteSize.format(large), gbPerS, left));
        out.printf(Locale.ROOT, "p99 beside / alone: %.2f, limit %.0f: %s%n", ratio, MOST_RATIO,
                left == 0 ? "void, the large pulls ended before" : ratio <= MOST_RATIO ? "met" : "MISSED");
        out.flush();
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("smallBytes", small);
        map.put("largeBytes", large);
        map.put("outstanding", outstanding);
        map.put("alone", alone.toMap());
        map.put("beside", beside.toMap());
        map.put("largeGbPerS", gbPerS);
        map.put("largeLeft", left);
        map.put("p99Ratio", ratio);
        map.put("limit", MOST_RATIO);
        map.put("met", left > 0 && ratio <= MOST_RATIO);
        return map;
    }

    private void print(PrintWriter out, Small figure, String title, String more) {
        out.printf(Locale.ROOT, "%7s %-7s %9d pulls, p50 %9.2f us, p99 %9.2f us  %s%n", ByteSize.format(small), title,
                figure.pulls(), figure.p50Us(), figure.p99Us(), more);
        out.flush();
    }

    private static long received(List<Transfer> transfers) {
        return transfers.stream().mapToLong(Transfer::received).sum();
    }

    private Small measure(FairPeers peers, Transfer pull, double part) {
        Histogram latency = new Histogram(LONGEST_NS, 3);
        long now = System.nanoTime();
        long end = now + (long) (part * seconds * 1e9);
        while (now - end < 0) {
            join(peers, pull.submit());
            long done = System.nanoTime();
            latency.recordValue(Math.min(done - now, LONGEST_NS));
            now = done;
        }
        return new Small(latency.getTotalCount(), latency.getValueAtPercentile(50) / 1e3,
                latency.getValueAtPercentile(99) / 1e3);
    }

    private static void join(FairPeers peers, Transfer pull) {
        if (peers.join(pull) != Transfer.State.COMPLETED) {
            @Nullable
            Throwable cause = pull.cause(0);
            throw new IllegalStateException("a pull ended " + pull + ", its piece " + pull.outcome(0), cause);
        }
    }

    private Map<String, Object> many(FairPeers all, PrintWriter out) {
        Transfer[] pulls = new Transfer[outstanding];
        for (int i = 0; i < pulls.length; i++) {
            pulls[i] = all.prepare(i % peers).submit();
        }
        ThreadMXBean threads = ManagementFactory.getPlatformMXBean(ThreadMXBean.class);
        around(all, pulls, WARM_UP);
        long allocated = threads.getTotalThreadAllocatedBytes();
        long start = System.nanoTime();
        long ended = around(all, pulls, 1);
        double tookS = (System.nanoTime() - start) / 1e9;
        double bytesPerOp = (double) (threads.getTotalThreadAllocatedBytes() - allocated) / ended;
        for (Transfer pull : pulls) {
            join(all, pull);
        }
        out.printf(Locale.ROOT,
                "%d outstanding pulls of %s from %d peers: %d completed, %.0f/s, %.3f GB/s, %.3f B/op, limit < %.1f: %s%n",
                outstanding, ByteSize.format(each), peers, ended, ended / tookS, ended * each / tookS / 1e9,
                bytesPerOp, MOST_BYTES, bytesPerOp < MOST_BYTES ? "met" : "MISSED");
        out.flush();
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("outstanding", outstanding);
        map.put("peers", peers);
        map.put("bytes", each);
        map.put("completed", ended);
        map.put("pullsPerS", ended / tookS);
        map.put("gbPerS", ended * each / tookS / 1e9);
        map.put("bytesPerOp", bytesPerOp);
        map.put("bytesPerOpLimit", MOST_BYTES);
        map.put("met", bytesPerOp < MOST_BYTES);
        return map;
    }

    /** Awaits each in turn and submits it again, for a part of the time, whole rounds only; says how many that were. */
    private long around(FairPeers all, Transfer[] pulls, double part) {
        long end = System.nanoTime() + (long) (part * seconds * 1e9);
        long ended = 0;
        do {
            for (Transfer pull : pulls) {
                join(all, pull);
                pull.submit();
            }
            ended += pulls.length;
        } while (System.nanoTime() - end < 0);
        return ended;
    }
}
