package io.mooncake.bench.cli;

import io.mooncake.core.IdleMode;
import io.mooncake.core.ThreadingMode;
import io.mooncake.core.base.ByteSize;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
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

/** How fast one process pulls from another over loopback, alone or against a reference program. */
@Command(name = "transfer", sortOptions = false, mixinStandardHelpOptions = true, versionProvider = Main.Version.class, description = "Measures guarded pulls between two processes on loopback: latency, GB/s, allocation and processor time a size.")
final class TransferCommand implements Callable<Integer> {
    @Spec
    @SuppressWarnings("NullAway.Init") // by picocli
    private CommandSpec spec;

    @Option(names = "--sizes", split = ",", defaultValue = "8,4KiB,64KiB,1MiB,64MiB", converter = SizeConverter.class, description = "Bytes a pull, multiples of 8 (default: ${DEFAULT-VALUE}).")
    private List<Long> sizes = List.of();

    @Option(names = "--outstanding", split = ",", defaultValue = "1,16", description = "Pulls outstanding at a time (default: ${DEFAULT-VALUE}).")
    private List<Integer> outstanding = List.of();

    @Option(names = "--seconds", defaultValue = "2", description = "Measured a size, after a third of it as warm-up (default: ${DEFAULT-VALUE}).")
    private double seconds;

    @Option(names = "--region", defaultValue = "1GiB", converter = SizeConverter.class, description = "What both sides walk through (default: ${DEFAULT-VALUE}).")
    private long region;

    @Option(names = "--block-size", defaultValue = "64MiB", converter = SizeConverter.class, description = "A block of the region (default: ${DEFAULT-VALUE}).")
    private long blockSize;

    @Option(names = "--threading", defaultValue = "invoker", description = "Of the nodes: invoker, shared or dedicated; invoker at the pulling side only (default: ${DEFAULT-VALUE}).")
    private ThreadingMode threading = ThreadingMode.INVOKER;

    @Option(names = "--idle", defaultValue = "park", description = "Of the nodes: park (spin-yield-park) or spin (default: ${DEFAULT-VALUE}).")
    private IdleMode idle = IdleMode.PARK;

    @Option(names = "--verify", description = "Look at every byte; the rate includes it, the latency does not.")
    private boolean verify;

    @Option(names = "--reference", paramLabel = "FILE", description = "A Java program to compare with, run unchanged: FILE server MiB prints its port, "
            + "FILE client PORT SECONDS MiB prints a line a size.")
    private @Nullable Path reference;

    @Option(names = "--pairs", defaultValue = "20", description = "Runs of the reference and of ours, in alternation (default: ${DEFAULT-VALUE}).")
    private int pairs;

    @Option(names = "--json", paramLabel = "FILE", description = "Writes the figures there too.")
    private @Nullable Path json;

    @Override
    public Integer call() throws IOException {
        PullSettings settings = settings();
        PrintWriter out = spec.commandLine().getOut();
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("command", "transfer");
        result.put("threading", settings.threadingText());
        result.put("idle", settings.idleText());
        result.put("regionBytes", region);
        result.put("blockBytes", blockSize);
        result.put("seconds", seconds);
        Path program = reference;
        if (program == null) {
            result.put("figures", measure(settings, out).stream().map(PullFigure::toJson).toList());
        } else {
            result.putAll(new ReferenceComparison(settings, program, pairs, out).run());
        }
        if (json != null) {
            Json.write(json, result);
        }
        return Main.OK;
    }

    private static List<PullFigure> measure(PullSettings settings, PrintWriter out) {
        out.printf("serving process: filling %s with blocks of %s%n", ByteSize.format(settings.regionBytes()),
                ByteSize.format(settings.blockBytes()));
        out.flush();
        try (Served server = Served.start(settings.regionBytes(), settings.blockBytes(), settings.threading(),
                settings.idle());
                PullClient client = new PullClient(settings, server)) {
            out.printf("pulling; %s, idle %s%s%n%10s %11s %9s %11s %11s %9s %9s %10s %10s  %s%n",
                    settings.threadingText(),
                    settings.idleText(), settings.verify() ? ", every byte verified" : "", "size", "outstanding",
                    "pulls",
                    "p50 us", "p99 us", "GB/s", "B/op", "client", "server", "idle strategy");
            out.printf("%75s %10s %10s%n", "", "cpu s/GB", "cpu s/GB");
            return client.measureAll(f -> {
                out.printf(Locale.ROOT, "%10s %11d %9d %11.2f %11.2f %9.3f %9.3f %10.3f %10.3f  %s%n",
                        ByteSize.format(f.size()),
                        f.outstanding(), f.pulls(), f.p50Us(), f.p99Us(), f.gbPerS(), f.bytesPerOp(),
                        f.clientCpuSPerGb(),
                        f.serverCpuSPerGb(), settings.idleText());
                out.flush();
            });
        }
    }

    private PullSettings settings() {
        if (blockSize < Long.BYTES || region < blockSize || region % Long.BYTES != 0 || region > 1L << 40) {
            throw new BadInputException("--region = " + ByteSize.format(region)
                    + " must be a multiple of 8, at least one block (--block-size = " + ByteSize.format(blockSize)
                    + ") and at most 1TiB");
        }
        for (long size : sizes) {
            if (size <= 0 || size % Long.BYTES != 0 || size > blockSize) {
                throw new BadInputException(
                        "--sizes = " + ByteSize.format(size) + " must be a multiple of 8 and at most --block-size = "
                                + ByteSize.format(blockSize));
            }
        }
        for (int count : outstanding) {
            if (count < 1 || count > 1024) {
                throw new BadInputException("--outstanding = " + count + " must be 1 to 1024");
            }
        }
        if (!(seconds > 0 && seconds <= 3600)) {
            throw new BadInputException("--seconds = " + seconds + " must be more than 0 and at most 3600");
        }
        if (pairs < 1 || pairs > 10_000) {
            throw new BadInputException("--pairs = " + pairs + " must be 1 to 10000");
        }
        if (reference != null && !Files.isReadable(reference)) {
            throw new BadInputException(
                    "--reference = " + reference + " cannot be read: name a single-file Java program");
        }
        Json.checkWritable(json);
        checkMemory();
        return new PullSettings(sizes, outstanding, seconds, region, blockSize, threading, idle, verify, true);
    }

    private void checkMemory() {
        long needed = 2 * region + blockSize;
        FreeMemory free;
        try {
            free = FreeMemory.read(Path.of("/"));
        } catch (IOException e) {
            throw new BadInputException("the free memory of this machine cannot be read: " + e.getMessage());
        }
        long allowed = free.bytes() / 100 * ReplayOptions.MEMORY_SHARE;
        if (needed > allowed) {
            throw new BadInputException("2 processes x " + ByteSize.format(region) + " of --region + a spare block of "
                    + ByteSize.format(blockSize) + " = " + ByteSize.rounded((double) needed) + ", more than "
                    + ReplayOptions.MEMORY_SHARE + " % of the " + ByteSize.rounded((double) free.bytes()) + " free ("
                    + free.source() + ") = " + ByteSize.rounded((double) allowed) + ": lower --region");
        }
    }
}
