package io.mooncake.bench.cli;

import io.mooncake.core.ThreadingMode;
import io.mooncake.core.base.ByteSize;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.transfer.EngineContext;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Whether canceled pulls leave memory alone, and how soon it is free. */
@Command(name = "cancel", sortOptions = false, mixinStandardHelpOptions = true, versionProvider = Main.Version.class, description = {
        "Cancels pulls from another process at random moments, hands their memory to another owner at once, who fills it,"
                + " and watches whether any byte of theirs lands there.",
        "Exit code 0: none did, and all memory came back; 1: one did, or the run failed; 2: bad input."})
final class CancelCommand implements Callable<Integer> {
    private static final int BAR = 50;
    /** What an engine that copies does without looking up. */
    private static final long COPIED_CHUNK = 3 << 20;

    @Spec
    @SuppressWarnings("NullAway.Init") // by picocli
    private CommandSpec spec;

    @Option(names = "--engine", defaultValue = "tcp", description = "By which the pulling node reaches the serving one: tcp, shm or rdma (default: ${DEFAULT-VALUE}).")
    private String engine = "";

    @Option(names = "--count", paramLabel = "N", defaultValue = "100000", description = "Pulls to be canceled (default: ${DEFAULT-VALUE}).")
    private int count;

    @Option(names = "--sizes", paramLabel = "FROM..TO", defaultValue = "1MiB..64MiB", description = "Bytes of a pull, at random between them (default: ${DEFAULT-VALUE}).")
    private String sizes = "";

    @Option(names = "--window", paramLabel = "N", defaultValue = "4", description = "Pulls in flight; every second one goes into the pool, the others into the caller's own memory (default: ${DEFAULT-VALUE}).")
    private int window;

    @Option(names = "--window-bytes", paramLabel = "SIZE", converter = SizeConverter.class, description = "What the engine may have outstanding and cannot recall, for the limit on when memory is available again (default: one chunk, 1MiB by tcp, 3MiB by shm).")
    private @Nullable Long windowBytes;

    @Option(names = "--seed", paramLabel = "N", defaultValue = "1", description = "Of sizes, sources and moments (default: ${DEFAULT-VALUE}).")
    private long seed;

    @Mixin
    private NodeOptions nodes = new NodeOptions();

    @Option(names = "--json", paramLabel = "FILE", description = "Writes the figures there too.")
    private @Nullable Path json;

    @Override
    public Integer call() throws IOException {
        long[] bounds = bounds();
        CancelSettings settings = new CancelSettings(engine, count, bounds[0], bounds[1], window, windowBytes(), seed,
                nodes.settings(ThreadingMode.SHARED).forEngine(engine));
        Json.checkWritable(json);
        FreeMemory.read(Path.of("/")).check(settings.bytes(), "--sizes or --window");
        PrintWriter out = spec.commandLine().getOut();
        PrintWriter err = spec.commandLine().getErr();
        out.printf("canceling %,d pulls of %s by %s, %d in flight; %s, idle %s, seed %d%n", count, sizes, engine,
                window,
                settings.nodes().threadingText(), settings.nodes().idleText(), seed);
        out.flush();
        CancelFigures figures = new CancelFigures(settings);
        long start = System.nanoTime();
        try (CancelRun run = new CancelRun(settings, figures)) {
            Progress progress = new Progress(err, Progress.onTerminal(), System::nanoTime, count, "cancels");
            run.run(progress);
            progress.clear();
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        print(out, figures, seconds);
        if (json != null) {
            Map<String, Object> result = new LinkedHashMap<>();
            result.put("command", "cancel");
            result.putAll(settings.toMap());
            result.put("seconds", seconds);
            result.putAll(figures.toMap());
            Json.write(json, result);
        }
        return figures.violations().isEmpty() && figures.unbalanced().isEmpty() ? Main.OK : Main.FAILED;
    }

    private long windowBytes() {
        return windowBytes != null ? windowBytes : engine.equals("shm") ? COPIED_CHUNK : EngineContext.MAX_CHUNK_BYTES;
    }

    private long[] bounds() {
        String[] ends = sizes.split("\\.\\.", -1);
        if (ends.length != 2) {
            throw new BadInputException("--sizes = '" + sizes + "' is no range: write for example 1MiB..64MiB");
        }
        try {
            return new long[]{ByteSize.parse("--sizes", ends[0]), ByteSize.parse("--sizes", ends[1])};
        } catch (MooncakeException e) {
            throw new BadInputException(String.valueOf(e.getMessage()), e);
        }
    }

    private static void print(PrintWriter out, CancelFigures figures, double seconds) {
        out.printf(Locale.ROOT, "%,d cancels in %.0f s; how far the pulls had come:%n", figures.cancels(), seconds);
        long most = Math.max(1, figures.progress().values().stream().mapToLong(Long::longValue).max().orElse(1));
        figures.progress()
                .forEach((label, number) -> out.printf("%12s %9d %s%n", label, number,
                        "#".repeat((int) (BAR * number / most))));
        out.printf(Locale.ROOT, "%-48s %12s %12s%n", "", "", "limit");
        out.printf(Locale.ROOT, "%-48s %12.3f %12s  %s%n", "share after the first and before the last byte",
                figures.inFlightShare(), ">= " + CancelFigures.LEAST_IN_FLIGHT, verdict(figures.isInFlightMet()));
        out.printf(Locale.ROOT, "%-48s %12.3f%n", "GB/s when not canceled", figures.bytesPerNs());
        out.printf(Locale.ROOT, "%-48s %12.1f%n", "memory available again, us, p50", figures.availableUs(50));
        out.printf(Locale.ROOT, "%-48s %12.1f %12s  %s%n", "memory available again, us, p99",
                figures.availableUs(99), String.format(Locale.ROOT, "<= %.1f", figures.limitUs()),
                verdict(figures.isAvailableMet()));
        out.printf(Locale.ROOT, "%-48s %12d %12s  %s%n", "violations", figures.violations().size(), "0",
                verdict(figures.violations().isEmpty()));
        out.printf(Locale.ROOT, "%-48s %12d %12s  %s%n", "accounts that do not balance", figures.unbalanced().size(),
                "0", verdict(figures.unbalanced().isEmpty()));
        figures.violations().forEach(what -> out.println("violation: " + what));
        figures.unbalanced().forEach(what -> out.println("unbalanced: " + what));
        out.flush();
    }

    private static String verdict(boolean met) {
        return met ? "met" : "MISSED";
    }
}
