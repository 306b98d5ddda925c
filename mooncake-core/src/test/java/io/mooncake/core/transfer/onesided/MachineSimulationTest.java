package io.mooncake.core.transfer.onesided;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.mooncake.core.transfer.ReadStatus;
import java.util.EnumMap;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The one-sided machine under every fault, over many seeds; and that each planted bug is found. */
final class MachineSimulationTest {
    private static final int SEEDS = 300;
    private static final int MANY_SEEDS = 20_000;
    /** What matters: the bookkeeping may go wrong too, but that alone is not the harm. */
    private static final Pattern WRONG_BYTES = Pattern.compile("is not that of version|a byte landed");

    private final Map<ReadStatus, Integer> ends = new EnumMap<>(ReadStatus.class);

    @Test
    void shouldKeepItsPromisesWhateverGoesWrong() {
        runSeeds(SEEDS);
    }

    @Test
    @Tag("full")
    void shouldKeepItsPromisesForManySeeds() {
        runSeeds(MANY_SEEDS);
    }

    private void runSeeds(int seeds) {
        for (long seed = 1; seed <= seeds; seed++) {
            AssertionError failure = run(seed, null);
            if (failure != null) {
                throw failure;
            }
        }
        for (ReadStatus status : ReadStatus.values()) {
            // These blocks have no checksums.
            if (status != ReadStatus.REFUSED && status != ReadStatus.CHECKSUM) {
                assertTrue(ends.getOrDefault(status, 0) >= seeds, () -> "too few reads ended " + status + ": " + ends);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(PlantedBug.class)
    void shouldFindEveryPlantedBug(PlantedBug bug) {
        for (long seed = 1; seed <= SEEDS; seed++) {
            AssertionError found = run(seed, bug);
            if (found != null && WRONG_BYTES.matcher(found.getMessage()).find()) {
                return;
            }
        }
        fail(bug + " brought no wrong byte in " + SEEDS + " seeds");
    }

    private @Nullable AssertionError run(long seed, @Nullable PlantedBug bug) {
        MachineSimulation simulation = new MachineSimulation(seed, bug);
        try {
            simulation.run();
            simulation.ends.forEach((status, count) -> ends.merge(status, count, Integer::sum));
            simulation.close();
            return null;
        } catch (AssertionError e) {
            return new AssertionError(e.getMessage() + "\n" + simulation.lastLines(60), e);
        }
    }
}
