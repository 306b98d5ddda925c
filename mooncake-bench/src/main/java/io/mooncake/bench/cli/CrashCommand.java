package io.mooncake.bench.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Whether a file tier survives kill -9. */
@Command(name = "crash", sortOptions = false, mixinStandardHelpOptions = true, versionProvider = Main.Version.class, description = {
        "Kills a process that writes blocks into its file tier, as kill -9 does, at random moments; after each restart every block"
                + " that is reported present is read and compared to the byte, and every block that was durable must be there.",
        "Exit code 0: nothing was lost, nothing half-written was served; 1: something was, or the run failed; 2: bad input."})
final class CrashCommand implements Callable<Integer> {
    private static final int MAX_TOLD = 10;

    @Spec
    @SuppressWarnings("NullAway.Init") // by picocli
    private CommandSpec spec;

    @Option(names = "--count", paramLabel = "N", defaultValue = "200", description = "Processes to be killed (default: ${DEFAULT-VALUE}).")
    private int count;

    @Option(names = "--directory", paramLabel = "DIR", description = "Empty; where the file tier is (default: a new one among the system's temporary files, deleted afterwards).")
    private @Nullable Path directory;

    @Option(names = "--blocks", paramLabel = "N", defaultValue = "48", description = "Blocks that are written, again and again (default: ${DEFAULT-VALUE}).")
    private int blocks;

    @Option(names = "--block-size", paramLabel = "SIZE", defaultValue = "1536KiB", converter = SizeConverter.class, description = "Bytes of the longest block; each has a random length (default: ${DEFAULT-VALUE}).")
    private long blockSize;

    @Option(names = "--writers", paramLabel = "N", defaultValue = "3", description = "Threads that write (default: ${DEFAULT-VALUE}).")
    private int writers;

    @Option(names = "--window", paramLabel = "MS", defaultValue = "500", description = "How long a process writes at most before it is killed, milliseconds (default: ${DEFAULT-VALUE}).")
    private long windowMs;

    @Option(names = "--seed", paramLabel = "N", defaultValue = "1", description = "Of the moments (default: ${DEFAULT-VALUE}).")
    private long seed;

    @Option(names = "--json", paramLabel = "FILE", description = "Writes the figures there too.")
    private @Nullable Path json;

    @Override
    public Integer call() throws IOException {
        ReplayOptions.within("--count", count, 1, 1_000_000);
        ReplayOptions.within("--window", windowMs, 1, 600_000);
        Json.checkWritable(json);
        try (ScratchDirectory where = ScratchDirectory.of(directory, "mooncake-crash")) {
            return run(new CrashSettings(where.path(), blocks, blockSize, writers));
        }
    }

    private int run(CrashSettings settings) throws IOException {
        PrintWriter out = spec.commandLine().getOut();
        PrintWriter err = spec.commandLine().getErr();
        CrashRun run = new CrashRun(settings, seed, windowMs, _ -> {});
        Progress progress = new Progress(err, Progress.onTerminal(), System::nanoTime, count, "kills");
        long start = System.nanoTime();
        for (int i = 0; i < count; i++) {
            run.kill();
            progress.update(i + 1L, _ -> run.ledger().faults().size() + " faults");
        }
        run.verify();
        progress.clear();
        double seconds = (System.nanoTime() - start) / 1e9;
        print(out, run, seconds);
        if (json != null) {
            Json.write(json, toMap(settings, run, seconds));
        }
        return run.ledger().faults().isEmpty() ? Main.OK : Main.FAILED;
    }

    private static void print(PrintWriter out, CrashRun run, double seconds) {
        CrashLedger ledger = run.ledger();
        out.printf("%,d processes killed in %.0f s, %,d of them before they had looked at all that was there%n",
                run.lives(),
                seconds, run.early());
        out.printf("%-60s %,10d%n", "blocks that were made durable", ledger.acknowledged());
        out.printf("%-60s %,10d%n", "blocks that were being written when their process was killed",
                ledger.unfinished());
        out.printf("%-60s %,10d%n", "blocks present after a restart, right to the byte", ledger.verified());
        out.printf("%-60s %,10d%n", "blocks found damaged when the directory was opened", run.damaged());
        out.printf("%-60s %,10d  %s%n", "blocks lost, half-written or out of date", ledger.faults().size(),
                ledger.faults().isEmpty() ? "met" : "MISSED");
        ledger.faults().stream().limit(MAX_TOLD).forEach(fault -> out.println("fault: " + fault));
        out.flush();
    }

    private Map<String, Object> toMap(CrashSettings settings, CrashRun run, double seconds) {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("command", "crash");
        map.putAll(settings.toMap());
        map.put("windowMs", windowMs);
        map.put("seed", seed);
        map.put("seconds", seconds);
        map.put("killed", run.lives());
        map.put("killedEarly", run.early());
        map.put("durable", run.ledger().acknowledged());
        map.put("unfinished", run.ledger().unfinished());
        map.put("verified", run.ledger().verified());
        map.put("damaged", run.damaged());
        map.put("faults", run.ledger().faults());
        return map;
    }
}
