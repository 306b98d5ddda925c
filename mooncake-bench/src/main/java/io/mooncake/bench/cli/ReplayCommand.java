package io.mooncake.bench.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Replays a request trace on embedded nodes, and verifies every byte that is read. */
@Command(name = "replay", mixinStandardHelpOptions = true, versionProvider = Main.Version.class, sortOptions = false, description = {
        "Replays a request trace on embedded nodes, in this process or in one each, that read each other by shared"
                + " memory, where /dev/shm has room for their pools, else by TCP over loopback.",
        "Each request goes to the next node, reads the longest prefix that is cached anywhere in the cluster,"
                + " and writes the rest; every byte read is verified.",
        "Exit code 0: all bytes were right; 1: the run failed, for example since a process of a node ended; 2: bad input."})
final class ReplayCommand implements Callable<Integer> {
    private static final int GENERATED_REQUESTS = 6_000;
    private static final int DEFAULT_NODES = 4;

    @Spec
    @SuppressWarnings("NullAway.Init") // by picocli
    private CommandSpec spec;

    @Option(names = "--trace", paramLabel = "FILE", description = "JSON lines with timestamp, input_length, output_length, hash_ids. Default: a generated trace.")
    private @Nullable Path trace;

    @Option(names = "--requests", paramLabel = "N", description = "Requests at most of a file (default: all), or to be generated (default: "
            + GENERATED_REQUESTS + ").")
    private @Nullable Integer requests;

    @Option(names = "--max-blocks", paramLabel = "N", defaultValue = "64", description = "Most blocks of a generated request (default: ${DEFAULT-VALUE}).")
    private int maxBlocks;

    @Option(names = "--seed", paramLabel = "N", defaultValue = "1", description = "What a generated trace is made of (default: ${DEFAULT-VALUE}).")
    private long seed;

    @Option(names = "--save-trace", paramLabel = "FILE", description = "Also writes the trace to a file.")
    private @Nullable Path saveTrace;

    @Option(names = "--nodes", paramLabel = "N", description = "Embedded nodes in this process (default: "
            + DEFAULT_NODES + ").")
    private @Nullable Integer nodes;

    @Option(names = "--processes", paramLabel = "N", description = "Instead: nodes in a process each, joined by JGroups over loopback.")
    private @Nullable Integer processes;

    @Option(names = "--outstanding", paramLabel = "N", defaultValue = "1", description = "With --processes: requests that are served at a time (default: ${DEFAULT-VALUE}).")
    private int outstanding;

    @Option(names = "--capacity", paramLabel = "BLOCKS", defaultValue = "10000", description = "Blocks that each node caches (default: ${DEFAULT-VALUE}).")
    private int capacity;

    @Option(names = "--block-size", paramLabel = "SIZE", defaultValue = "64KiB", converter = SizeConverter.class, description = "Bytes of a block, such as 64KiB, 64MiB, 1GiB (default: ${DEFAULT-VALUE}).")
    private long blockSize;

    @Option(names = "--policy", paramLabel = "NAME", defaultValue = "adaptive", description = "Eviction policy: adaptive, lru or s3fifo (default: ${DEFAULT-VALUE}).")
    private String policy = "";

    @Option(names = "--lookahead", paramLabel = "W", defaultValue = "0", description = "The nodes are told the blocks of the next W requests (default: ${DEFAULT-VALUE}).")
    private int lookAhead;

    @Option(names = "--hints", description = "The nodes are told when each block is used next, if ever, in the whole trace.")
    private boolean hints;

    @Option(names = "--vram", paramLabel = "KIND", description = "With --tiers: each node has a tier above its host memory, too, in which requests want their blocks: cuda = on GPUs, dram = host memory that stands in for one.")
    private ReplayVram.@Nullable Kind vram;

    @Option(names = "--vram-capacity", paramLabel = "BLOCKS", description = "With --vram: blocks that each node keeps there (default: a quarter of --capacity, at least 2).")
    private @Nullable Integer vramCapacity;

    @Option(names = "--tiers", description = "Each node has a file, too: what its memory has no room for goes there, is read from there, and is back after a restart.")
    private boolean tiers;

    @Option(names = "--file-capacity", paramLabel = "BLOCKS", description = "With --tiers: blocks that each node's file keeps (default: four times --capacity).")
    private @Nullable Integer fileCapacity;

    @Option(names = "--directory", paramLabel = "DIR", description = "With --tiers: empty; where the files are (default: a new one among the system's temporary files, deleted afterwards).")
    private @Nullable Path directory;

    @Option(names = "--restart", description = "With --tiers, --processes and several --passes: all processes are killed after each pass but the last, as kill -9 does, and started again.")
    private boolean restart;

    @Option(names = "--speed", paramLabel = "FACTOR", defaultValue = "0", description = "How many times faster than the trace's clock; 0 = as fast as possible (default: ${DEFAULT-VALUE}).")
    private double speed;

    @Option(names = "--passes", paramLabel = "N", defaultValue = "1", description = "How often the trace is replayed, on nodes that stay as they are (default: ${DEFAULT-VALUE}).")
    private int passes;

    @Option(names = "--json", paramLabel = "FILE", description = "Also writes the results as JSON.")
    private @Nullable Path json;

    @Override
    public Integer call() throws IOException {
        checkTiers();
        try (ScratchDirectory files = tiers ? ScratchDirectory.of(directory, "mooncake-replay") : null) {
            return call(files == null
                    ? null
                    : new ReplayTiers(fileBlocks(), files.path(), vram(), restart));
        }
    }

    private int fileBlocks() {
        return fileCapacity != null ? fileCapacity : (int) Math.min(4L * capacity, ReplayOptions.MAX_CAPACITY);
    }

