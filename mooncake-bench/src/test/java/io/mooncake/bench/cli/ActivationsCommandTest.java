package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.bench.cli.ActivationsRun.Speed;
import io.mooncake.bench.cli.ActivationsRun.Strategy;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The command {@code activations}, and what it is to show. */
@Timeout(120)
final class ActivationsCommandTest {
    private static final double TINY = 1e-3;

    private static double stall(int blocks, int slots, Speed speed, Strategy strategy) {
        try (ActivationsRun run = new ActivationsRun(blocks, slots, speed, strategy)) {
            double stall = run.run();
            assertEquals(0, run.wrong());
            return stall;
        }
    }

    @Test
    void shouldHardlyStallWhereTheLinkTakesABlockAStep() {
        double stall = stall(256, 128, new Speed(1, 0), Strategy.PLANNED);
        assertTrue(stall <= 0.02 * 512, "stall of " + stall + " steps");
    }

    @ParameterizedTest
    @CsvSource({"256, 128, 0.5, 0", "256, 128, 0.25, 0", "64, 16, 0.5, 0", "100, 90, 0.3, 0", "30, 1, 2, 0",
            "256, 128, 1, 8", "256, 128, 0.25, 20"})
    void shouldStallNearlyAsLittleAsAnyDecisionsWould(int blocks, int slots, double bandwidth, double latency) {
        Speed speed = new Speed(bandwidth, latency);
        double optimum = ActivationsRun.optimum(blocks, slots, speed);
        double stall = stall(blocks, slots, speed, Strategy.PLANNED);
        assertTrue(stall >= optimum - TINY, "less than the optimum of " + optimum + ": " + stall);
        assertTrue(stall <= 1.05 * optimum + TINY, "optimum " + optimum + ", stall " + stall);
    }

    @Test
    void shouldKnowTheOptimum() {
        assertEquals(0, ActivationsRun.optimum(256, 256, new Speed(0.01, 0)), TINY);
        assertEquals(0, ActivationsRun.optimum(256, 128, new Speed(1, 0)), TINY);
        // The last of 128 that leave is out a step late; the last two that come back wait a step each.
        assertEquals(3, ActivationsRun.optimum(256, 128, new Speed(0.5, 0)), TINY);
        // It is out, and back, so much later.
        assertEquals(3 + 2 * 5, ActivationsRun.optimum(256, 128, new Speed(0.5, 5)), TINY);
    }

    @Test
    void shouldShowTheSameOfLruForComparison(@TempDir Path folder) throws IOException {
        Path json = folder.resolve("figures.json");
        CliRun run = CliRun.of("activations", "--blocks", "64", "--json", json.toString());
        assertEquals(Main.OK, run.exitCode(), run::err);
        assertTrue(run.out().contains("lru, without prefetch"), run::out);
        String text = Files.readString(json);
        assertTrue(text.contains("\"wrong\": 0") && text.contains("\"optimumStall\": 0.0"), text);
        assertTrue(stall(64, 32, new Speed(1, 0), Strategy.LRU) > 60, "each move is waited for");
    }

    @Test
    void shouldRefuseALinkThatMovesNothing() {
        CliRun run = CliRun.of("activations", "--bandwidth", "0");
        assertEquals(Main.BAD_INPUT, run.exitCode(), run::out);
        CliRun late = CliRun.of("activations", "--latency", "-1");
        assertEquals(Main.BAD_INPUT, late.exitCode(), late::out);
    }
}
