package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.bench.engine.EngineChoice.Kind;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DisaggCommandTest extends DisaggSuite {
    @Override
    Kind kind() {
        return Kind.MINI;
    }

    @Test
    void shouldSayWhatItTook(@TempDir Path folder) throws IOException {
        Path json = folder.resolve("figures.json");
        CliRun run = CliRun.of("disagg", "--model", "tiny", "--tokens", "100", "--prefix", "40", "--block-tokens", "16",
                "--prompts", "2", "--generate", "3", "--json", json.toString());
        assertEquals(Main.OK, run.exitCode(), () -> run.out() + run.err());
        String text = Files.readString(json);
        // Of six blocks a prompt the first two are there since the one before.
        assertTrue(text.contains("\"here\": 4,") && text.contains("\"pulled\": 8,"), text);
        assertTrue(text.contains("\"equal\": true") && text.contains("\"furthestLogits\": 0.0"), text);
        assertTrue(run.out().contains("the same bits") && run.out().contains("random weights"), run::out);
    }
}
