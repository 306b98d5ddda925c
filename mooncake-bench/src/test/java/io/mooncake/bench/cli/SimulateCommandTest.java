package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The command {@code simulate}, in small. */
class SimulateCommandTest {
    @TempDir
    @SuppressWarnings("NullAway.Init") // by JUnit
    Path folder;

    @Test
    void shouldRunSeedsAndSayWhatWasMet() throws IOException {
        Path json = folder.resolve("figures.json");
        CliRun run = CliRun.of("simulate", "--seeds", "4", "--from", "10", "--json", json.toString());
        assertEquals(0, run.exitCode(), run.out() + run.err());
        assertTrue(run.out().contains("transfer -> COMPLETED") && run.out().contains("4 seeds from 10"), run.out());
        assertTrue(Files.readString(json).contains("\"fault crash\""), run.out());
    }

    @Test
    void shouldTellOneSeedLineByLine() {
        CliRun run = CliRun.of("simulate", "--replay", "10", "--trace", "--transfers", "20");
        assertEquals(0, run.exitCode(), run.out() + run.err());
        assertTrue(run.out().contains("submission 1 of"), run.out());
        assertTrue(run.out().contains("seed 10: all invariants hold"), run.out());
    }

    @Test
    void shouldRefuseWhatMakesNoSense() {
        assertEquals(2, CliRun.of("simulate", "--trace").exitCode());
        assertEquals(2, CliRun.of("simulate", "--seeds", "0").exitCode());
    }
}
