package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
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
        int code = run("transfer", "--reference", reference.toString(), "--pairs", "2", "--sizes", "4KiB,64KiB",
                "--seconds", "0.05",
                "--region", "4MiB", "--block-size", "1MiB", "--json", json.toString());
        assertEquals(0, code, () -> out + "\n" + err);
        String text = Files.readString(json);
        assertTrue(text.contains("\"met\": true") && text.contains("\"limit\": 2.0"), text);
        assertTrue(!text.contains("\"size\": 8,"), "only sizes that were asked for");
    }

    @ParameterizedTest
    @CsvSource({"--sizes,7", "--sizes,128MiB", "--sizes,x", "--outstanding,0", "--seconds,-1", "--region,1KiB",
            "--pairs,0",
            "--reference,/no/such/file", "--threading,many"})
    void shouldRefuseInOneLineWhatCannotBeMeasured(String option, String value) {
        assertEquals(2, run("transfer", option, value));
        assertEquals(1, err.toString().lines().count(), err.toString());
        assertTrue(err.toString().contains(option), err.toString());
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
