package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Hop;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.registry.PairFigures;
import io.mooncake.core.registry.PairFigures.Figure;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The command {@code matrix}, in small. */
class MatrixCommandTest {
    @TempDir
    @SuppressWarnings("NullAway.Init") // by JUnit
    Path folder;

    private static PairFigures pair(String reader, String holder, Hop hop, long readNs) {
        return new PairFigures(new NodeId(reader, 1), new NodeId(holder, 1), hop,
                List.of(new Figure("tcp", 1 << 20, readNs, 1 << 20)));
    }

    @Test
    void shouldFlagThePairsThatAreSlowerThanTheirClass() {
        MatrixReport report = MatrixReport.of(List.of(pair("c", "a", Hop.RACK, 400_000),
                pair("a", "b", Hop.RACK, 410_000), pair("b", "a", Hop.RACK, 900_000), pair("a", "c", Hop.RACK, 420_000),
                // Far and slow, as everything that far is, and nothing to compare with.
                pair("a", "f", Hop.FAR, 9_000_000), pair("b", "f", Hop.FAR, 1_000_000)), 2);
        assertEquals(List.of("b"), report.slow().stream().map(row -> row.pair().reader().name()).toList());
        StringWriter text = new StringWriter();
        report.print(new PrintWriter(text));
        List<String> lines = text.toString().lines().toList();
        assertTrue(lines.get(1)
                .startsWith("a                b                rack     tcp         1MiB        410.0     2.558"),
                text::toString);
        assertTrue(lines.get(4).endsWith("SLOW: 2.2 x the median of its class"), text::toString);
        assertEquals("1 of 6 are slower than 2.0 x the median of their class", lines.getLast());
    }

    @Test
    void shouldMeasureEveryPair() throws IOException {
        Path json = folder.resolve("matrix.json");
        CliRun run = CliRun.of("matrix", "--nodes", "3", "--size", "256KiB", "--reads", "5", "--json", json.toString());
        assertEquals(Main.OK, run.exitCode(), run::err);
        String text = Files.readString(json);
        for (String line : List.of("node-0           node-1           process",
                "node-2           node-1           process")) {
            assertTrue(run.out().contains(line), run::out);
        }
        assertEquals(6, text.lines().filter(line -> line.contains("\"readBytes\": 262144")).count(), text);
        assertTrue(text.contains("\"classMedianNs\": "), text);
    }

    @Test
    @Tag("full")
    void shouldHearFromProcessesWhatTheyMeasured() {
        CliRun run = CliRun.of("matrix", "--nodes", "3", "--processes", "--size", "256KiB", "--reads", "5");
        assertEquals(Main.OK, run.exitCode(), run::err);
        assertTrue(run.out().contains("node-1           node-2           host"), run::out);
    }

    @Test
    @Tag("full")
    void shouldLeaveASlowLinkAndUseItAgain() {
        CliRun run = CliRun.of("matrix", "--nodes", "2", "--reads", "1", "--slow-link", "20");
        assertEquals(Main.OK, run.exitCode(), () -> run.out() + run.err());
        assertTrue(run.out().contains(": met"), run::out);
    }
}
