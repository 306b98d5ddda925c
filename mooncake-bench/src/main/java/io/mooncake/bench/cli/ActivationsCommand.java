package io.mooncake.bench.cli;

import io.mooncake.bench.cli.ActivationsRun.Speed;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Whether blocks whose uses are known exactly are where they are used, when they are. */
@Command(name = "activations", sortOptions = false, mixinStandardHelpOptions = true, versionProvider = Main.Version.class, description = {
        "Activations on virtual time: block i of N is written at step i, read at step 2N - 1 - i, then dead; the fast memory has room"
                + " for some of them, and a link to another node's takes so many a step each way, which the planner has to find out.",
        "Exit code 0: every block was read and right; 1: one was not, or the run failed; 2: bad input."})
final class ActivationsCommand implements Callable<Integer> {
    private static final int MAX_BLOCKS = 10_000;

    @Spec
    @SuppressWarnings("NullAway.Init") // by picocli
    private CommandSpec spec;

    @Option(names = "--blocks", paramLabel = "N", defaultValue = "256", description = "Blocks that are written and read (default: ${DEFAULT-VALUE}).")
    private int blocks;

    @Option(names = "--vram", paramLabel = "BLOCKS", description = "Room of the fast memory (default: half of --blocks).")
    private @Nullable Integer vram;

    @Option(names = "--bandwidth", paramLabel = "BLOCKS", defaultValue = "1", description = "Blocks a step that the link takes, each way (default: ${DEFAULT-VALUE}).")
    private double bandwidth;

    @Option(names = "--latency", paramLabel = "STEPS", defaultValue = "0", description = "By so many steps each of them arrives later (default: ${DEFAULT-VALUE}).")
    private double latency;

    @Option(names = "--json", paramLabel = "FILE", description = "Writes the figures there too.")
    private @Nullable Path json;

    @Override
    public Integer call() throws IOException {
        ReplayOptions.within("--blocks", blocks, 2, MAX_BLOCKS);
        int slots = vram == null ? blocks / 2 : vram;
        ReplayOptions.within("--vram", slots, 1, MAX_BLOCKS);
        if (!(bandwidth >= 0.01 && bandwidth <= 1_000)) {
            throw new BadInputException("--bandwidth = " + bandwidth + " must be 0.01 to 1000 blocks a step");
        }
        if (!(latency >= 0 && latency <= 10_000)) {
            throw new BadInputException("--latency = " + latency + " must be 0 to 10000 steps");
        }
        Json.checkWritable(json);
        PrintWriter out = spec.commandLine().getOut();
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("command", "activations");
        map.put("blocks", blocks);
        map.put("vram", slots);
        map.put("bandwidth", bandwidth);
        map.put("latency", latency);
        Speed speed = new Speed(bandwidth, latency);
        double optimum = ActivationsRun.optimum(blocks, slots, speed);
        map.put("optimumStall", optimum);
        out.printf(Locale.ROOT, "%d blocks, room for %d, %.2f blocks a step each way%s; %d steps without any waiting%n%n", blocks,
                slots, bandwidth, latency == 0
                        ? ""
                        : String.format(Locale.ROOT, ", which arrive %.2f steps later", latency),
                2 * blocks);
        out.printf("%-28s %12s %12s %12s%n", "", "stall, steps", "of the steps", "moves");
        print(out, "optimum", optimum, "");
        long wrong = 0;
        for (ActivationsRun.Strategy strategy : ActivationsRun.Strategy.values()) {
            try (ActivationsRun run = new ActivationsRun(blocks, slots, speed, strategy)) {
                double stall = run.run();
                wrong += run.wrong();
                print(out, strategy == ActivationsRun.Strategy.PLANNED ? "planned" : "lru, without prefetch", stall,
                        Long.toString(run.moved()));
                map.put(strategy == ActivationsRun.Strategy.PLANNED ? "plannedStall" : "lruStall", stall);
            }
        }
        map.put("wrong", wrong);
        out.printf("%nblocks with a wrong byte: %d%n", wrong);
        out.flush();
        if (json != null) {
            Json.write(json, map);
        }
        return wrong == 0 ? Main.OK : Main.FAILED;
    }

    private void print(PrintWriter out, String name, double stall, String moves) {
        out.printf(Locale.ROOT, "%-28s %12.2f %11.2f%% %12s%n", name, stall, 100 * stall / (2.0 * blocks), moves);
    }
}
