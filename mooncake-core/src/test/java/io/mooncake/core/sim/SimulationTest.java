package io.mooncake.core.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The simulator over the code as it is: nothing may be found, and everything must have been met. */
class SimulationTest {
    private static final long SEEDS = 2_000;
    private static final int THREADS = 2;
    private static final long LEAST = 100;

    @Test
    void noSeedViolatesAnInvariantAndAllEdgesAndFaultsAreMet() {
        Simulator.Summary summary = new Simulator().runAll(1, SEEDS, THREADS, over -> {});
        assertEquals(List.of(), summary.failures()
                .stream()
                .map(failed -> "seed " + failed.seed() + ": " + failed.failure())
                .toList());
        assertEquals(SEEDS, summary.seeds());
        assertEquals(List.of(), summary.tally().below(LEAST), "met too rarely");
    }

    @Test
    void aSeedIsTheSameEveryTime() {
        List<String> first = new ArrayList<>();
        List<String> second = new ArrayList<>();
        Simulator.Result one = new Simulator().run(77, first::add);
        Simulator.Result other = new Simulator().run(77, second::add);
        assertTrue(first.size() > Simulator.TRANSFERS, "the trace tells what happens");
        for (int i = 0; i < first.size(); i++) {
            assertEquals(first.get(i), second.get(i), "line " + i);
        }
        assertEquals(one.tally().toString(), other.tally().toString());
    }
}
