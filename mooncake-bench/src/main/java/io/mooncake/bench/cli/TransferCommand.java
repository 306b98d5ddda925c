package io.mooncake.bench.cli;

import io.mooncake.core.ThreadingMode;
import io.mooncake.core.base.ByteSize;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** How fast one process pulls from another over loopback, alone or against a reference program. */
@Command(name = "transfer", sortOptions = false, mixinStandardHelpOptions = true, versionProvider = Main.Version.class, description = "Measures guarded pulls between two processes on loopback: latency, GB/s, allocation and processor time a size.")
final class TransferCommand implements Callable<Integer> {
    /** What {@code tcp.lanes} may be at most. */
    private static final int MOST_LANES = 16;

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

    @Option(names = "--engine", defaultValue = "tcp", description = "By which the pulling node reaches the serving one: tcp, shm or rdma (default: ${DEFAULT-VALUE}).")
    private String engine = "";

    @Option(names = "--lanes", split = ",", description = "Connections to the serving node, one number after the other (default: the nodes' own).")
    private List<Integer> lanes = List.of();

    @Mixin
    private NodeOptions nodes = new NodeOptions();

    @Option(names = "--verify", description = "Look at every byte; the rate includes it, the latency does not.")
    private boolean verify;

    @Option(names = "--reference", paramLabel = "FILE", description = "A Java program to compare with, run unchanged: FILE server MiB prints its port, "
            + "FILE client PORT SECONDS MiB prints a line a size. Or " + PerftestReference.NAME
            + ", for --engine rdma: ib_read_bw and ib_read_lat over the same device.")
    private @Nullable String reference;

    @Option(names = "--pairs", defaultValue = "20", description = "Pairs of runs of the reference and of ours, in alternation (default: ${DEFAULT-VALUE}).")
    private int pairs;

    @Option(names = "--runs", defaultValue = "1", description = "Runs of each in a pair, in the order R O O R R O ...; a pair's figure is what they come to together (default: ${DEFAULT-VALUE}).")
    private int runs;

    @Option(names = "--json", paramLabel = "FILE", description = "Writes the figures there too.")
    private @Nullable Path json;

    @Override
    public Integer call() throws IOException {
        PullSettings settings = settings();
        PrintWriter out = spec.commandLine().getOut();
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("command", "transfer");
        result.put("engine", engine);
        result.putAll(settings.nodes().toMap());
        result.put("regionBytes", region);
        result.put("blockBytes", blockSize);
        result.put("seconds", seconds);
        String program = reference;
        if (program == null) {
            result.put("figures", measureAll(settings, out));
        } else {
            result.putAll(compare(settings, program, out));
        }
        if (json != null) {
            Json.write(json, result);
        }
        return Main.OK;
    }

    private Map<String, Object> compare(PullSettings settings, String program, PrintWriter out) {
        ReferenceComparison.Schedule schedule = new ReferenceComparison.Schedule(pairs, runs);
        if (!program.equals(PerftestReference.NAME)) {
            return new ReferenceComparison(settings, lanes, new JavaReference(Path.of(program), region, seconds),
                    schedule, out).run();
        }
        PerftestReference perftest = PerftestReference.over(settings.nodes().rdmaDevices(), seconds);
        NodeSettings sameDevice = settings.nodes().with(NodeSettings.RDMA, perftest.device());
        return new ReferenceComparison(settings.with(sameDevice), lanes, perftest, schedule, out).run();
    }

    private List<Map<String, Object>> measureAll(PullSettings settings, PrintWriter out) {
        List<Map<String, Object>> figures = new ArrayList<>();
        if (lanes.isEmpty()) {
            measure(settings, out).forEach(figure -> figures.add(figure.toJson()));
        }
        for (int count : lanes) {
            out.printf("%d lanes: ", count);
            for (PullFigure figure : measure(
                    settings.with(settings.nodes().withLanes(engine, count)), out)) {
                Map<String, Object> json = figure.toJson();
                json.put("lanes", count);
                figures.add(json);
            }
        }
        return figures;
    }

    private static List<PullFigure> measure(PullSettings settings, PrintWriter out) {
        NodeSettings nodes = settings.nodes();
        out.printf("serving process: filling %s with blocks of %s%n", ByteSize.format(settings.regionBytes()),
                ByteSize.format(settings.blockBytes()));
        out.flush();
        try (Served server = Served.start(settings.regionBytes(), settings.blockBytes(), nodes);
                PullClient client = new PullClient(settings, server)) {
            out.printf("pulling by %s; %s, idle %s%s%n%10s %11s %9s %11s %11s %9s %9s %10s %10s  %s%n",
                    settings.engine(), nodes.threadingText(), nodes.idleText(),
                    settings.verify() ? ", every byte verified" : "", "size", "outstanding", "pulls", "p50 us",
                    "p99 us", "GB/s", "B/op", "client", "server", "idle strategy");
            out.printf("%75s %10s %10s%n", "", "cpu s/GB", "cpu s/GB");
            return client.measureAll(f -> {
                out.printf(Locale.ROOT, "%10s %11d %9d %11.2f %11.2f %9.3f %9.3f %10.3f %10.3f  %s%n",
                        ByteSize.format(f.size()), f.outstanding(), f.pulls(), f.p50Us(), f.p99Us(), f.gbPerS(),
                        f.bytesPerOp(), f.clientCpuSPerGb(), f.serverCpuSPerGb(), nodes.idleText());
                out.flush();
            });
        }
    }

    private PullSettings settings() throws IOException {
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
        ReplayOptions.within("--pairs", pairs, 1, 10_000);
        ReplayOptions.within("--runs", runs, 1, 100);
        for (int count : lanes) {
            ReplayOptions.within("--lanes", count, 1, MOST_LANES);
        }
        if (PerftestReference.NAME.equals(reference)) {
            if (!engine.equals(NodeSettings.RDMA)) {
                throw new BadInputException("--reference = " + reference + " is for --engine rdma");
            }
        } else if (reference != null && !Files.isReadable(Path.of(reference))) {
            throw new BadInputException(
                    "--reference = " + reference + " cannot be read: name a single-file Java program");
        }
        Json.checkWritable(json);
        FreeMemory.read(Path.of("/")).check(2 * region + blockSize, "--region");
        return new PullSettings(sizes, outstanding, seconds, region, blockSize, engine,
                nodes.settings(ThreadingMode.INVOKER).forEngine(engine), verify, true);
    }
}
