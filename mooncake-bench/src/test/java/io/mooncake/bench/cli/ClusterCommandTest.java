package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The command, scaled down: every fault once, that this host allows. Its own limits are wide here, where others share the processors. */
@Timeout(900)
class ClusterCommandTest {
    @Test
    void shouldSurviveEveryFault(@TempDir Path folder) throws IOException {
        Path json = folder.resolve("cluster.json");
        CliRun run = CliRun.of("cluster", "--processes", "3", "--rounds", "4", "--full-load", "3s", "--kill-limit",
                "5s", "--freeze-limit", "20s", "--patience", "3min", "--json", json.toString());
        assertEquals(Main.OK, run.exitCode(), () -> run.err() + run.out());
        String text = Files.readString(json);
        for (Fault fault : new Fault[]{Fault.KILL, Fault.FREEZE, Fault.RESTART}) {
            assertTrue(text.contains("\"fault\": \"" + fault + "\""), text);
        }
        assertTrue(text.contains("\"violations\": []"), text);
        assertTrue(run.out().contains("violations 0"), run::out);
    }

    @Test
    void shouldRefuseWhatCannotBeDone() {
        CliRun partition = CliRun.of("cluster", "--hosts", "loopback", "--faults", "partition");
        assertEquals(Main.BAD_INPUT, partition.exitCode());
        assertTrue(partition.err().contains("--hosts namespaces"), partition::err);
        assertEquals(Main.BAD_INPUT, CliRun.of("cluster", "--processes", "1").exitCode());
        CliRun time = CliRun.of("cluster", "--full-load", "ten");
        assertEquals(Main.BAD_INPUT, time.exitCode());
        assertTrue(time.err().contains("'ten' is no time: write 100ms, 5s or 10min"), time::err);
    }
}
