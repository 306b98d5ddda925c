package io.mooncake.bench.cli;

import io.mooncake.core.base.ByteSize;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** How fast a file tier is, beside a plain file. */
@Command(name = "file", sortOptions = false, mixinStandardHelpOptions = true, versionProvider = Main.Version.class, description = {
        "Reads and writes the file tier of a node and a plain file, in turn, by the same units, threads and direct I/O.",
        "What the tier does besides (checksums, guards, journal) is its own: the ratio says what it costs.",
        "Exit code 0: all was read and right; 1: the run failed; 2: bad input."})
final class FileCommand implements Callable<Integer> {
    private static final double TARGET = 0.9;

    @Spec
    @SuppressWarnings("NullAway.Init") // by picocli
    private CommandSpec spec;

    @Option(names = "--directory", paramLabel = "DIR", description = "Empty; where the files are (default: a new one among the system's temporary files, deleted afterwards).")
    private @Nullable Path directory;

    @Option(names = "--blocks", paramLabel = "N", defaultValue = "32", description = "Blocks that are read or written at a time (default: ${DEFAULT-VALUE}).")
    private int blocks;

    @Option(names = "--block-size", paramLabel = "SIZE", defaultValue = "16MiB", converter = SizeConverter.class, description = "Bytes of a block, a multiple of 1MiB (default: ${DEFAULT-VALUE}).")
    private long blockSize;

    @Option(names = "--depth", paramLabel = "N", defaultValue = "4", description = "Requests that the device has at a time (default: ${DEFAULT-VALUE}).")
    private int depth;

    @Option(names = "--rounds", paramLabel = "N", defaultValue = "10", description = "Pairs that are measured of each kind (default: ${DEFAULT-VALUE}).")
    private int rounds;

    @Option(names = "--buffered", description = "Through the page cache.")
    private boolean buffered;

    @Option(names = "--seed", paramLabel = "N", defaultValue = "1", description = "Of what is random (default: ${DEFAULT-VALUE}).")
    private long seed;

    @Option(names = "--json", paramLabel = "FILE", description = "Writes the figures there too.")
    private @Nullable Path json;

    /** What of the tier is compared with what of the plain file. */
    private record Row(String name, LongSupplier tier, LongSupplier plain, List<Double> tierRates,
            List<Double> plainRates,
            List<Double> ratios) {
        Row(String name, LongSupplier tier, LongSupplier plain) {
            this(name, tier, plain, new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
        }

        /** One pair; whoever is first in one is second in the next. */
        void measure(boolean tierFirst, long bytes) {
            double first = bytes / (double) (tierFirst ? tier : plain).getAsLong();
            double second = bytes / (double) (tierFirst ? plain : tier).getAsLong();
            tierRates.add(tierFirst ? first : second);
            plainRates.add(tierFirst ? second : first);
            ratios.add(tierRates.getLast() / plainRates.getLast());
        }
    }

    @Override
    public Integer call() throws IOException {
        ReplayOptions.within("--blocks", blocks, 1, 512);
        ReplayOptions.within("--depth", depth, 1, 64);
        ReplayOptions.within("--rounds", rounds, 1, 10_000);
        if (blockSize < FileSpeed.UNIT || blockSize % FileSpeed.UNIT != 0) {
            throw new BadInputException(
                    "--block-size = " + ByteSize.format(blockSize) + " must be a multiple of 1MiB, at least that");
        }
        Json.checkWritable(json);
        FreeMemory.read(Path.of("/")).check(2L * (blocks + 2) * blockSize, "--blocks or --block-size");
        try (ScratchDirectory where = ScratchDirectory.of(directory, "mooncake-file");
                FileSpeed speed = new FileSpeed(
                        new FileSpeed.Settings(where.path(), blocks, blockSize, depth, !buffered, seed))) {
            return run(speed);
        }
    }

    private int run(FileSpeed speed) throws IOException {
        PrintWriter out = spec.commandLine().getOut();
        List<Row> writes = List.of(
                new Row("write, sequential", () -> speed.writeTier(false), () -> speed.writePlain(false)),
                new Row("write, random", () -> speed.writeTier(true), () -> speed.writePlain(true)));
        List<Row> reads = List.of(
                new Row("read, sequential", () -> speed.readTier(false), () -> speed.readPlain(false)),
                new Row("read, random", () -> speed.readTier(true), () -> speed.readPlain(true)));
        // The first time takes the file's room and the compiler's.
        measure(writes, 1, speed.bytes());
        clear(writes);
        measure(writes, rounds, speed.bytes());
        speed.sink();
        measure(reads, 1, speed.bytes());
        clear(reads);
        measure(reads, rounds, speed.bytes());
        boolean right = speed.isRight();
        List<Row> rows = new ArrayList<>(reads);
        rows.addAll(writes);
        out.printf("%d blocks of %s, %d requests at a time, %d pairs%n%s%n%n", blocks, ByteSize.format(blockSize),
                depth,
                rounds, speed.describe());
        out.printf("%-20s %12s %8s %12s %8s %8s %8s %8s%n", "GB/s", "tier, median", "spread", "plain", "spread",
                "ratio",
                "spread", "target");
        rows.forEach(row -> print(out, row));
        out.println("spread = (p90 - p10) / median" + (right ? "" : "; WRONG BYTES were read"));
        out.flush();
        if (json != null) {
            Json.write(json, toMap(rows, speed.describe(), right));
        }
        return right ? Main.OK : Main.FAILED;
    }

    private static void measure(List<Row> rows, int rounds, long bytes) {
        for (int round = 0; round < rounds; round++) {
            for (Row row : rows) {
                row.measure(round % 2 == 0, bytes);
            }
        }
    }

    private static void clear(List<Row> rows) {
        for (Row row : rows) {
            row.tierRates.clear();
            row.plainRates.clear();
            row.ratios.clear();
        }
    }

    private static Quantiles quantiles(List<Double> values) {
        return Quantiles.of(values.stream().mapToDouble(Double::doubleValue));
    }

    private static void print(PrintWriter out, Row row) {
        Quantiles tier = quantiles(row.tierRates);
        Quantiles plain = quantiles(row.plainRates);
        Quantiles ratio = quantiles(row.ratios);
        out.printf(Locale.ROOT, "%-20s %12.2f %7.1f%% %12.2f %7.1f%% %8.3f %7.1f%% %8s  %s%n", row.name, tier.median(),
                tier.spread() * 100, plain.median(), plain.spread() * 100, ratio.median(), ratio.spread() * 100,
                ">= " + TARGET, ratio.median() >= TARGET ? "met" : "MISSED");
    }

    private Map<String, Object> toMap(List<Row> rows, String describe, boolean right) {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("command", "file");
        map.put("blocks", blocks);
        map.put("blockSize", blockSize);
        map.put("depth", depth);
        map.put("rounds", rounds);
        map.put("buffered", buffered);
        map.put("node", describe);
        map.put("right", right);
        for (Row row : rows) {
            Map<String, Object> one = new LinkedHashMap<>();
            one.put("tierGbPerS", quantiles(row.tierRates).median());
            one.put("plainGbPerS", quantiles(row.plainRates).median());
            one.put("ratio", quantiles(row.ratios).median());
            one.put("ratioSpread", quantiles(row.ratios).spread());
            map.put(row.name, one);
        }
        return map;
    }
}
