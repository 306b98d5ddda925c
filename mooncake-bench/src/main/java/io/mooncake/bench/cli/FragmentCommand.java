package io.mooncake.bench.cli;

import io.mooncake.core.base.ByteSize;
import io.mooncake.core.block.FreeRanges;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Whether an idle window makes one range of what is free in a fragmented pool. */
@Command(name = "fragment", sortOptions = false, mixinStandardHelpOptions = true, versionProvider = Main.Version.class, description = {
        "Writes and evicts blocks of many sizes at random until the largest free range is below half of the free bytes; then leaves"
                + " the node alone, but for threads that read every block there and from another node, and compares every byte.",
        "Exit code 0: the compaction of one idle window made one range of 95 %% of what is free, and no byte was wrong; 1: it did not,"
                + " or one was; 2: bad input."})
final class FragmentCommand implements Callable<Integer> {
    static final double TARGET = 0.95;
    private static final int MAX_TOLD = 10;
    private static final Duration AT_MOST = Duration.ofMinutes(2);

    @Spec
    @SuppressWarnings("NullAway.Init") // by picocli
    private CommandSpec spec;

    @Option(names = "--pool", paramLabel = "SIZE", defaultValue = "256MiB", converter = SizeConverter.class, description = "Bytes of the pool (default: ${DEFAULT-VALUE}).")
    private long pool;

    @Option(names = "--vram", paramLabel = "KIND", description = "The pool is above host memory: cuda = on a GPU, dram = host memory that stands in for one; then all readers are at the node itself (default: the pool is host memory).")
    private ReplayVram.@Nullable Kind vram;

    @Option(names = "--longest", paramLabel = "SIZE", defaultValue = "8MiB", converter = SizeConverter.class, description = "Bytes of the longest block; the shortest has a 64th of them (default: ${DEFAULT-VALUE}).")
    private long longest;

    @Option(names = "--operations", paramLabel = "N", defaultValue = "2000", description = "Writes and evictions at least (default: ${DEFAULT-VALUE}).")
    private int operations;

    @Option(names = "--readers", paramLabel = "N", defaultValue = "1", description = "Threads that read at the node itself, besides the one at the other node (default: ${DEFAULT-VALUE}).")
    private int readers;

    @Option(names = "--seed", paramLabel = "N", defaultValue = "1", description = "Of what is random (default: ${DEFAULT-VALUE}).")
    private long seed;

    @Option(names = "--json", paramLabel = "FILE", description = "Writes the figures there too.")
    private @Nullable Path json;

    @Override
    public Integer call() throws IOException, InterruptedException {
        ReplayOptions.within("--operations", operations, 1, 10_000_000);
        ReplayOptions.within("--readers", readers, 0, 64);
        if (longest < 64 * Content.MIN_BYTES || longest > pool / 8) {
            throw new BadInputException(
                    "--longest = " + ByteSize.format(longest) + " must be at least 4KiB, and at most an 8th of --pool");
        }
        if (vram != null) {
            vram.check();
            ReplayOptions.within("--readers", readers, 1, 64);
        }
        Json.checkWritable(json);
        FreeMemory.read(Path.of("/")).check(pool + 3 * longest, "--pool");
        try (FragmentRun run = new FragmentRun(pool, longest, seed, vram)) {
            return run(run);
        }
    }

    private int run(FragmentRun run) throws IOException, InterruptedException {
        int steps = run.fragment(operations);
        FreeRanges before = run.free();
        run.beginReading(readers);
        long startNs = System.nanoTime();
        FreeRanges after = run.awaitIdleCompaction(before, TARGET, AT_MOST);
        double seconds = (System.nanoTime() - startNs) / 1e9;
        run.endReading();
        List<String> faults = run.faults();
        boolean met = after.longest() >= TARGET * after.bytes();
        PrintWriter out = spec.commandLine().getOut();
        out.printf("%,d writes and evictions, %,d blocks left in a pool of %s%s%n", steps, run.blocks(),
                ByteSize.format(pool), vram == null ? "" : " of tier VRAM");
        print(out, "fragmented", before);
        print(out, "after an idle window", after);
        out.printf(Locale.ROOT, "%-44s %12.3f  %s%n", "share of the longest range, at least " + TARGET, share(after),
                met ? "met" : "MISSED");
        out.printf(Locale.ROOT, "%-44s %12.2f%n", "seconds, of which 0.1 to see that it is idle", seconds);
        out.printf("%-44s %,12d of %s%n", "blocks moved", run.moved(), ByteSize.rounded((double) run.movedBytes()));
        out.printf("%-44s %,12d%n", "blocks read meanwhile, right to the byte", run.reads() - faults.size());
        out.printf("%-44s %,12d%n", "reads that met a block that had moved twice", run.stale());
        out.printf("%-44s %,12d  %s%n", "wrong or missing", faults.size(), faults.isEmpty() ? "met" : "MISSED");
        faults.stream().limit(MAX_TOLD).forEach(fault -> out.println("fault: " + fault));
        out.flush();
        if (json != null) {
            Json.write(json, toMap(run, before, after, seconds));
        }
        return met && faults.isEmpty() ? Main.OK : Main.FAILED;
    }

    private static double share(FreeRanges free) {
        return free.bytes() == 0 ? 1 : free.longest() / (double) free.bytes();
    }

    private static void print(PrintWriter out, String when, FreeRanges free) {
        out.printf(Locale.ROOT, "%-44s %12s free, longest range %s (%.3f)%s%n", when,
                ByteSize.rounded((double) free.bytes()),
                ByteSize.rounded((double) free.longest()), share(free),
                free.needsScratch() ? ", no scratch space" : "");
    }

    private Map<String, Object> toMap(FragmentRun run, FreeRanges before, FreeRanges after, double seconds) {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("command", "fragment");
        map.put("pool", pool);
        map.put("vram", vram == null ? null : vram.toString());
        map.put("longest", longest);
        map.put("operations", operations);
        map.put("readers", readers);
        map.put("seed", seed);
        map.put("blocks", run.blocks());
        map.put("freeBytes", after.bytes());
        map.put("shareBefore", share(before));
        map.put("shareAfter", share(after));
        map.put("seconds", seconds);
        map.put("moved", run.moved());
        map.put("movedBytes", run.movedBytes());
        map.put("reads", run.reads());
        map.put("stale", run.stale());
        map.put("faults", run.faults());
        return map;
    }
}
