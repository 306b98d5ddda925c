package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.bench.cli.RegistryScale.Cost;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The registry's measuring, small: what it measures is right. */
class RegistryScaleTest {
    @Test
    void shouldLeaveTheJoinerWithWhatTheOwnersHave() {
        RegistryScale scale = new RegistryScale(5, 2_003);
        assertEquals(2_000, scale.facts());
        Cost announced = scale.announce();
        assertTrue(announced.bytesEach() > 128 && announced.bytesEach() < 160, announced::toString);
        assertEquals(2_000, scale.differences(), "nobody has told the joiner yet");
        Cost joined = scale.join();
        assertEquals(0, scale.differences());
        assertTrue(joined.messages() >= 5, joined::toString);
        scale.change(1_000);
        assertEquals(0, scale.differences());
        assertEquals(64, scale.beatBytes());
        assertTrue(scale.forgetNs() > 0);
        assertEquals(400, scale.differences(), "the first owner's blocks are unreadable");
    }

    @Test
    void shouldSeeNodesThatJGroupsJoinsAgree() {
        try (RegistryConvergence nodes = new RegistryConvergence(3, 300, 3)) {
            assertTrue(nodes.writeAll() > 0);
            assertTrue(nodes.writeOne(2) > 0);
            assertEquals(301, nodes.facts());
            assertTrue(nodes.join() > 0);
            assertEquals(0, nodes.differences());
        }
    }

    @Test
    void shouldPrintItAndWriteItAsJson(@TempDir Path folder) throws IOException {
        Path json = folder.resolve("registry.json");
        // Of so few facts the heap's own noise is more than the limit, so only the exit code of bad input is judged here.
        CliRun run = CliRun.of("registry", "--nodes", "4", "--facts", "20000", "--joined", "0", "--json",
                json.toString());
        assertTrue(run.exitCode() != Main.BAD_INPUT, run::err);
        String text = Files.readString(json);
        for (String key : new String[]{"heapBytesPerFact", "lookupNs", "announce", "join", "change", "beatBytes"}) {
            assertTrue(text.contains("\"" + key + "\": "), text);
        }
        assertTrue(text.contains("\"differences\": 0.0"), text);
        assertEquals(Main.BAD_INPUT, CliRun.of("registry", "--nodes", "0").exitCode());
    }
}
