package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Replays on nodes in processes of their own, joined by JGroups. */
@Timeout(600)
class ReplayProcessesTest {
    private static final long BLOCK = 64 << 10;
    private static final long SEED = 12;
    private static final Trace TRACE = TraceGenerator.generate(SEED, 150, 30);

    private final StringWriter told = new StringWriter();
    private final ReplayStats stats = new ReplayStats(new PrintWriter(told, true));

    private void pass(Replay run) throws IOException {
        run.pass(TRACE, new Pace(0, System::nanoTime, ns -> {}),
                new Progress(new PrintWriter(new StringWriter()), false, () -> 0, 1, "requests"));
    }

    @Test
    void shouldHitExactlyWhatOneProcessHits() throws IOException {
        ReplayOptions options = new ReplayOptions(3, 60, BLOCK, "lru", 0, 2, 0);
        ReplayStats one = new ReplayStats(new PrintWriter(told, true));
        try (Replay run = new ReplayRun(options, one)) {
            pass(run);
            pass(run);
        }
        try (Replay run = new ReplayProcesses(options, 1, stats)) {
            pass(run);
            pass(run);
            List<NodeReport> nodes = run.nodes();
            assertEquals(one.hits(), stats.hits(), "seed " + SEED);
            assertEquals(one.references(), stats.references());
            for (AccessPath path : AccessPath.values()) {
                assertEquals(one.path(path).count(), stats.path(path).count(), path + ", seed " + SEED);
            }
            assertEquals(one.writes().count(), stats.writes().count());
            assertEquals(stats.writes().count(),
                    nodes.stream().mapToLong(node -> node.counted(Counter.BLOCKS_WRITTEN)).sum());
            assertTrue(nodes.stream().allMatch(node -> node.usage().used() == 60), nodes::toString);
        }
        assertEquals(0, stats.verificationErrors() + stats.failures() + stats.gone());
        assertEquals("", told.toString());
    }

    @Test
    void shouldHitNearlyTheSameWithSeveralRequestsAtATime(@TempDir Path folder) throws IOException {
        Path json = folder.resolve("result.json");
        CliRun one = CliRun.of("replay", "--nodes", "3", "--capacity", "400", "--policy", "lru", "--requests", "300",
                "--seed", "7");
        CliRun several = CliRun.of("replay", "--processes", "3", "--outstanding", "3", "--capacity", "400", "--policy",
                "lru", "--requests", "300", "--seed", "7", "--json", json.toString());
        assertEquals(Main.OK, several.exitCode(), several::err);
        // Of a whole trace 0.005 is to hold; in one of 300 requests each one that comes in another order weighs more.
        assertEquals(ratio(one), ratio(several), 0.02, several::out);
        String text = Files.readString(json);
        assertTrue(text.contains("\"processes\": 3,"), text);
        assertTrue(text.contains("\"outstanding\": 3,"), text);
        assertTrue(text.contains("\"verificationErrors\": 0,"), text);
        assertTrue(several.out().contains("3 processes joined by JGroups, 3 request(s) at a time"), several::out);
    }

    private static double ratio(CliRun run) {
        String first = run.out()
                .lines()
                .filter(line -> line.contains("hit ratio "))
                .findFirst()
                .orElseThrow(
                        () -> new AssertionError(run.err()));
        return Double.parseDouble(first.substring(first.indexOf("hit ratio ") + "hit ratio ".length()));
    }

    @Test
    void shouldSayWhichProcessWasKilled() throws IOException {
        try (ReplayProcesses run = new ReplayProcesses(new ReplayOptions(2, 60, BLOCK, "lru", 0, 1, 0), 1, stats)) {
            run.processes().get(1).kill();
            IOException e = assertThrows(IOException.class, () -> pass(run));
            assertTrue(String.valueOf(e.getMessage()).contains("the process of node-1 ended before the replay did"),
                    e::toString);
        }
    }

    @Test
    void shouldRefuseOptionsThatExcludeEachOther() {
        for (String[] wrong : new String[][]{{"--nodes", "2", "--processes", "2"}, {"--outstanding", "2"},
                {"--processes", "2", "--outstanding", "3"}, {"--processes", "0"}}) {
            String[] args = new String[wrong.length + 1];
            args[0] = "replay";
            System.arraycopy(wrong, 0, args, 1, wrong.length);
            CliRun run = CliRun.of(args);
            assertEquals(Main.BAD_INPUT, run.exitCode(), run::err);
            assertTrue(run.err().contains(wrong[wrong.length - 2]), run::err);
        }
    }
}
