package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

/** The command {@code transfer}, in small. */
class TransferCommandTest {
    /** Prints what a reference prints, without measuring anything. */
    private static final String REFERENCE = """
            public class Reference {
                public static void main(String[] args) throws Exception {
                    if (args[0].equals("server")) {
                        System.out.println(1);
                        System.in.read();
                    } else {
                        System.out.println("size 8 pulls 100 p50_us 10.00 p99_us 20.00 GBps 0.001");
                        System.out.println("size 4096 pulls 100 p50_us 1000000.00 p99_us 2000000.00 GBps 0.001");
                        System.out.println("size 1048576 pulls 100 p50_us 1.00 p99_us 2.00 GBps 0.000001");
                    }
                }
            }
            """;

    @TempDir
    @SuppressWarnings("NullAway.Init") // by JUnit
    Path folder;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(String... args) {
        CommandLine line = Main.commandLine();
        line.setOut(new PrintWriter(out)).setErr(new PrintWriter(err));
        return line.execute(args);
    }

    @ParameterizedTest
    @CsvSource({"invoker", "shared", "dedicated"})
    void shouldMeasureEverySizeAndVerifyEveryByte(String threading) throws IOException {
        Path json = folder.resolve("figures.json");
        int code = run("transfer", "--threading", threading, "--sizes", "8,64KiB,1MiB", "--outstanding", "1,4",
                "--seconds", "0.05",
                "--region", "4MiB", "--block-size", "1MiB", "--verify", "--json", json.toString());
        assertEquals(0, code, () -> out + "\n" + err);
        assertEquals(6, Files.readString(json).split("\"p50Us\"", -1).length - 1);
        assertTrue(out.toString().contains("spin-yield-park"), out.toString());
    }

    @Test
    void shouldCompareWithAReferenceInAlternation() throws IOException {
        Path reference = Files.writeString(folder.resolve("Reference.java"), REFERENCE);
        Path json = folder.resolve("ratios.json");
        int code = run("transfer", "--reference", reference.toString(), "--pairs", "1", "--runs", "2", "--sizes",
                "4KiB,64KiB,1MiB", "--outstanding", "1,16", "--seconds", "0.05", "--region", "16MiB", "--block-size",
                "1MiB", "--json", json.toString());
        assertEquals(0, code, () -> out + "\n" + err);
        String text = Files.readString(json);
        assertEquals(2, text.split("\"met\": true", -1).length - 1, text);
        assertTrue(text.contains("\"limit\": 1.5") && text.contains("\"limit\": 1.1"), text);
        assertTrue(text.contains("\"figure\": \"serverCpuSecondsPerGb\""), text);
        assertTrue(!text.contains("\"size\": 8,") && !text.contains("\"size\": 65536,"),
                "only sizes that were asked for and that the reference measured");
    }

    @Test
    void shouldAddRunsUpByTheirBytesAndTheirTime() {
        PullFigure slow = PullFigure.ofLine("size 1000 pulls 1000 p50_us 10 p99_us 20 GBps 1.0");
        PullFigure fast = PullFigure.ofLine("size 1000 pulls 3000 p50_us 20 p99_us 40 GBps 3.0");
        PullFigure both = PullFigure.sum(List.of(Objects.requireNonNull(slow), Objects.requireNonNull(fast)));
        assertEquals(4000, both.pulls());
        assertEquals(2.0, both.gbPerS(), 1e-9);
        assertEquals(15, both.p50Us(), 1e-9);
        assertTrue(Double.isNaN(both.clientCpuSPerGb()), "the reference's lines do not say it");
        assertEquals(0.25, both.withCpu(0.25, 0.5).clientCpuSPerGb());
    }

    @Test
    void shouldReadItsOwnLines() {
        PullFigure figure = new PullFigure(64, 16, 7, 1.5, 2.5, 0.25, 0.125, 0.5, 0.75);
        assertEquals(figure, PullFigure.ofLine(figure.toLine()));
        assertNull(PullFigure.ofLine("something else"));
    }

    @Test
    void shouldSetTheNodesUpAsAsked() {
        int code = run("transfer", "--sizes", "8", "--outstanding", "1", "--seconds", "0.05", "--region", "1MiB",
                "--block-size", "1MiB", "--set", "cluster=here", "--set", "transfer.timeout=5s");
        assertEquals(0, code, () -> out + "\n" + err);
    }

    @ParameterizedTest
    @CsvSource({"--sizes,7", "--sizes,128MiB", "--sizes,x", "--outstanding,0", "--seconds,-1", "--region,1KiB",
            "--pairs,0", "--runs,0", "--lanes,0", "--set,x", "--set,no.such=1",
            "--reference,/no/such/file", "--threading,many"})
    void shouldRefuseInOneLineWhatCannotBeMeasured(String option, String value) {
        assertEquals(2, run("transfer", option, value));
        assertEquals(1, err.toString().lines().count(), err.toString());
        assertTrue(err.toString().contains(option) || err.toString().contains("no.such"), err.toString());
    }

    @Test
    void shouldInterpolateQuantiles() {
        Quantiles q = Quantiles.of(DoubleStream.of(4, 1, 3, 2, 5));
        assertEquals(3, q.median());
        assertEquals(1.4, q.p10(), 1e-9);
        assertEquals(4.6, q.p90(), 1e-9);
        assertEquals((4.6 - 1.4) / 3, q.spread(), 1e-9);
    }
}