    private @Nullable ReplayVram vram() {
        return vram == null
                ? null
                : new ReplayVram(vram, vramCapacity != null ? vramCapacity : Math.max(2, capacity / 4));
    }

    private void checkTiers() {
        if (!tiers && (fileCapacity != null || directory != null || restart || vram != null)) {
            throw new BadInputException("--file-capacity, --directory, --vram and --restart are for --tiers: add it");
        }
        if (vramCapacity != null) {
            if (vram == null) {
                throw new BadInputException("--vram-capacity = " + vramCapacity + " is for --vram: add it");
            }
            ReplayOptions.within("--vram-capacity", vramCapacity, 1, ReplayOptions.MAX_CAPACITY);
        }
        if (restart && (processes == null || passes < 2)) {
            throw new BadInputException("--restart is for --processes and at least --passes 2: name both");
        }
        ReplayOptions.within("--capacity", capacity, 1, ReplayOptions.MAX_CAPACITY);
        if (fileCapacity != null) {
            ReplayOptions.within("--file-capacity", fileCapacity, 1, ReplayOptions.MAX_CAPACITY);
        }
    }

    private int call(@Nullable ReplayTiers files) throws IOException {
        ReplayOptions options = new ReplayOptions(nodes(), capacity, blockSize, policy, speed, passes,
                hints ? ReplayOptions.ALL : lookAhead, files);
        ReplayOptions.within("--max-blocks", maxBlocks, 1, 1 << 20);
        if (requests != null) {
            ReplayOptions.within("--requests", requests, 1, Integer.MAX_VALUE);
        }
        Json.checkWritable(json);
        Json.checkWritable("--save-trace", saveTrace);
        distinct("--json", json, "--trace", trace);
        distinct("--json", json, "--save-trace", saveTrace);
        distinct("--save-trace", saveTrace, "--trace", trace);
        options.checkMemory(FreeMemory.read(Path.of("/")));
        Trace requested = load();
        if (saveTrace != null) {
            requested.write(saveTrace);
        }
        return replay(options, requested);
    }

    private int nodes() {
        if (processes == null) {
            if (outstanding != 1) {
                throw new BadInputException("--outstanding = " + outstanding + " is for --processes: in one process"
                        + " requests are served one after the other");
            }
            return nodes == null ? DEFAULT_NODES : nodes;
        }
        if (nodes != null) {
            throw new BadInputException("--nodes = " + nodes + " and --processes = " + processes
                    + " exclude each other: name one of them");
        }
        if (hints || lookAhead != 0) {
            throw new BadInputException("--lookahead and --hints are for --nodes: processes are not told what comes");
        }
        ReplayOptions.within("--processes", processes, 1, ReplayOptions.MAX_NODES);
        ReplayOptions.within("--outstanding", outstanding, 1, processes);
        return processes;
    }

    private static void distinct(String option, @Nullable Path file, String other, @Nullable Path otherFile) {
        if (file != null && otherFile != null
                && file.toAbsolutePath().normalize().equals(otherFile.toAbsolutePath().normalize())) {
            throw new BadInputException(
                    option + " = " + file + " is the file of " + other + " too, which would be lost: name another one");
        }
    }

    private Trace load() {
        if (trace != null) {
            return TraceReader.read(trace, requests == null ? Long.MAX_VALUE : requests);
        }
        return TraceGenerator.generate(seed, requests == null ? GENERATED_REQUESTS : requests, maxBlocks);
    }

    private int replay(ReplayOptions options, Trace requested) throws IOException {
        PrintWriter err = spec.commandLine().getErr();
        PrintWriter out = spec.commandLine().getOut();
        ReplayStats stats = new ReplayStats(err);
        try (Replay run = processes == null
                ? new ReplayRun(options, stats)
                : new ReplayProcesses(options, outstanding, stats)) {
            MemoryUse before = run.memory();
            Pace pace = new Pace(options.speed(), System::nanoTime, LockSupport::parkNanos);
            Progress progress = new Progress(err, Progress.onTerminal(), System::nanoTime,
                    (long) options.passes() * requested.requests().size(), "requests");
            for (int pass = 0; pass < options.passes(); pass++) {
                long start = System.nanoTime();
                run.pass(requested, pace, progress);
                stats.passEnded(System.nanoTime() - start, run.memory());
                if (restart && pass + 1 < options.passes()) {
                    restart(run, progress, err);
                }
            }
            progress.clear();
            ReplayReport report = new ReplayReport(run.nodes(), options, stats, before, source());
            if (processes != null) {
                out.printf(
                        "%d processes joined by JGroups, %d request(s) at a time, %d block(s) gone before they were read%n",
                        processes, outstanding, stats.gone());
            }
            report.print(out);
            if (json != null) {
                Json.write(json, report.toMap());
            }
        }
        return stats.verificationErrors() + stats.failures() == 0 ? Main.OK : Main.FAILED;
    }

    /** Files are read and proven whole before a block of theirs is found: that takes its time, in which nothing else is said. */
    private static void restart(Replay run, Progress progress, PrintWriter err) throws IOException {
        progress.clear();
        long start = System.nanoTime();
        long recovered = run.restart();
        err.printf(Locale.ROOT, "killed all processes and started them again in %.1f s: %,d blocks were in their files%n",
                (System.nanoTime() - start) / 1e9, recovered);
        err.flush();
    }

    private Map<String, Object> source() {
        Map<String, Object> source = new LinkedHashMap<>();
        source.put("processes", processes);
        source.put("outstanding", outstanding);
        source.put("trace", trace == null ? null : trace.toString());
        if (trace == null) {
            source.put("seed", seed);
            source.put("maxBlocks", maxBlocks);
        }
        return source;
    }
}
