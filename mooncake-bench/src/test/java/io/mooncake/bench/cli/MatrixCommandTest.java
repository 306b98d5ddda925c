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
                .startsWith("a                b                rack     tcp     1.00 MiB        410.0     2.558"),
                text::toString);
        assertTrue(lines.get(4).endsWith("SLOW: 2.2 x the median of its class"), text::toString);
        assertEquals("1 of 6 are slower than 2.0 x the median of their class", lines.getLast());
    }

    @Test
    void shouldKeepItsColumnsWhateverTheNames() {
        PairFigures longNames = new PairFigures(new NodeId("decode-17.rack-3.example.org", 1),
                new NodeId("prefill-4.rack-12.example.org", 1), Hop.RACK,
                List.of(new Figure("onesided-by-a-card", 1 << 20, 400_000, 1 << 20)));
        StringWriter text = new StringWriter();
        MatrixReport.of(List.of(longNames, pair("a", "b", Hop.PROCESS, 1_000)), 2).print(new PrintWriter(text));
        List<String> lines = text.toString().lines().toList();
        List<List<String>> rows = List.of(List.of("reader", "holder", "hop", "path"),
                List.of("a", "b", "process", "tcp"), List.of("decode-17.rack-3.example.org",
                        "prefill-4.rack-12.example.org", "rack", "onesided-by-a-card"));
        for (String name : List.of("holder", "hop", "path")) {
            int column = lines.getFirst().indexOf(" " + name + " ") + 1;
            for (int i = 0; i < rows.size(); i++) {
                String value = rows.get(i).get(rows.getFirst().indexOf(name));
                assertTrue(lines.get(i).startsWith(" " + value + " ", column - 1), text::toString);
            }
        }
        for (int i = 1; i < rows.size(); i++) {
            assertEquals(lines.getFirst().length(), lines.get(i).length(), text::toString);
        }
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
