package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The command {@code fair}, in small. */
class FairCommandTest {
    @TempDir
    @SuppressWarnings("NullAway.Init") // by JUnit
    Path folder;

    @Test
    void shouldMeasureSmallPullsBesideLargeOnesAndManyFromMany() throws IOException {
        Path json = folder.resolve("figures.json");
        CliRun run = CliRun.of("fair", "--outstanding", "100", "--large", "4MiB", "--peers", "3", "--seconds", "0.1",
                "--json", json.toString());
        assertEquals(Main.OK, run.exitCode(), run::err);
        String text = Files.readString(json);
        assertTrue(text.contains("\"p99Ratio\": ") && text.contains("\"bytesPerOp\": "), text);
        assertTrue(run.out().contains("100 outstanding pulls of 64KiB from 3 peers"), run::out);
    }
}
