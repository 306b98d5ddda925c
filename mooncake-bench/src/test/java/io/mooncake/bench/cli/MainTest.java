package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.rdma.Rdma;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MainTest {
    @TempDir
    @SuppressWarnings("NullAway.Init") // by JUnit
    Path folder;

    @ParameterizedTest
    @ValueSource(strings = {"--help", "--version", "replay --help", "replay --version", "transfer --help",
            "cancel --help", "fair --help", "simulate --help", "micro --help",
            "devices --help", "matrix --help", "fragment --help", "disagg --help", "prefix --help"})
    void shouldAnswerWhatItIs(String args) {
        CliRun run = CliRun.of(args.split(" "));
        assertEquals(Main.OK, run.exitCode(), run::err);
        assertTrue(run.out().contains("mooncake-bench"), run::out);
        assertEquals("", run.err());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "frobnicate", "--frobnicate", "replay --frobnicate", "replay surplus", "replay --nodes",
            "replay --nodes -1", "replay --nodes 0", "replay --nodes 65", "replay --nodes two", "replay --capacity -5",
            "replay --capacity 0", "replay --passes -1", "replay --requests -1", "replay --max-blocks 0",
            "devices --port 0", "devices --json .", "devices surplus", "devices --device x,x", "replay --seed 1.5",
            "replay --speed -1", "replay --speed NaN", "replay --speed Infinity", "replay --block-size -1",
            "replay --block-size 0", "replay --block-size 63", "replay --block-size 12parsecs",
            "replay --block-size 9999999PiB",
            "replay --trace does/not/exist.jsonl", "replay --trace .", "replay --json does/not/exist.json",
            "replay --json .",
            "cancel --count 0", "cancel --window 0", "cancel --sizes 1MiB", "cancel --sizes 2MiB..1MiB",
            "cancel --sizes 1..64MiB", "cancel --sizes x..y", "cancel --threading invoker", "cancel --set x=1",
            "cancel --window-bytes 0", "cancel --json .", "cancel --sizes 1MiB..1GiB --window 16",
            "fair --outstanding 0", "fair --peers 0", "fair --seconds 0", "fair --large 2GiB",
            "fair --each 0", "cancel --set pool.size=1GiB", "cancel --set threading=shared", "transfer --lanes 17",
            "matrix --nodes 1", "matrix --reads 0", "matrix --slower-than 1", "matrix --size 2GiB",
            "matrix --slow-link -1", "disagg --prompts 0", "disagg --engine none", "disagg --tokens 10 --prefix 11",
            "disagg --by pigeon", "disagg --by layers", "disagg --engine jlama --by layers --set pool.checksums=on",
            "prefix --nodes 0", "prefix --engine jlama", "prefix --turns 0",
            "disagg --json .", "disagg --tokens 0", "disagg --tokens 64 --prefix 0",
            "disagg --block-tokens 128 --tokens 100",
            "disagg --prompts", "disagg --model-dir x", "disagg --prompt-file does/not/exist.txt",
            "disagg --prompt-file .",
            "disagg --engine jlama --tokens 8190", "disagg --prompt text --tokens 5 --block-tokens 2",
            "disagg --prompt=", "prefix --engine jlama --turns 100 --user 1000", "prefix --model-dir x",
            "transfer --engine rmda", "fair --engine sim", "transfer --set rdma.lanes=abc",
            "transfer --set rdma.lanes=0",
            "transfer --set rdma.lanes=65", "cancel --set rdma.retries=7",
            "simulate --seeds 0", "simulate --trace", "simulate --threads -1",
            "replay --capacity 1000000000 --block-size 64GiB", "replay --nodes 1 --capacity 4 --policy clairvoyant"})
    void shouldAnswerBadInputWithOneLineAndExitCode2(String args) {
        CliRun run = CliRun.of(args.isEmpty() ? new String[0] : args.split(" "));
        assertEquals(Main.BAD_INPUT, run.exitCode(), run::err);
        assertEquals(1, run.err().lines().count(), run::err);
        assertTrue(run.err().startsWith("mooncake-bench"), run::err);
        assertEquals("", run.out());
    }

    /** Before anything is filled or started. */
    @ParameterizedTest
    @ValueSource(strings = {"transfer", "cancel", "fair", "matrix"})
    void shouldSayInOneLineThatThereIsNoCard(String command) {
        Throwable missing = Rdma.unavailabilityCause();
        String why = missing == null ? "" : String.valueOf(missing.getMessage());
        assumeTrue(missing != null, "there is one");
        CliRun run = CliRun.of(command, "--engine", "rdma");
        assertEquals(Main.FAILED, run.exitCode(), run::err);
        assertEquals("mooncake-bench " + command + ": --engine = rdma: " + why, run.err().strip());
        assertEquals("", run.out());
    }

    @Test
    void shouldNameTheBrokenLineOfATrace() throws IOException {
        Path file = folder.resolve("trace.jsonl");
        Files.writeString(file, "{\"timestamp\": 0, \"hash_ids\": [1]}\n{\"timestamp\": 1, \"hash_ids\": [-1]}\n");
        CliRun run = CliRun.of("replay", "--trace", file.toString());
        assertEquals(Main.BAD_INPUT, run.exitCode());
        assertEquals(1, run.err().lines().count(), run::err);
        assertTrue(run.err().contains("line 2: field \"hash_ids\" is negative: -1"), run::err);
    }

    @Test
    void shouldShowTheArithmeticOfWhatDoesNotFit() {
        CliRun run = CliRun.of("replay", "--capacity", "1000000000", "--block-size", "64MiB");
        assertEquals(Main.BAD_INPUT, run.exitCode());
        assertTrue(run.err()
                .contains("4 nodes x (1000000000 cached + 64 spare + 1 copy buffer) x (64MiB + 512B bookkeeping)"),
                run::err);
        assertTrue(run.err().contains("60 % of"), run::err);
    }
}
