package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** The command {@code micro}, in small. */
class MicroCommandTest {
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

    @BeforeAll
    static void shareTheMachine() {
        // JMH refuses a second instance on the machine; here nothing is measured.
        System.setProperty("jmh.ignoreLock", "true");
    }

    @Test
    void shouldRunABenchmarkInAJvmOfItsOwn() throws IOException {
        Path json = folder.resolve("figures.json");
        assertEquals(0,
                run("micro", "--include", "Pin.*oneBlock|Submit", "--iteration-ms", "20", "--json", json.toString()),
                () -> out + "\n" + err);
        assertTrue(Files.readString(json).contains("\"nsPerOp\""), out.toString());
        assertTrue(out.toString().contains("acquire + release, 2 threads, one block"), out.toString());
        assertTrue(out.toString().contains("submit of a prepared pull"), out.toString());
    }

    @Test
    void shouldRefuseWhatMatchesNothing() {
        assertEquals(2, run("micro", "--include", "NoSuchBenchmark"), () -> out + "\n" + err);
        assertEquals(2, run("micro", "--include", "("), () -> out + "\n" + err);
        assertEquals(2, err.toString().lines().count(), err.toString());
    }
}
